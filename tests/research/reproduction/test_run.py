"""Runs of a bed: the same bits on any number of threads, after a kill, and after a model was trained anew."""

import json

import numpy as np
import pytest

from amortized_kde.errors import InvalidParameterError, UnreadableFileError
from amortized_kde.research.reproduction import columns
from amortized_kde.research.reproduction import run as runs
from amortized_kde.research.reproduction.columns import FOLDER, read_chunk
from amortized_kde.research.reproduction.protocol import BEDS, Scale, chunks_of
from amortized_kde.research.reproduction.run import begin_record, read_record, record_part, run_bed

TINY = Scale("tiny", 10, 5, 1, 1)
GAUSSIAN = BEDS["gaussian"]


def stored(folder, bed=GAUSSIAN):
    """Every score as bytes, by chunk and method."""
    return {
        (chunk, method): column.scores.tobytes()
        for chunk in chunks_of(bed, TINY)
        for method, column in read_chunk(folder, chunk).columns.items()
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    told = []
    run_bed(GAUSSIAN, TINY, folder, threads=2, report=lambda chunk, fresh: told.append((chunk, fresh)))
    assert sorted(told) == [(chunk, True) for chunk in sorted(chunks_of(GAUSSIAN, TINY))]
    return folder


def test_every_column_of_every_chunk_is_stored(whole):
    scores = stored(whole)
    assert len(scores) == 31 * 2 * len(GAUSSIAN.methods)
    held = read_chunk(whole, chunks_of(GAUSSIAN, TINY)[0])
    assert all(column.scores.shape == (5,) for column in held.columns.values())
    assert held.seconds > 0.0
    assert not list((whole / FOLDER).glob("*.part"))


def test_the_number_of_threads_does_not_matter(whole, tmp_path):
    run_bed(GAUSSIAN, TINY, tmp_path, threads=1)
    assert stored(tmp_path) == stored(whole)


def test_nor_does_it_where_draws_judge(tmp_path):
    methods = ["truth", "oracle", "lscv", "amortized:gmm32"]
    for threads in (1, 3):
        run_bed(BEDS["gmm"], TINY, tmp_path / str(threads), methods=methods, threads=threads)
    one, three = (stored(tmp_path / str(threads), BEDS["gmm"]) for threads in (1, 3))
    assert len(one) == 31 * 2 * 4
    assert one == three


class Kill(BaseException):
    """What stops a run from outside."""


def test_a_killed_run_goes_on_where_it_was(whole, tmp_path, monkeypatch):
    written, write = [], columns.write_chunk

    def dies_after_ten(folder, chunk, held):
        if len(written) == 10:
            # What a kill leaves: a file that is half written beside its place.
            (folder / FOLDER / "gaussian_005_00000_5.npz.part").write_bytes(b"half")
            raise Kill
        written.append(chunk)
        write(folder, chunk, held)

    with monkeypatch.context() as patch:
        patch.setattr(runs, "write_chunk", dies_after_ten)
        with pytest.raises(Kill):
            run_bed(GAUSSIAN, TINY, tmp_path, threads=1)
    # A damaged and an empty file count as not there.
    files = sorted((tmp_path / FOLDER).glob("*.npz"))
    assert len(files) == 10
    files[0].write_bytes(files[0].read_bytes()[:200])
    files[1].write_bytes(b"")
    fresh = []
    run_bed(GAUSSIAN, TINY, tmp_path, threads=2, report=lambda chunk, new: fresh.append(new))
    assert fresh.count(False) == 8
    assert stored(tmp_path) == stored(whole)


def test_only_what_is_missing_is_computed(whole, tmp_path, monkeypatch):
    computed, compute = [], runs.compute_column

    def counted(method, tasks):
        computed.append(method)
        return compute(method, tasks)

    monkeypatch.setattr(runs, "compute_column", counted)
    run_bed(GAUSSIAN, TINY, tmp_path, methods=["truth", "silverman"], threads=1)
    assert set(computed) == {"truth", "silverman"}
    computed.clear()
    run_bed(GAUSSIAN, TINY, tmp_path, methods=["oracle", "silverman"], threads=1)
    assert set(computed) == {"oracle"}
    assert stored(tmp_path).items() <= stored(whole).items()
    # A model with other weights has another key, and only its column goes.
    run_bed(GAUSSIAN, TINY, tmp_path, methods=["amortized:gaussian"], threads=1)
    computed.clear()
    key = columns.column_key
    monkeypatch.setattr(columns, "column_key", lambda method: key(method) + "'" * method.startswith("amortized"))
    run_bed(GAUSSIAN, TINY, tmp_path, methods=["oracle", "amortized:gaussian"], threads=1)
    assert set(computed) == {"amortized:gaussian"}


def test_an_error_in_a_chunk_is_not_swallowed(tmp_path, monkeypatch):
    def fails(method, tasks):
        raise np.linalg.LinAlgError("no")

    monkeypatch.setattr(runs, "compute_column", fails)
    with pytest.raises(np.linalg.LinAlgError):
        run_bed(GAUSSIAN, TINY, tmp_path)
    assert stored(tmp_path) == {}


def test_the_record_grows_by_parts_and_keeps_its_scale(tmp_path):
    assert read_record(tmp_path) == {}
    record_part(tmp_path, "gaussian", scale="paper", command="one", facts={"seconds": 1.5})
    record_part(tmp_path, "modes", scale="paper", command="two", facts={"seconds": 2.5})
    record = json.loads((tmp_path / "run.json").read_text())
    assert {name: part["seconds"] for name, part in record["parts"].items()} == {"gaussian": 1.5, "modes": 2.5}
    assert (record["scale"], record["command"], record["parts"]["gaussian"]["command"]) == ("paper", "two", "one")
    assert record["cores"] >= 1
    assert record["machine"]
    begin_record(tmp_path, "paper", overwrite=False)
    with pytest.raises(InvalidParameterError, match="would overwrite"):
        begin_record(tmp_path, "quick", overwrite=True)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(UnreadableFileError, match="not a record"):
        read_record(tmp_path)


def test_a_run_that_finds_work_done_does_not_lower_the_time_it_took(tmp_path):
    for seconds in (900.0, 1.5):
        record_part(tmp_path, "ablations", scale="paper", command="c", facts={"seconds": seconds})
    assert read_record(tmp_path)["parts"]["ablations"]["seconds"] == 900.0
