"""A real cluster of worker processes: what comes back is what memory gives, even if a worker dies or has little."""

import os
import shutil
import signal
import time
import uuid
from pathlib import Path

import cloudpickle
import dask
import dask.array
import numpy as np
import pytest
import xarray as xr
from distributed import Client, KilledWorker, LocalCluster

import amortized_kde as akde
import amortized_kde.integrations.xarray as labelled
from amortized_kde.learned.store import load_model
from amortized_kde.selection import registry

pytestmark = pytest.mark.filterwarnings("ignore::amortized_kde.errors.AmortizedKdeWarning")


@pytest.fixture(scope="module")
def client():
    # No dashboard, whose port another run may hold.
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def forecasts():
    rng = np.random.default_rng(3)
    cells = {"time": np.arange(12), "lat": np.linspace(40.0, 55.0, 10)}
    members = rng.gamma(1.5, 2.0, (12, 10, 21))
    members[rng.random(members.shape) < 0.2] = np.nan
    x = xr.DataArray(members, dims=("time", "lat", "member"), coords=cells, name="rain")
    return x, xr.DataArray(rng.gamma(1.5, 2.0, (12, 10)), dims=("time", "lat"), coords=cells)


@pytest.mark.parametrize("chunks", [{"time": 4, "lat": 10}, {"time": 5, "lat": 3}])
def test_results_are_those_of_memory_whatever_the_chunks(client, forecasts, chunks):
    x, y = forecasts
    options = {"bounds": (0, None)}
    asked = {
        "score": lambda x: labelled.log_scores(x, y, **options),
        "single": lambda x: labelled.log_scores(x, y, method="silverman", **options),
        "probability": lambda x: labelled.probabilities(x, [1.0, 5.0], above=True, **options),
        "transform": lambda x: labelled.pit(x, y, atoms=(0,), seed=2, **options),
    }
    lazy = xr.Dataset({name: ask(x.chunk(chunks)) for name, ask in asked.items()})
    found = client.compute(lazy).result(timeout=200)
    for name, ask in asked.items():
        np.testing.assert_allclose(found[name], ask(x), rtol=1e-12)


def times_read():
    """How often this worker read a shipped model's weights, and those of a folder."""
    return load_model.cache_info().misses, registry._read_once.cache_info().misses


def test_weights_are_read_once_by_each_worker(client, forecasts, tmp_path):
    x, y = forecasts
    shutil.copytree(Path(akde.__file__).parent / "learned" / "adaptive" / "weights" / "single", tmp_path / "own")
    before = client.run(times_read)
    for method in ("amortized:single", f"amortized:{tmp_path / 'own'}"):
        for _ in range(2):
            labelled.log_scores(x.chunk(time=1), y, method=method, bounds=(0, None)).compute()
    after = client.run(times_read)
    for worker, counts in after.items():
        assert all(now - then <= 1 for now, then in zip(counts, before[worker], strict=True))


def test_no_block_carries_weights(client):
    x = xr.DataArray(dask.array.zeros((12, 10, 21), chunks=(1, 10, 21)), dims=("time", "lat", "member"))
    scores = labelled.log_scores(x, x.isel(member=0), bounds=(0, None))
    weights = sum(array.nbytes for array in load_model("adaptive").arrays.values())
    assert len(cloudpickle.dumps(scores.data.dask)) < 0.05 * weights


def hungry(block):
    """Give the block, beside 150 MB that are needed for a moment."""
    return block + 0.0 * np.ones(150_000_000 // 8).min()


def test_a_worker_with_a_memory_limit_ends_with_the_same_numbers(forecasts):
    x, y = forecasts
    # Thirty blocks of 150 MB pass through a worker that may hold 900 MB with its libraries.
    wide = xr.concat([x] * 60, "lon").transpose("lon", "time", "lat", "member").chunk(lon=2)
    lazy = wide.copy(data=wide.data.map_blocks(hungry, dtype=float, meta=np.empty((0, 0, 0, 0))))
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit="900MB"
        ) as cluster,
        Client(cluster) as client,
    ):
        found = client.compute(labelled.log_scores(lazy, y, method="silverman", bounds=(0, None))).result(timeout=200)
    expected = labelled.log_scores(x, y, method="silverman", bounds=(0, None))
    for k in range(wide.sizes["lon"]):
        np.testing.assert_allclose(found.isel(lon=k).transpose(*expected.dims), expected, rtol=1e-12)


def greedy(block):
    """Ask for far more memory than the worker has."""
    kept = [np.ones(20_000_000) for _ in range(40)]
    return block + 0.0 * len(kept)


def test_a_worker_that_needs_more_than_its_limit_is_an_error_and_not_a_hang(forecasts):
    x, y = forecasts
    lazy = x.chunk(time=12)
    lazy = lazy.copy(data=lazy.data.map_blocks(greedy, dtype=float, meta=np.empty((0, 0, 0))))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit="700MB"
        ) as cluster,
        Client(cluster) as client,
    ):
        future = client.compute(labelled.log_scores(lazy, y, method="silverman", bounds=(0, None)))
        with pytest.raises(KilledWorker):
            future.result(timeout=200)


def slowly(block, folder):
    """Give the block after a while, and leave a mark that it was worked on."""
    (folder / uuid.uuid4().hex).touch()
    time.sleep(0.2)
    return block


def test_a_killed_worker_loses_nothing(client, forecasts, tmp_path):
    x, y = forecasts
    lazy = x.chunk(time=1)
    lazy = lazy.copy(data=lazy.data.map_blocks(slowly, folder=tmp_path, dtype=float, meta=np.empty((0, 0, 0))))
    victims = client.run(os.getpid)
    future = client.compute(labelled.log_scores(lazy, y, method="silverman", bounds=(0, None)))
    deadline = time.monotonic() + 60.0
    while len(list(tmp_path.iterdir())) < 6 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not future.done()
    os.kill(next(iter(victims.values())), signal.SIGKILL)
    found = future.result(timeout=200)
    np.testing.assert_allclose(found, labelled.log_scores(x, y, method="silverman", bounds=(0, None)), rtol=1e-12)
    # Blocks that died with the worker were made again.
    assert len(list(tmp_path.iterdir())) > x.sizes["time"]
