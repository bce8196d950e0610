"""Bad arguments get one of our exceptions with a sentence, and the caller's floating-point settings do not matter."""

import warnings
from fractions import Fraction

import numpy as np
import pytest

import amortized_kde as akde
from amortized_kde import KernelDensity
from amortized_kde.errors import (
    AmortizedKdeError,
    AmortizedKdeWarning,
    InvalidBoundsError,
    InvalidParameterError,
    InvalidSampleError,
)

X = np.random.default_rng(1).gamma(2.0, size=60)
D = KernelDensity(X, 0.3)


class Raises:
    def __array__(self, *args, **kwargs):
        raise RuntimeError("no array today")


class RaisesFloat:
    def __float__(self):
        raise RuntimeError("no number today")


class OddTable:
    def to_numpy(self):
        return "text"


def nested(depth):
    inner = [1.0]
    for _ in range(depth):
        inner = [inner]
    return inner


BAD_SAMPLES = [
    Raises(),
    [1.0, RaisesFloat()],
    OddTable(),
    [[1.0], [2.0, [3.0]]],
    [1.0, [2.0]],
    [[1.0, 2.0], [3.0]],
    nested(2000),
    {"a": 1.0},
    {1.0, 2.0},
    b"abc",
    "abc",
    object(),
    lambda: 1.0,
    [1.0, 10**400],
    [1.0, "x" * 10**6],
    np.array([(1.0, 2)], dtype=[("a", float), ("b", int)]),
]


@pytest.mark.parametrize("x", BAD_SAMPLES, ids=range(len(BAD_SAMPLES)))
@pytest.mark.parametrize("call", [akde.fit, akde.bandwidth, lambda x: KernelDensity(x, 0.3), D.pdf, D.ppf])
def test_bad_samples(call, x):
    if call in (D.pdf, D.ppf) and isinstance(x, list) and x[1:] == [10**400]:
        return
    with pytest.raises((InvalidSampleError, InvalidParameterError)) as caught:
        call(x)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("x", [[[1.0], [2.0, [3.0]]], [[[1.0], [2.0, 3.0]], [1.0]], [Raises(), [1.0, 2.0]]])
def test_ragged_nesting_of_many_samples(x):
    with pytest.raises(InvalidSampleError, match="cannot be read"):
        akde.bandwidth(x, axis=-1)


BAD_BOUNDS = [
    (None, 10**400),
    (-(10**400), None),
    b"\x00\x09",
    bytearray(b"\x00\x09"),
    {0.0: 1, 9.0: 2},
    {0.0, 9.0},
    frozenset({0.0, 9.0}),
    "09",
    (b"0", 9.0),
    (RaisesFloat(), None),
    Raises(),
    [[0.0, 9.0], [0.0, 9.0]],
    (0.0, 1j),
    ["x" * 10**6, 1.0],
]


@pytest.mark.parametrize("bounds", BAD_BOUNDS, ids=range(len(BAD_BOUNDS)))
def test_bad_bounds(bounds):
    for call in (akde.fit, akde.bandwidth, lambda x, bounds: KernelDensity(x, 0.3, bounds=bounds)):
        with pytest.raises(InvalidBoundsError) as caught:
            call(X / 9.0, bounds=bounds)
        assert len(str(caught.value)) < 500


def test_good_bounds_of_other_types():
    for bounds in ((0, 99), [Fraction(0), None], np.array([0.0, 99.0]), (np.float32(0.0), None), iter([0, None])):
        assert KernelDensity(X, 0.3, bounds=bounds).support()[0] == 0.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: D.sample(3, rng=-1),
        lambda: D.sample(3, rng="a"),
        lambda: D.sample(3, rng=1.5),
        lambda: D.sample(10**13),
        lambda: D.sample((10**9, 10**9)),
        lambda: D.sample(10**30),
        lambda: D.sample(-1),
        lambda: D.sample(True),
        lambda: D.sample("3"),
        lambda: D.sample({3}),
        lambda: D.grid(10**13),
        lambda: D.modes(prominence="a"),
        lambda: D.modes(prominence=None),
        lambda: D.modes(prominence=[0.1]),
        lambda: D.modes(prominence=Raises()),
        lambda: akde.fit(X, method="x" * 300),
        lambda: akde.fit(X, method="amortized:" + "x" * 300),
        lambda: akde.fit(X, method=np.array(["lcv", "scott"])),
        lambda: akde.fit(X, nan=np.array(["raise", "omit"])),
        lambda: D.save(None),
        lambda: D.save(3),
        lambda: KernelDensity.load(None),
    ],
)
def test_bad_options(call):
    with pytest.raises(InvalidParameterError) as caught:
        call()
    assert len(str(caught.value)) < 500


def everything():
    """Ordinary calls: samples, large ones, tails, moments, draws."""
    found = [akde.bandwidth(X, method=method) for method in akde.selectors()]
    found.extend(akde.bandwidth(X.reshape(6, 10), axis=-1))
    heavy = np.random.default_rng(2).standard_cauchy(5000)
    weights = 10.0 ** -np.linspace(0.0, 250.0, X.size)
    for d in (
        D,
        akde.fit(X),
        akde.fit(X, bounds=(0, None)),
        akde.fit(X, weights=weights),
        KernelDensity(X, 1e-3, bounds=(0, 1e9)),
        akde.fit(heavy),
    ):
        y = np.array([-1e200, -50.0, 0.0, 1.0, 3.0, 1e5, 1e300, np.nan, np.inf])
        found.extend(np.concatenate([d.pdf(y), d.logpdf(y), d.cdf(y), d.sf(y), d.logcdf(y), d.logsf(y)]))
        found.extend([*d.ppf([0.0, 1e-300, 0.3, 1.0]), *d.isf([1e-300, 0.2]), d.mean(), d.std(), d.var(), d.median()])
        found.extend([*d.sample(5, rng=1), *d.interval(0.9), *d.grid(7), d.smoothed(2.0).bandwidth])
        found.extend([*d.modes().places, d.entropy(), *d.region(0.5).ravel(), *d.interval(0.5, kind="highest-density")])
        found.extend(akde.log_score(d, [0.5, 1e10]))
    found.append(akde.compare(X, methods=["silverman", "amortized"]).rows[0].bandwidth)
    return np.array(found)


def test_the_callers_floating_point_settings_do_not_matter():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AmortizedKdeWarning)
        warnings.simplefilter("error", RuntimeWarning)
        with np.errstate(all="warn"):
            expected = everything()
        with np.errstate(all="raise"):
            np.testing.assert_array_equal(everything(), expected)


def test_a_density_is_made_whatever_the_settings():
    with np.errstate(all="raise"):
        d = KernelDensity([0.0, 1.0, 2.0], 0.5, weights=[1e-200, 1e200, 1.0])
        twin = KernelDensity([0.0, 1e-320], 5e-324)
    assert np.isfinite(d.logpdf(5.0))
    assert np.isfinite(twin.logpdf(0.0))


CALLS = [
    lambda: akde.bandwidth([1.0, 1.0, 1.0, 1.0, 1.0, 9.0], method="silverman"),
    lambda: akde.fit([1.0, 1.0, 1.0, 1.0, 1.0, 9.0], method="silverman"),
    lambda: akde.bandwidth([[1.0, 2.0, 4.0], [1.0, 1.0, 1.0]], axis=-1),
    lambda: akde.fit(10.0 ** np.linspace(0.0, 250.0, 40)),
    lambda: akde.bandwidth(10.0 ** np.linspace(0.0, 250.0, 40)),
]


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_warnings_name_the_callers_line(call):
    with pytest.warns(AmortizedKdeWarning) as caught:
        call()
    line = call.__code__.co_firstlineno
    ours = [entry for entry in caught if issubclass(entry.category, AmortizedKdeWarning)]
    assert {(entry.filename, entry.lineno) for entry in ours} == {(__file__, line)}


def test_every_exception_is_one_of_ours():
    classes = [getattr(akde.errors, name) for name in akde.errors.__all__]
    for entry in classes:
        if isinstance(entry, type) and issubclass(entry, Exception):
            assert issubclass(entry, (AmortizedKdeError, AmortizedKdeWarning))
