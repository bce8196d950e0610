"""Labelled arrays in memory and in chunks: the numbers are those of the array functions, the labels are right."""

import subprocess
import sys

import numpy as np
import pytest
import xarray as xr
from scores.probability import brier_score, crps_cdf

import amortized_kde as akde
import amortized_kde.integrations.xarray as labelled
from amortized_kde import ensembles
from amortized_kde.errors import BadRowsWarning, InvalidBoundsError, InvalidParameterError, InvalidSampleError

pytestmark = pytest.mark.filterwarnings("ignore::amortized_kde.errors.AmortizedKdeWarning")
RAIN = {"bounds": (0, None), "atoms": (0,), "climatology": [0.3, 1.0, 2.0, 5.0]}
CHUNKS = [{"time": 2, "lead": 1, "lat": 3}, {"time": -1, "lead": 2, "lat": 1}]


def plain(array):
    """Members last, as the array functions want them."""
    return array.transpose("time", "lead", "lat", "member").values


def loaded(value):
    return value.compute() if isinstance(value, xr.DataArray) else value


def test_scores_are_those_of_the_arrays(archive):
    x, y = archive
    truth = y.transpose("time", "lead", "lat")
    for name, options in (("t2m", {}), ("rain", RAIN)):
        for function in ("log_scores", "crps", "pit"):
            found = getattr(labelled, function)(x[name], y[name], **options)
            expected = getattr(ensembles, function)(plain(x[name]), truth[name].values, **options)
            assert found.dims == ("time", "lead", "lat")
            np.testing.assert_array_equal(found.values, expected)
    parts = labelled.log_score_parts(x.rain, y.rain, **RAIN)
    expected = ensembles.log_score_parts(plain(x.rain), truth.rain.values, **RAIN)
    np.testing.assert_array_equal(parts.rain_log_score_occurrence, expected.occurrence)
    np.testing.assert_array_equal(parts.rain_log_score_amount, expected.amount)


def test_scores_of_thresholds_are_those_of_the_arrays(archive):
    x, y = archive
    truth = y.rain.transpose("time", "lead", "lat").values
    found = labelled.threshold_weighted_crps(x.rain, y.rain, (1.0, 4.0), **RAIN)
    assert (found.name, found.attrs["units"]) == ("rain_threshold_weighted_crps", "mm")
    expected = ensembles.threshold_weighted_crps(plain(x.rain), truth, (1.0, 4.0), **RAIN)
    np.testing.assert_array_equal(found, expected)
    found = labelled.brier_scores(x.rain, y.rain, [0.0, 2.0], **RAIN)
    assert (found.name, found.dims[-1]) == ("rain_brier_score", "threshold")
    np.testing.assert_array_equal(found, ensembles.brier_scores(plain(x.rain), truth, [0.0, 2.0], **RAIN))
    single = labelled.brier_scores(x.rain, y.rain, 2.0, **RAIN)
    np.testing.assert_array_equal(single, found.isel(threshold=1))


def test_other_libraries_take_the_distribution_functions(archive):
    x, y = archive[0].rain, archive[1].rain.transpose("time", "lead", "lat")
    options = {"bounds": (0, None), "bandwidth": 0.5}
    cdf = labelled.probabilities(x, np.linspace(0.0, 20.0, 2001), **options)
    theirs = crps_cdf(cdf, y, preserve_dims=["time", "lead", "lat"])["total"]
    np.testing.assert_allclose(labelled.crps(x, y, **options), theirs, rtol=1e-3)
    levels = [0.5, 2.0]
    p = labelled.probabilities(x, levels, above=True, **options)
    theirs = brier_score(p, (y > p.threshold).astype(float), preserve_dims="all")
    np.testing.assert_allclose(labelled.brier_scores(x, y, levels, **options), theirs, rtol=1e-12)


def test_forecasts_are_those_of_the_arrays(archive):
    x = archive[0].rain
    at = [0.0, 1.0, 4.0]
    np.testing.assert_array_equal(labelled.densities(x, at, **RAIN), ensembles.densities(plain(x), at, **RAIN))
    above = labelled.probabilities(x, at, above=True, **RAIN)
    np.testing.assert_array_equal(above, ensembles.probabilities(plain(x), at, above=True, **RAIN))
    np.testing.assert_array_equal(labelled.quantiles(x, 0.9, **RAIN), ensembles.quantiles(plain(x), 0.9, **RAIN))
    np.testing.assert_array_equal(labelled.atom_probabilities(x, (0,)), ensembles.atom_probabilities(plain(x), (0,)))
    t2m = archive[0].t2m
    np.testing.assert_array_equal(labelled.bandwidth(t2m), akde.bandwidth(plain(t2m), axis=-1))
    assert labelled.bandwidth(t2m, method="amortized").attrs["akde_method"] == "amortized:single"


@pytest.mark.parametrize("chunks", CHUNKS, ids=["small", "strips"])
def test_lazy_in_lazy_out_and_the_same_bits(archive, chunks):
    x, y = archive
    lazy, truth = x.rain.chunk(chunks), y.rain.chunk(time=3)
    h = xr.full_like(y.rain, 0.7).where(y.lat != 51.0, 1.1)
    asked = [
        (labelled.log_scores, (truth,), RAIN),
        (labelled.log_scores, (y.rain,), {"bandwidth": h.chunk(lat=2)}),
        (labelled.crps, (truth,), {**RAIN, "bandwidth": 0.5}),
        (labelled.threshold_weighted_crps, (truth, (1.0, None)), {**RAIN, "bandwidth": 0.5}),
        (labelled.brier_scores, (truth, [0.0, 2.0]), {**RAIN, "bandwidth": 0.5}),
        (labelled.brier_scores, (truth, y.rain.mean("time")), {**RAIN, "bandwidth": 0.5}),
        (labelled.pit, (truth,), {**RAIN, "seed": 5, "method": "silverman"}),
        (labelled.densities, ([1.0, 2.0],), RAIN),
        (labelled.quantiles, (0.3,), {**RAIN, "method": "silverman"}),
        (labelled.probabilities, (y.rain.mean("time"),), RAIN),
        (labelled.atom_probabilities, ((0,),), {}),
        (labelled.bandwidth, (), {"method": "silverman"}),
    ]
    for function, arguments, options in asked:
        found = function(lazy, *arguments, **options)
        assert found.chunks is not None
        expected = function(x.rain, *map(loaded, arguments), **{key: loaded(value) for key, value in options.items()})
        xr.testing.assert_equal(found.compute(), expected)
    parts = labelled.log_score_parts(lazy, truth, **RAIN)
    assert all(part.chunks is not None for part in parts.data_vars.values())
    xr.testing.assert_equal(parts.compute(), labelled.log_score_parts(x.rain, y.rain, **RAIN))


def test_nothing_is_computed_before_it_is_asked_for(archive):
    x, y = archive

    def never(block):
        raise AssertionError("computed")

    trap = x.t2m.copy(data=x.t2m.chunk(time=1).data.map_blocks(never, dtype=np.float32, meta=np.empty((0,) * 4, "f4")))
    scores = labelled.log_scores(trap, y.t2m)
    assert scores.shape == (5, 2, 4)
    with pytest.raises(AssertionError, match="computed"):
        scores.compute()


def test_labels(archive):
    x, y = archive
    scores = labelled.log_scores(x.t2m, y.t2m, bounds=(-50, 60))
    assert scores.name == "t2m_log_score"
    assert scores.attrs == {
        "source": "made up",
        "long_name": "logarithmic score of temperature",
        "units": "bits",
        "akde_method": "amortized:adaptive",
        "akde_bounds": "-50 60",
        "cells": 40,
        "cells_without_answer": 1,
        "observations_missing": 1,
        "observations_outside_bounds": 0,
    }
    assert set(scores.coords) == {"time", "lead", "lat", "height"}
    assert scores.lat.attrs == {"units": "degrees_north"}
    quantiles = labelled.quantiles(x.t2m, [0.1, 0.9])
    assert quantiles.attrs["units"] == "K"
    assert quantiles.attrs["standard_name"] == "air_temperature"
    assert quantiles.coords["quantile"].values.tolist() == [0.1, 0.9]
    above = labelled.probabilities(x.rain, 1.0, above=True)
    assert (above.name, above.attrs["units"], above.attrs["akde_method"]) == (
        "rain_probability_above",
        "1",
        "amortized:adaptive",
    )
    assert above.coords["threshold"].item() == 1.0
    assert above.coords["threshold"].attrs["units"] == "mm"
    assert labelled.densities(x.rain, 1.0, bandwidth=0.5).attrs["units"] == "1/(mm)"
    assert labelled.crps(x.rain, y.rain, bandwidth=0.5).attrs["units"] == "mm"
    assert labelled.pit(x.rain, y.rain, bandwidth=0.5).attrs["units"] == "1"
    nameless = xr.DataArray(np.arange(6.0).reshape(2, 3), dims=("time", "member"))
    found = labelled.bandwidth(nameless, method="silverman")
    assert found.name == "bandwidth"
    assert "units" not in found.attrs


def test_infinite_scores_are_counted(archive):
    x, y = archive
    low = y.t2m.where(y.lat != 50.0, -60.0)
    scores = labelled.log_scores(x.t2m, low, bounds=(-50, 60))
    assert scores.attrs["observations_outside_bounds"] == 10 == int(np.isinf(scores).sum())
    lazy = labelled.log_scores(x.t2m.chunk(time=2), low, bounds=(-50, 60))
    assert "observations_outside_bounds" not in lazy.attrs
    counts = {"cells": 40, "cells_without_answer": 1, "observations_missing": 0, "infinite": 10}
    assert labelled.tally(lazy, low) == counts


def test_warnings_in_memory_only(archive):
    x, y = archive
    with pytest.warns(BadRowsWarning, match="1 of 40"):
        labelled.log_scores(x.t2m, y.t2m)
    with pytest.warns(BadRowsWarning, match="1 of 40"):
        labelled.bandwidth(x.t2m)


def test_datasets(archive):
    x, y = archive
    options = {"bounds": {"rain": (0, None)}, "atoms": {"rain": (0,)}, "climatology": {"rain": [0.3, 1.0, 5.0]}}
    scores = labelled.log_scores(x, y, **options)
    assert set(scores.data_vars) == {"t2m_log_score", "rain_log_score"}
    assert scores.attrs == {"title": "an archive"}
    own = {key: value["rain"] for key, value in options.items()}
    xr.testing.assert_identical(scores.rain_log_score, labelled.log_scores(x.rain, y.rain, **own))
    xr.testing.assert_identical(scores.t2m_log_score, labelled.log_scores(x.t2m, y.t2m))
    parts = labelled.log_score_parts(x, y, **options)
    assert len(parts.data_vars) == 4
    thresholds = labelled.probabilities(x, [1.0, 2.0])
    assert thresholds.rain_probability_below.dims[-1] == "threshold"


def test_the_accessor_is_the_functions(archive):
    x, y = archive
    for data, truth in ((x.rain, y.rain), (x, y)):
        for function in ("log_scores", "log_score_parts", "crps", "pit"):
            found = getattr(data.akde, function)(truth, bandwidth=0.5)
            xr.testing.assert_identical(found, getattr(labelled, function)(data, truth, bandwidth=0.5))
        for function, argument in (("threshold_weighted_crps", (1.0, None)), ("brier_scores", [1.0, 2.0])):
            found = getattr(data.akde, function)(truth, argument, bandwidth=0.5)
            xr.testing.assert_identical(found, getattr(labelled, function)(data, truth, argument, bandwidth=0.5))
        for function, argument in (("densities", 1.0), ("probabilities", 1.0), ("quantiles", 0.5)):
            found = getattr(data.akde, function)(argument, bandwidth=0.5)
            xr.testing.assert_identical(found, getattr(labelled, function)(data, argument, bandwidth=0.5))
        xr.testing.assert_identical(data.akde.bandwidth(method="scott"), labelled.bandwidth(data, method="scott"))
        xr.testing.assert_identical(data.akde.atom_probabilities((0,)), labelled.atom_probabilities(data, (0,)))


def test_another_dimension_has_the_members(archive):
    x, y = archive
    turned = x.rain.rename(member="number").transpose("number", ...)
    xr.testing.assert_equal(labelled.crps(turned, y.rain, "number"), labelled.crps(x.rain, y.rain))


@pytest.mark.parametrize("name", ["member", "number", "realization", "ensemble", "mem", "Ens"])
def test_members_are_found_by_the_dimensions_name(archive, name):
    x, y = archive
    named = x.rename(member=name)
    xr.testing.assert_equal(named.rain.akde.crps(y.rain, bandwidth=0.5), x.rain.akde.crps(y.rain, bandwidth=0.5))
    assert set(named.akde.bandwidth(method="scott").data_vars) == {"t2m_bandwidth", "rain_bandwidth"}


def test_members_are_found_by_the_standard_name(archive):
    x, y = archive
    run = xr.DataArray(np.arange(11), dims="run", attrs={"standard_name": "realization"})
    named = x.rename(member="run")
    for marked in (named.assign_coords(run=run), named.assign_coords(label=run)):
        xr.testing.assert_equal(marked.rain.akde.ranks(y.rain), x.rain.akde.ranks(y.rain).assign_coords())
    # It counts more than a name.
    both = named.rain.isel(lead=0).rename(time="ens").assign_coords(run=run)
    assert both.akde.bandwidth(method="scott").dims == ("ens", "lat")


def test_observations_with_fewer_dimensions(archive):
    x, y = archive
    first = y.rain.isel(lead=0, drop=True)
    found = labelled.log_scores(x.rain, first, bandwidth=0.5)
    assert found.shape == (5, 2, 4)
    xr.testing.assert_equal(
        found.isel(lead=1, drop=True), labelled.log_scores(x.rain.isel(lead=1, drop=True), first, bandwidth=0.5)
    )
    lazy = labelled.log_scores(x.rain.chunk(lead=1, lat=2), first.chunk(time=2), bandwidth=0.5)
    xr.testing.assert_equal(lazy.compute(), found)


def test_thresholds_of_each_place(archive):
    x = archive[0].rain
    climate = xr.DataArray([[0.5, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]], dims=("level", "lat"), coords={"lat": x.lat})
    found = labelled.probabilities(x, climate, bandwidth=0.5)
    assert found.sizes == {"time": 5, "lead": 2, "lat": 4, "level": 2}
    one = labelled.probabilities(x.isel(lat=2), [2.0, 6.0], bandwidth=0.5)
    np.testing.assert_array_equal(found.isel(lat=2).values, one.values)


# Zarr calls its own way of keeping metadata together unsettled.
@pytest.mark.filterwarnings("ignore:Consolidated metadata")
@pytest.mark.parametrize("suffix", ["nc", "zarr"])
def test_files_in_and_out(archive, tmp_path, suffix):
    x, y = archive
    paths = [str(tmp_path / f"{name}.{suffix}") for name in ("ensembles", "scores")]
    if suffix == "nc":
        x.to_netcdf(paths[0])
        stored = xr.open_dataset(paths[0], chunks={"time": 2})
    else:
        x.chunk(time=2).to_zarr(paths[0])
        stored = xr.open_zarr(paths[0])
    scores = stored.akde.log_scores(y)
    assert all(score.chunks is not None for score in scores.data_vars.values())
    if suffix == "nc":
        scores.to_netcdf(paths[1])
    else:
        scores.to_zarr(paths[1])
    again = xr.open_dataset(paths[1]) if suffix == "nc" else xr.open_zarr(paths[1])
    xr.testing.assert_equal(again.load(), labelled.log_scores(x, y))
    assert again.t2m_log_score.attrs["units"] == "bits"
    again.close()
    stored.close()


STREAM = """
import resource
import dask, dask.array as da, numpy as np, xarray as xr
import amortized_kde.integrations.xarray as labelled

def make(block_info=None):
    (first, last), *_ = block_info[None]["array-location"]
    return np.random.default_rng(first).normal(size=(last - first, 51))

def scores(cells):
    data = da.map_blocks(make, chunks=((10_000,) * (cells // 10_000), (51,)), dtype=float, meta=np.empty((0, 0)))
    x = xr.DataArray(data, dims=("cell", "member"))
    return labelled.log_scores(x, xr.DataArray(0.3), bandwidth=0.4).mean()

with dask.config.set(scheduler="synchronous"):
    few = scores(20_000).compute()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    many = scores(400_000).compute()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, abs(float(many - few)) < 0.01)
"""


def test_data_stream_through():
    done = subprocess.run([sys.executable, "-c", STREAM], capture_output=True, text=True, check=True, timeout=300)
    more, right = done.stdout.split()
    # 400,000 ensembles take 163 MB, one block 4.
    assert int(more) < 40_000
    assert right == "True"


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (
            lambda x, y: x.t2m.rename(member="run").akde.crps(y.t2m),
            InvalidParameterError,
            "none of the dimensions time, lead, run, lat looks like that of the members; name it with dim=",
        ),
        (lambda x, y: x.t2m.rename(lead="ens").akde.crps(y.t2m), InvalidParameterError, "more than one of"),
        (
            lambda x, y: x.t2m.akde.crps(y.t2m.assign_attrs(units="mm")),
            InvalidSampleError,
            "forecasts are in 'K' and the observations in 'mm'",
        ),
        (lambda x, y: x.t2m.akde.crps(y.t2m, "number"), InvalidParameterError, "'t2m' has no dimension 'number'"),
        (lambda x, y: x.akde.crps(y, "number"), InvalidParameterError, "no variable of the Dataset has the dimension"),
        (lambda x, y: x.akde.crps(y.drop_vars("rain")), InvalidSampleError, "obs has no variable 'rain'; it has: t2m"),
        (lambda x, y: x.akde.crps(y.t2m), InvalidSampleError, "obs must be a Dataset"),
        (lambda x, y: x.t2m.akde.crps(y), InvalidSampleError, "obs must be a DataArray.*not a Dataset"),
        (lambda x, y: x.t2m.akde.crps(y.t2m.rename(lat="y")), InvalidSampleError, "obs has the dimension 'y', which"),
        (lambda x, y: x.t2m.akde.crps(x.t2m), InvalidSampleError, "members' dimension 'member'"),
        (lambda x, y: x.t2m.akde.crps(y.t2m[:3]), InvalidSampleError, "obs has 3 values along 'lat'.* have 4"),
        (
            lambda x, y: x.t2m.akde.crps(y.t2m.assign_coords(lat=[50.0, 51.0, 52.1, 53.0])),
            InvalidSampleError,
            "different coordinates along 'lat', first at 2: 52.1 and 52.0",
        ),
        (lambda x, y: x.t2m.chunk(member=4).akde.crps(y.t2m), InvalidSampleError, "members in 3 chunks along 'member'"),
        (
            lambda x, y: labelled.crps(x.t2m.values, y.t2m),
            InvalidSampleError,
            "or a Dataset, not a ndarray",
        ),
        (lambda x, y: x.t2m.astype(str).akde.crps(y.t2m), InvalidSampleError, "must hold real numbers"),
        (lambda x, y: x.akde.crps(y, bounds={"wind": (0, 1)}), InvalidParameterError, "bounds names 'wind'"),
        (lambda x, y: x.t2m.akde.crps(y.t2m, bounds=(3, 1)), InvalidBoundsError, "lower bound 3"),
        (lambda x, y: x.t2m.chunk().akde.crps(y.t2m, method="silvermann"), InvalidParameterError, "Did you mean"),
        (lambda x, y: x.t2m.akde.crps(y.t2m, bandwidth=[1.0, 2.0]), InvalidSampleError, "one number, or a DataArray"),
        (lambda x, y: x.t2m.akde.bandwidth(bandwidth=1.0), InvalidParameterError, "give a method, not a bandwidth"),
        (lambda x, y: x.t2m.akde.densities([[1.0]]), InvalidSampleError, "dimensions without names"),
        (lambda x, y: x.t2m.akde.densities("warm"), InvalidSampleError, "at must be a number"),
        (lambda x, y: x.t2m.rename(lead="value").akde.densities([1.0]), InvalidParameterError, "'value' already"),
        (lambda x, y: x.t2m.akde.quantiles([1.5]), InvalidParameterError, "must lie in"),
        (lambda x, y: x.t2m.akde.quantiles("most"), InvalidSampleError, "p must be a number"),
        (lambda x, y: x.t2m.chunk().akde.quantiles([0.5, 1.5]), InvalidParameterError, "must lie in"),
        (lambda x, y: x.t2m.chunk().akde.pit(y.t2m, seed=-1), InvalidParameterError, "seed must be a whole number"),
        (
            lambda x, y: x.t2m.chunk().akde.crps(y.t2m, bandwidth=-1.0),
            InvalidParameterError,
            "a positive number, not -1",
        ),
        (lambda x, y: x.t2m.akde.densities(x.t2m), InvalidSampleError, "the dimensions of the cells and one more"),
        (lambda x, y: x.t2m.akde.crps(y.t2m, bound=(0, 1)), TypeError, "unexpected keyword argument 'bound'"),
    ],
)
def test_bad_input_is_one_sentence(archive, ask, error, message):
    with pytest.raises(error, match=message):
        ask(*archive)


MISSING = """
import sys
sys.modules["xarray"] = None
try:
    import amortized_kde.integrations.xarray
except ImportError as error:
    print(type(error).__name__, error)
"""


def test_without_xarray():
    done = subprocess.run([sys.executable, "-c", MISSING], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("MissingExtraError labelled arrays need xarray; install it with: pip install")
