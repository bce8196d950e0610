import json
import runpy
import sys
from pathlib import Path

import pytest

import amortized_kde as akde
from amortized_kde.errors import InvalidParameterError
from amortized_kde.research.provenance import (
    RECORD,
    Origin,
    command_under_way,
    models_behind,
    read_origins,
    record_derived,
    record_files,
)
from amortized_kde.selection import SELECTORS

ROOT = Path(__file__).parents[2]
CARDS = akde.models()


def test_every_learned_method_has_the_model_that_gives_its_density():
    sample = [1.0, 2.0, 4.0, 4.5, 7.0]
    for method in SELECTORS:
        behind = models_behind([method])
        assert bool(behind) == method.startswith("amortized")
        assert all(CARDS[name]["sha256"] == checksum for name, checksum in behind.items())
        if method.startswith("amortized:"):
            assert list(behind) == [method.removeprefix("amortized:")]
    assert list(models_behind(["amortized"])) == ["adaptive"]
    assert len(akde.fit(sample, method="amortized").bandwidths) > 1
    assert models_behind(["logspline", "scipy gaussian_kde", "best single bandwidth"]) == {}
    with pytest.raises(InvalidParameterError):
        models_behind(["amortized:nothing"])


def test_a_model_of_your_own_is_recorded_too():
    folder = ROOT / "src" / "amortized_kde" / "learned" / "paper" / "weights" / "gmm8"
    assert models_behind([f"amortized:{folder}"]) == {"gmm8": CARDS["gmm8"]["sha256"]}


def test_files_are_added_to_the_record_and_replaced(tmp_path):
    assert read_origins(tmp_path) == {}
    record_files(tmp_path, ["b.csv", "a.csv"], {"x": "1"}, command="first")
    record_files(tmp_path, ["b.csv"], {}, command="second")
    assert read_origins(tmp_path) == {"a.csv": Origin("first", {"x": "1"}), "b.csv": Origin("second", {})}
    assert list(json.loads((tmp_path / RECORD).read_text())) == ["a.csv", "b.csv"]
    assert [path.name for path in tmp_path.iterdir()] == [RECORD]


def test_derived_files_have_the_models_of_their_sources(tmp_path):
    record_files(tmp_path, ["a.csv"], {"x": "1"}, command="first")
    record_files(tmp_path, ["b.csv"], {"y": "2"}, command="first")
    record_derived(tmp_path, ["c.png"], ["a.csv", "b.csv"])
    assert read_origins(tmp_path)["c.png"].models == {"x": "1", "y": "2"}
    record_derived(tmp_path, ["c.png"], ["a.csv", "not recorded.csv"])
    assert set(read_origins(tmp_path)) == {"a.csv", "b.csv"}


def test_the_command_names_the_script_and_not_the_folder():
    assert command_under_way(["benchmarks/shape.py", "--out=/there", "--no-r"]) == "python benchmarks/shape.py --no-r"
    assert command_under_way(["/bin/amortized-kde", "reproduce", "--out", "x"]) == "amortized-kde reproduce"


def test_the_log_of_a_training_is_kept_with_its_model(tmp_path, monkeypatch):
    folder, out = tmp_path / "training", tmp_path / "results"
    folder.mkdir()
    (folder / "card.json").write_text(json.dumps({"name": "mine", "sha256": "abc"}))
    (folder / "log.csv").write_text("step\n")
    (folder / "log.png").write_bytes(b"picture")
    script = ROOT / "benchmarks" / "training_log.py"
    monkeypatch.setattr(sys, "argv", [str(script), str(folder), "--out", str(out)])
    runpy.run_path(str(script), run_name="__main__")
    assert (out / "training" / "mine.png").read_bytes() == b"picture"
    origin = read_origins(out)["training/mine.csv"]
    assert origin == Origin("python benchmarks/training_log.py training/mine", {"mine": "abc"})


@pytest.mark.parametrize("script", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.stem)
def test_scripts_that_write_results_record_them(script):
    text = script.read_text(encoding="utf-8")
    # Some write only where they get a folder.
    writes = 'default=Path("results")' in text or '"--out", type=Path, default=None' in text
    assert writes == ("record_files(" in text)
