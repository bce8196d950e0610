import io
import math
import os
import struct
import tracemalloc
import zipfile
from itertools import product

import numpy as np
import pytest

import amortized_kde as akde
from amortized_kde.data.reading import read_sample
from amortized_kde.data.support import Bounds
from amortized_kde.density import KernelDensity
from amortized_kde.density.background import Background
from amortized_kde.errors import AmortizedKdeError, UnreadableFileError, UnwritableFileError

POINTS = np.sort(np.random.default_rng(3).gamma(2.0, size=6))
SHARES = np.array([[0.25, 0.5, 1.0, 0.0, 0.5, 0.5], [0.75, 0.5, 0.0, 1.0, 0.5, 0.5]])


def ladder(anchors=None):
    bounds = Bounds(0.0)
    shares = SHARES if anchors is None else SHARES[:, : len(anchors)]
    background = Background(*bounds, location=1.0, scale=1.0)
    made = {"bounds": bounds, "epsilon": 0.01, "background": background, "domain": Bounds(0.0, 9.0)}
    return KernelDensity.from_ladder(read_sample(POINTS), [0.1, 0.5], shares, anchors=anchors, **made)


DENSITIES = {
    "one bandwidth": KernelDensity(POINTS, 0.5, weights=np.arange(1.0, 7.0)),
    "ladder": ladder(),
    "anchors": ladder([0, 2, 5]),
}


def stored(d, folder):
    """The arrays of a saved density, by name."""
    d.save(folder / "saved")
    with np.load(folder / "saved", allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


@pytest.mark.parametrize("name", DENSITIES)
def test_what_is_saved_is_read_back(name, tmp_path):
    d = DENSITIES[name]
    np.savez(tmp_path / "again.npz", **stored(d, tmp_path))
    for path in ("saved", "again.npz"):
        twin = KernelDensity.load(tmp_path / path)
        assert (repr(twin), twin.domain, twin.background) == (repr(d), d.domain, d.background)
        for a, b in zip(twin.__getstate__(), d.__getstate__(), strict=True):
            np.testing.assert_array_equal(a, b)
        assert np.array_equal(twin.logpdf(POINTS), d.logpdf(POINTS))


WRONG = {
    "reversed points": lambda p: p | {"points": p["points"][::-1].copy()},
    "points outside": lambda p: p | {"bounds": np.array([1.0, 1.5])},
    "NaN point": lambda p: p | {"points": np.append(p["points"][:-1], math.nan)},
    "infinite point": lambda p: p | {"points": np.append(p["points"][:-1], math.inf)},
    "no points": lambda p: p | {"points": np.empty(0), "weights": np.empty(0)},
    "points in two dimensions": lambda p: p | {"points": p["points"][None], "weights": p["weights"][None]},
    "whole numbers": lambda p: p | {"points": np.arange(6)},
    "single precision": lambda p: p | {"points": p["points"].astype(np.float32)},
    "big endian": lambda p: p | {"points": p["points"].astype(">f8")},
    "weights sum to 3": lambda p: p | {"weights": 3.0 * p["weights"]},
    "weights off by 1e-10": lambda p: p | {"weights": (1.0 + 1e-10) * p["weights"]},
    "negative weight": lambda p: p | {"weights": p["weights"] * [-1, 1, 1, 1, 1, 1]},
    "NaN weight": lambda p: p | {"weights": p["weights"] * [math.nan, 1, 1, 1, 1, 1]},
    "fewer weights": lambda p: p | {"weights": p["weights"][:-1]},
    "negative bandwidth": lambda p: p | {"bandwidths": -p["bandwidths"][::-1]},
    "zero bandwidth": lambda p: p | {"bandwidths": 0.0 * p["bandwidths"]},
    "NaN bandwidth": lambda p: p | {"bandwidths": math.nan * p["bandwidths"]},
    "no bandwidth": lambda p: p | {"bandwidths": np.empty(0)},
    "one bandwidth more": lambda p: p | {"bandwidths": np.append(p["bandwidths"], 9.0)},
    "reversed bounds": lambda p: p | {"bounds": np.array([9.0, 0.0])},
    "NaN bounds": lambda p: p | {"bounds": np.array([math.nan, math.inf])},
    "three bounds": lambda p: p | {"bounds": np.array([0.0, 1.0, 2.0])},
    "one end of a domain": lambda p: p | {"domain": np.array([0.0])},
    "reversed domain": lambda p: p | {"domain": np.array([9.0, 0.0])},
    "infinite domain": lambda p: p | {"domain": np.array([0.0, math.inf])},
    "epsilon of 1": lambda p: p | {"epsilon": np.array(1.0)},
    "negative epsilon": lambda p: p | {"epsilon": np.array(-0.1)},
    "NaN epsilon": lambda p: p | {"epsilon": np.array(math.nan)},
    "epsilon without background": lambda p: p | {"epsilon": np.array(0.1), "background": np.empty(0)},
    "background elsewhere": lambda p: p | {"background": np.array([-7.0, math.inf, 1.0, 1.0])},
    "background without scale": lambda p: p | {"background": np.array([0.0, math.inf, 1.0, 0.0])},
    "half a background": lambda p: p | {"background": np.array([0.0, math.inf])},
    "two methods": lambda p: p | {"method": np.array(["a", "b"])},
    "long method": lambda p: p | {"method": np.array("a" * 100_000)},
    "method of numbers": lambda p: p | {"method": np.array(3.0)},
    "long name": lambda p: p | {"name": np.array("a" * 100_000)},
    "name of numbers": lambda p: p | {"name": np.array(3.0)},
    "another format": lambda p: p | {"format": np.array(3)},
    "formats": lambda p: p | {"format": np.array([5])},
    "no method": lambda p: {name: part for name, part in p.items() if name != "method"},
    "something else": lambda p: p | {"other": np.array(1.0)},
    "objects": lambda p: p | {"method": np.array({}, object)},
    "anchors past the end": lambda p: p | {"anchors": np.array([0, 2, 6])},
    "descending anchors": lambda p: p | {"anchors": np.array([0, 5, 2])},
    "negative anchors": lambda p: p | {"anchors": np.array([-3, 2, 5])},
}
WRONG_SHARES = {
    "negative": lambda s: s - 1.0,
    "too many": lambda s: 2.0 * s,
    "off by 1e-8": lambda s: (1.0 + 1e-8) * s,
    "NaN": lambda s: math.nan * s,
    "a row less": lambda s: s[:-1],
    "a column more": lambda s: np.concatenate([s, s[:, :1]], axis=1),
    "flat": lambda s: s.ravel(),
    "none": lambda s: np.empty((0, 0)),
}


@pytest.mark.parametrize("name", DENSITIES)
@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_wrong_parts_are_refused(name, change, tmp_path):
    np.savez(tmp_path / "wrong.npz", allow_pickle=True, **change(stored(DENSITIES[name], tmp_path)))
    with pytest.raises(UnreadableFileError, match=r"wrong\.npz .*\.$"):
        KernelDensity.load(tmp_path / "wrong.npz")


@pytest.mark.parametrize(("name", "change"), list(product(["ladder", "anchors"], WRONG_SHARES)))
def test_wrong_shares_are_refused(name, change, tmp_path):
    parts = stored(DENSITIES[name], tmp_path)
    np.savez(tmp_path / "wrong.npz", **(parts | {"shares": WRONG_SHARES[change](parts["shares"])}))
    with pytest.raises(UnreadableFileError, match=r"wrong\.npz .*\.$"):
        KernelDensity.load(tmp_path / "wrong.npz")


def test_older_formats_are_refused_with_a_sentence(tmp_path):
    common = {
        "points": POINTS,
        "weights": np.full(6, 1 / 6),
        "bounds": [-np.inf, np.inf],
        "domain": [],
        "method": "lcv",
    }
    np.savez(tmp_path / "old", format=1, bandwidth=0.3, **common)
    with pytest.raises(UnreadableFileError, match="not in format 5"):
        KernelDensity.load(tmp_path / "old.npz")


@pytest.mark.parametrize("name", DENSITIES)
def test_any_changed_byte_is_noticed_or_harmless(name, tmp_path):
    d = DENSITIES[name]
    d.save(tmp_path / "saved")
    data = (tmp_path / "saved").read_bytes()
    rng = np.random.default_rng(8)
    refused = 0
    for position in np.unique(np.append(rng.integers(len(data), size=400), np.arange(len(data) - 200, len(data)))):
        changed = bytearray(data)
        changed[position] ^= 1 << rng.integers(8)
        (tmp_path / "changed").write_bytes(bytes(changed))
        try:
            found = KernelDensity.load(tmp_path / "changed")
        except UnreadableFileError:
            refused += 1
        else:
            assert np.array_equal(found.logpdf(POINTS), d.logpdf(POINTS))
    assert refused > 300
    for cut in rng.integers(len(data), size=30):
        (tmp_path / "changed").write_bytes(data[:cut])
        with pytest.raises(UnreadableFileError):
            KernelDensity.load(tmp_path / "changed")


def archive_of(parts, path, compression=zipfile.ZIP_STORED, **raw):
    """Write arrays as an archive; `raw` has the bytes of some entries."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, part in parts.items():
            stream = io.BytesIO()
            np.lib.format.write_array(stream, part)
            archive.writestr(f"{name}.npy", raw.get(name, stream.getvalue()))


def heading(shape, descr="<f8", version=(1, 0)):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H", len(text)) + text


HEADINGS = [
    heading("(1000000000,)") + bytes(64),
    heading("(1000000000000000000000,)"),
    heading("(-6,)") + bytes(48),
    heading("(0, 1000000000)"),
    heading("(6,)", version=(3, 0)) + bytes(48),
    heading("(6,)", descr="|O") + bytes(48),
    heading("(6,)", descr="<f2") + bytes(48),
    heading("(" * 500),
    b"\x93NUMPY\x01\x00\xff\xff{",
    b"",
]


@pytest.mark.parametrize("data", HEADINGS, ids=range(len(HEADINGS)))
def test_a_declared_shape_takes_no_memory(data, tmp_path):
    archive_of(stored(DENSITIES["ladder"], tmp_path), tmp_path / "declared", points=data)
    tracemalloc.start()
    with pytest.raises(UnreadableFileError, match="declared"):
        KernelDensity.load(tmp_path / "declared")
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()


def test_a_compressed_archive_is_not_unpacked(tmp_path):
    parts = stored(DENSITIES["one bandwidth"], tmp_path)
    parts |= {"points": np.zeros(10**7), "weights": np.full(10**7, 1e-7)}
    archive_of(parts, tmp_path / "bomb", zipfile.ZIP_DEFLATED)
    tracemalloc.start()
    with pytest.raises(UnreadableFileError, match="compressed"):
        KernelDensity.load(tmp_path / "bomb")
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()


def test_an_entry_that_comes_twice_is_refused(tmp_path):
    parts = stored(DENSITIES["ladder"], tmp_path)
    archive_of(parts, tmp_path / "twice")
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(tmp_path / "twice", "a") as archive:
        archive.writestr("points.npy", b"")
    with pytest.raises(UnreadableFileError, match="twice"):
        KernelDensity.load(tmp_path / "twice")


def test_what_cannot_be_written_gets_a_sentence_and_keeps_what_was_there(tmp_path, monkeypatch):
    d = DENSITIES["ladder"]
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder", tmp_path / "no" / "where", "a\0b", tmp_path / ("a" * 300), "/dev/full"):
        with pytest.raises(UnwritableFileError, match="cannot be written"):
            d.save(path)
    d.save(tmp_path / "kept")
    before = (tmp_path / "kept").read_bytes()

    def full(file, **_):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(UnwritableFileError, match="No space left"):
        d.save(tmp_path / "kept")
    assert (tmp_path / "kept").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "kept"]


def test_saving_follows_links_and_writes_to_devices(tmp_path):
    d = DENSITIES["ladder"]
    (tmp_path / "link").symlink_to(tmp_path / "target")
    d.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert KernelDensity.load(tmp_path / "target").logpdf(1.0) == d.logpdf(1.0)
    d.save(os.devnull)
    with pytest.raises(UnreadableFileError, match="regular"):
        KernelDensity.load(os.devnull)


def test_a_large_fit_is_read_back(tmp_path):
    d = akde.fit(np.random.default_rng(1).normal(size=70_000))
    d.save(tmp_path / "large")
    assert np.array_equal(KernelDensity.load(tmp_path / "large").pdf([0.0, 1.0]), d.pdf([0.0, 1.0]))


def test_the_errors_are_ours():
    assert issubclass(UnwritableFileError, AmortizedKdeError)
    assert issubclass(UnwritableFileError, OSError)
