import json
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

import amortized_kde as akde
from amortized_kde.errors import UnreadableFileError
from amortized_kde.learned.store import load_model, model_names, read_model
from amortized_kde.selection import SELECTORS


@pytest.fixture
def copy(tmp_path):
    """A shipped model's folder, to be damaged."""
    shutil.copytree(Path(str(resources.files("amortized_kde.learned.paper") / "weights" / "gmm32")), tmp_path / "gmm32")
    return tmp_path / "gmm32"


def test_every_shipped_model_is_a_method_and_the_other_way_round():
    learned = {name.removeprefix("amortized:") for name in SELECTORS if name.startswith("amortized:")}
    assert learned == set(model_names())


def papers_cards():
    return {name: card for name, card in akde.models().items() if not load_model(name).architecture.own_frame}


def test_cards_hold_what_a_reader_needs():
    for name, card in akde.models().items():
        assert card["name"] == name
        assert {"recipe", "seed", "kept_step", "validation_score_bits", "conventions"} <= set(card)
        assert {"package_version", "sha256"} <= set(card)
    for card in papers_cards().values():
        assert {"paper_kept_step", "reflection_mean_abs_log2_ratio"} <= set(card)


def test_reflection_is_exact_for_the_gaussian_model_and_small_for_the_others():
    cards = papers_cards()
    assert len(cards) == 5
    assert cards["gaussian"]["reflection_mean_abs_log2_ratio"] == 0.0
    assert all(card["reflection_mean_abs_log2_ratio"] < 0.1 for card in cards.values())


def test_a_changed_byte_is_noticed(copy):
    data = bytearray((copy / "weights.safetensors").read_bytes())
    data[-1] ^= 1
    (copy / "weights.safetensors").write_bytes(bytes(data))
    with pytest.raises(UnreadableFileError, match="checksum"):
        read_model(copy)


def test_a_newer_format_is_refused(copy):
    card = json.loads((copy / "card.json").read_text())
    (copy / "card.json").write_text(json.dumps(card | {"format": 99}))
    with pytest.raises(UnreadableFileError, match="format 99"):
        read_model(copy)


@pytest.mark.parametrize("file", ["card.json", "weights.safetensors"])
def test_a_missing_file_gets_a_sentence(copy, file):
    (copy / file).unlink()
    with pytest.raises(UnreadableFileError, match="gmm32"):
        read_model(copy)


def test_a_folder_of_ones_own_is_a_method(copy):
    x = [0.1, 0.4, 0.45, 0.8, 0.9]
    mine = akde.bandwidth(x, bounds=(0, 1), method=f"amortized:{copy}")
    assert mine == akde.bandwidth(x, bounds=(0, 1), method="amortized:gmm32")
    assert akde.fit(x, bounds=(0, 1), method=f"amortized:{copy}").method == f"amortized:{copy}"


def test_inference_imports_no_jax():
    code = (
        "import sys, amortized_kde as a; a.bandwidth([1., 2., 4.]);"
        "sys.exit(bool({'jax', 'equinox', 'optax'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_models_are_loaded_once():
    assert load_model("gmm32") is load_model("gmm32")
