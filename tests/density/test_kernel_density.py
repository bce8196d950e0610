import copy
import math
import pickle
import subprocess
import sys
import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest

from amortized_kde import KernelDensity
from amortized_kde.data.reading import read_sample
from amortized_kde.data.support import Bounds
from amortized_kde.density.html import curve_grid
from amortized_kde.errors import (
    InvalidBoundsError,
    InvalidParameterError,
    InvalidSampleError,
    MissingExtraError,
    UnreadableFileError,
)

X = np.random.default_rng(1).gamma(2.0, 1.0, 40)


def test_properties():
    d = KernelDensity([3, 1, 2], bandwidth=0.5, bounds=(0, None))
    assert d.bandwidth == 0.5
    assert d.bounds == (0.0, None)
    assert d.method == "given"
    assert d.domain == (0.0, 4.0)
    assert d.points.tolist() == [1.0, 2.0, 3.0]
    np.testing.assert_allclose(d.weights, 1 / 3)
    assert repr(d) == "KernelDensity(n=3, bandwidth=0.5, bounds=(0.0, None), method='given')"
    assert d.grid(5).tolist() == [0.0, 1.25, 2.5, 3.75, 5.0]
    for bad in (1, 0, 2.5, "many"):
        with pytest.raises(InvalidParameterError, match="at least 2 points"):
            d.grid(bad)


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, math.nan, math.inf, None, [1.0, 2.0]])
def test_bad_bandwidths(bandwidth):
    with pytest.raises(InvalidParameterError, match="bandwidth must be a single positive finite number"):
        KernelDensity(X, bandwidth=bandwidth)


def test_bad_samples_and_bounds():
    with pytest.raises(InvalidSampleError, match="position 1"):
        KernelDensity([1.0, math.nan], bandwidth=1.0)
    assert KernelDensity([1.0, math.nan], bandwidth=1.0, nan="omit").points.tolist() == [1.0]
    with pytest.raises(InvalidSampleError, match="empty"):
        KernelDensity([], bandwidth=1.0)
    with pytest.raises(InvalidBoundsError, match="outside the bounds"):
        KernelDensity([1.0, 2.0], bandwidth=1.0, bounds=(0, 1.5))
    with pytest.raises(InvalidBoundsError, match="must be below"):
        KernelDensity([1.0, 2.0], bandwidth=1.0, bounds=(3, 0))
    with pytest.raises(TypeError):
        KernelDensity([1.0], 1.0, (0, 1))


def same(a, b):
    y = np.linspace(-1.0, 13.0, 57)
    return (
        np.array_equal(a.logpdf(y), b.logpdf(y))
        and np.array_equal(a.ppf([0.1, 0.9]), b.ppf([0.1, 0.9]))
        and (a.bandwidth, a.bounds, a.domain, a.method) == (b.bandwidth, b.bounds, b.domain, b.method)
        and np.array_equal(a.points, b.points)
        and np.array_equal(a.weights, b.weights)
    )


DENSITIES = {
    "open": KernelDensity(X, bandwidth=0.3),
    "bounded": KernelDensity(X, bandwidth=0.3, bounds=(0, 12)),
    "weighted": KernelDensity(X, bandwidth=1e-3, bounds=(0, None), weights=np.arange(40)),
    "one point": KernelDensity([1.0], bandwidth=7.0),
    "narrower than numbers": KernelDensity([1e9], bandwidth=1e-12),
    "fitted": KernelDensity.from_sample(read_sample(X), 0.3, Bounds(), domain=None, method="lcv"),
}


@pytest.mark.parametrize("name", DENSITIES)
def test_a_saved_density_comes_back_bit_by_bit(name, tmp_path):
    path = tmp_path / "density.anything"
    DENSITIES[name].save(path)
    assert same(KernelDensity.load(path), DENSITIES[name])
    assert same(KernelDensity.load(str(path)), DENSITIES[name])
    # No pickle in the file: every member is a plain array.
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            with archive.open(member) as file:
                np.lib.format.read_array(file, allow_pickle=False)


def write_bad_files(folder):
    np.save(folder / "array.npy", X)
    np.savez(folder / "other.npz", a=X)
    np.savez(folder / "format only.npz", format=1)
    np.savez(folder / "two formats.npz", format=np.array([1, 2]))
    np.savez(folder / "newer.npz", format=99, points=X)
    np.savez(folder / "objects.npz", format=np.array([{}], object), allow_pickle=True)
    (folder / "empty").write_bytes(b"")
    (folder / "text.csv").write_text("a,b\n1,2\n")
    (folder / "pickle").write_bytes(pickle.dumps([1, 2]))
    (folder / "cut.npz").write_bytes((folder / "other.npz").read_bytes()[:100])
    (folder / "folder").mkdir()


def test_what_is_no_density_is_refused(tmp_path):
    write_bad_files(tmp_path)
    for path in [*tmp_path.iterdir(), tmp_path / "nowhere"]:
        with pytest.raises(UnreadableFileError, match=path.name):
            KernelDensity.load(path)


@pytest.mark.parametrize("name", DENSITIES)
def test_pickle_and_copy(name):
    for twin in (pickle.loads(pickle.dumps(DENSITIES[name])), copy.deepcopy(DENSITIES[name])):
        assert same(twin, DENSITIES[name])
        assert not twin.points.flags.writeable
        assert not twin.weights.flags.writeable


def test_a_density_does_not_change():
    x, weights = X.copy(), np.arange(1.0, 41.0)
    d = KernelDensity(x, bandwidth=0.3, weights=weights)
    before = d.logpdf(X)
    x[:], weights[:] = 0.0, 1.0
    assert np.array_equal(d.logpdf(X), before)
    for name in ("bandwidth", "points", "anything"):
        with pytest.raises(AttributeError):
            setattr(d, name, 1.0)
    for array in (d.points, d.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    assert d != KernelDensity(x, bandwidth=0.3)
    assert hash(d)


MEMORY = """
import resource
import numpy as np
from amortized_kde import KernelDensity
rng = np.random.default_rng(1)
d = KernelDensity(rng.standard_normal(100_000), bandwidth=1e-3)
y = rng.standard_normal(100_000)
d.logpdf(y[:10]), d.cdf(y[:10])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
d.logpdf(y), d.cdf(y), d.ppf(np.linspace(0.01, 0.99, 100)), d.sample(100_000, rng=1)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) / 1024.0, after / 1024.0)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="resource usage is in kB on Linux only")
def test_a_hundred_thousand_points_at_as_many_arguments_stay_below_200_mb():
    output = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True).stdout
    grown, _ = map(float, output.split())
    # One row of an n x m matrix for a thousandth of the arguments would already be 80 MB.
    assert grown < 200.0


def test_frame():
    frame = DENSITIES["bounded"].to_frame(points=9)
    assert list(frame.columns) == ["x", "pdf", "cdf"]
    d, x = DENSITIES["bounded"], frame["x"].to_numpy()
    assert np.array_equal(x, d.grid(9))
    assert np.array_equal(frame["pdf"], d.pdf(x))
    assert np.array_equal(frame["cdf"], d.cdf(x))
    assert len(d.to_frame()) == 512
    with pytest.raises(InvalidParameterError, match="at least 2 points"):
        d.to_frame(1)


def test_frame_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="pip install pandas"):
        DENSITIES["open"].to_frame()


@pytest.mark.parametrize("name", DENSITIES)
def test_what_a_notebook_shows(name):
    d = DENSITIES[name]
    html = d._repr_html_()
    facts = {row[0].text: row[1].text for row in ElementTree.fromstring(html).iter("tr")}
    assert list(facts) == [
        "n",
        "method",
        "bandwidth",
        "bounds",
        "mean",
        "standard deviation",
        "median",
        "90 % interval",
    ]
    assert (facts["n"], facts["method"]) == (str(d.points.size), d.method)
    assert float(facts["mean"]) == pytest.approx(d.mean(), rel=1e-5)
    assert float(facts["standard deviation"]) == pytest.approx(d.std(), rel=1e-5)
    assert float(facts["median"]) == pytest.approx(d.median(), rel=1e-5)
    assert tuple(map(float, facts["90 % interval"].split(", "))) == pytest.approx(d.interval(0.9), rel=1e-5)
    assert len(html.encode()) < 10_000


def test_no_narrow_peak_is_missing_in_a_notebook():
    # A quarter of the points are equal, and their peak is narrower than the steps of an even grid.
    x, shares = np.append(np.zeros(100), X[:30]), np.zeros((2, 130))
    shares[0, :100] = shares[1, 100:] = 1.0
    d = KernelDensity.from_ladder(read_sample(x), [1e-4, 0.5], shares[:, np.argsort(x, kind="stable")], bounds=Bounds())
    assert d.pdf(curve_grid(d)).max() == pytest.approx(d.pdf(0.0), rel=1e-12)


def test_plot_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'amortized-kde\[plot\]'"):
        KernelDensity(X, bandwidth=0.3).plot()
