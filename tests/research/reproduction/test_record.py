"""The record of a run."""

import json

import pytest

from amortized_kde.errors import InvalidParameterError, UnreadableFileError
from amortized_kde.research.reproduction.record import check_scale, read_record, record_part


def test_the_record_grows_by_parts_and_keeps_its_scale(tmp_path):
    assert read_record(tmp_path) == {}
    record_part(tmp_path, "gaussian", scale="paper", command="one", facts={"seconds": 1.5})
    record_part(tmp_path, "modes", scale="paper", command="two", facts={"seconds": 2.5})
    record = json.loads((tmp_path / "run.json").read_text())
    assert {name: part["seconds"] for name, part in record["parts"].items()} == {"gaussian": 1.5, "modes": 2.5}
    assert (record["scale"], record["command"], record["parts"]["gaussian"]["command"]) == ("paper", "two", "one")
    assert record["cores"] >= 1
    assert record["machine"]
    check_scale(tmp_path, "paper")
    with pytest.raises(InvalidParameterError, match="would overwrite"):
        check_scale(tmp_path, "quick")
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(UnreadableFileError, match="not a record"):
        read_record(tmp_path)


def test_a_run_that_finds_work_done_does_not_lower_the_time_it_took(tmp_path):
    for seconds in (900.0, 1.5):
        record_part(tmp_path, "ablations", scale="paper", command="c", facts={"seconds": seconds})
    assert read_record(tmp_path)["parts"]["ablations"]["seconds"] == 900.0
