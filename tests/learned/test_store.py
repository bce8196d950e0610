import hashlib
import json
import os
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

import amortized_kde as akde
from amortized_kde.errors import UnreadableFileError
from amortized_kde.learned.store import load_model, model_names, read_model
from amortized_kde.selection import SELECTORS
from amortized_kde.selection.registry import find_selector


def copy_of(family, name, to):
    shutil.copytree(Path(str(resources.files(f"amortized_kde.learned.{family}") / "weights" / name)), to / name)
    return to / name


@pytest.fixture
def copy(tmp_path):
    """A shipped model's folder, to be damaged."""
    return copy_of("paper", "gmm32", tmp_path)


def change_card(folder, change):
    """Replace the card by what `change` returns."""
    card = change(json.loads((folder / "card.json").read_text()))
    (folder / "card.json").write_text(json.dumps(card))


def write_weights(folder, data):
    """Replace the weights, and put their checksum into the card."""
    (folder / "weights.safetensors").write_bytes(data)
    change_card(folder, lambda card: card | {"sha256": hashlib.sha256(data).hexdigest()})


def change_arrays(folder, **changes):
    arrays = load((folder / "weights.safetensors").read_bytes())
    for name, change in changes.items():
        arrays[name] = np.ascontiguousarray(change(arrays[name]))
    write_weights(folder, save(arrays))


def test_every_shipped_model_is_a_method_and_the_other_way_round():
    learned = {name.removeprefix("amortized:") for name in SELECTORS if name.startswith("amortized:")}
    assert learned | {"multivariate"} == set(model_names())


def papers_cards():
    return {name: card for name, card in akde.models().items() if name in ("gaussian", "multifamily") or "gmm" in name}


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


CUTS = {
    "one entry": lambda a: a.reshape(-1)[:1],
    "transposed": lambda a: a.T if a.ndim == 2 and a.shape[0] != a.shape[1] else a[..., None],
    "a row less": lambda a: a[:-1],
    "a row more": lambda a: np.concatenate([a, a[:1]]),
    "empty": lambda a: a[:0],
    "NaN": lambda a: np.where(np.arange(a.size).reshape(a.shape) == a.size - 1, np.nan, a).astype(a.dtype),
    "infinite": lambda a: np.full_like(a, np.inf),
    "whole numbers": lambda a: a.astype(np.int32),
    "half precision": lambda a: a.astype(np.float16),
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize(
    ("family", "model", "array"),
    [
        ("paper", "gmm32", "weight1"),
        ("paper", "gmm32", "bias1"),
        ("paper", "gaussian", "weight0"),
        ("adaptive", "adaptive", "gates.bias"),
        ("adaptive", "adaptive", "shares.weight"),
        ("adaptive", "adaptive", "standard.point"),
        ("adaptive", "single", "whole1.weight"),
        ("adaptive", "single", "bandwidth.weight"),
    ],
)
def test_arrays_must_be_those_of_the_cards_network(tmp_path, family, model, array, cut):
    folder = copy_of(family, model, tmp_path)
    change_arrays(folder, **{array: cut})
    with pytest.raises(UnreadableFileError, match=array):
        read_model(folder)


def test_arrays_must_have_the_names_of_the_cards_network(copy):
    arrays = load((copy / "weights.safetensors").read_bytes())
    write_weights(copy, save(arrays | {"weight3": arrays["weight2"]}))
    with pytest.raises(UnreadableFileError, match="'weight3', which"):
        read_model(copy)
    write_weights(copy, save({name: array for name, array in arrays.items() if name != "bias1"}))
    with pytest.raises(UnreadableFileError, match="lack the array 'bias1'"):
        read_model(copy)


@pytest.mark.parametrize("row", [1, 2])
def test_features_need_a_spread_and_a_range(tmp_path, row):
    folder = copy_of("adaptive", "single", tmp_path)
    values = {1: 0.0, 2: 1e9}
    change_arrays(folder, **{"standard.whole": lambda a: np.where(np.arange(4)[:, None] == row, values[row], a)})
    with pytest.raises(UnreadableFileError, match="spread"):
        read_model(folder)


@pytest.mark.parametrize(
    "text", ["[]", "null", "3", '"text"', "", "{", "[" * 100_000, '{"a":' * 50_000, "\ud800", "9" * 5000]
)
def test_cards_that_are_no_cards_get_a_sentence(copy, text):
    (copy / "card.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(UnreadableFileError, match=r"card\.json"):
        read_model(copy)


def without(*path):
    def change(card):
        inner = card
        for key in path[:-1]:
            inner = inner[key]
        del inner[path[-1]]
        return card

    return change


def network(**entries):
    def change(card):
        card["recipe"]["network"] |= entries
        return card

    return change


@pytest.mark.parametrize(
    "change",
    [
        without("name"),
        without("sha256"),
        without("format"),
        without("recipe"),
        without("recipe", "network"),
        without("recipe", "network", "output"),
        without("recipe", "network", "hidden"),
        without("recipe", "network", "inputs"),
        lambda card: card | {"name": 3},
        lambda card: card | {"format": True},
        lambda card: card | {"recipe": []},
        lambda card: card | {"recipe": {"network": "gmm32"}},
        network(output="unknown"),
        network(output=["bandwidth"]),
        network(output="adaptive"),
        network(output="ratio"),
        network(hidden=128),
        network(hidden=[128, 10**9]),
        network(hidden=[128, -128]),
        network(hidden=[128.0, 128.0]),
        network(hidden=[1] * 10_000),
        network(inputs=["n"]),
        network(limits=[1]),
        network(limits={"n": [2, 1]}),
        network(limits={"n": "ab"}),
        network(limits={"other": [1, 2]}),
    ],
)
def test_cards_with_wrong_entries_get_a_sentence(copy, change):
    change_card(copy, change)
    with pytest.raises(UnreadableFileError):
        read_model(copy)


def test_other_entries_of_a_card_are_kept(copy):
    change_card(copy, lambda card: card | {"calibration": {"shift": [1.0]}})
    assert read_model(copy).card["calibration"] == {"shift": [1.0]}


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff" * 64, (2**62).to_bytes(8, "little") + b"{}", b"PK\x03\x04"])
def test_weights_that_are_no_safetensors_get_a_sentence(copy, data):
    write_weights(copy, data)
    with pytest.raises(UnreadableFileError, match="safetensors"):
        read_model(copy)


def test_files_that_are_too_large_are_not_read(copy):
    with open(copy / "weights.safetensors", "ab") as file:
        file.truncate(1 << 33)
    with pytest.raises(UnreadableFileError, match="more than"):
        read_model(copy)


@pytest.mark.parametrize("name", ["card.json", "weights.safetensors"])
def test_dangling_links_and_pipes_get_a_sentence(copy, name):
    (copy / name).unlink()
    (copy / name).symlink_to(copy / "nowhere")
    with pytest.raises(UnreadableFileError, match="gmm32"):
        akde.bandwidth([1.0, 2.0, 4.0], method=f"amortized:{copy}")
    (copy / name).unlink()
    os.mkfifo(copy / name)
    with pytest.raises(UnreadableFileError, match="gmm32"):
        akde.bandwidth([1.0, 2.0, 4.0], method=f"amortized:{copy}")


def test_a_dangling_link_beside_a_model_does_not_matter(copy):
    (copy / "notes").symlink_to(copy / "nowhere")
    assert akde.bandwidth([1.0, 2.0, 4.0], method=f"amortized:{copy}") > 0.0


def test_files_replaced_with_their_times_kept_are_read_again(copy):
    x, times = [0.1, 0.4, 0.45, 0.8, 0.9], {}
    before = akde.bandwidth(x, bounds=(0, 1), method=f"amortized:{copy}")
    for path in copy.iterdir():
        times[path] = path.stat()
    change_arrays(copy, bias2=lambda a: a + 1)
    for path, stat in times.items():
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert akde.bandwidth(x, bounds=(0, 1), method=f"amortized:{copy}") > before


def test_an_unchanged_folder_is_read_once(copy):
    first = find_selector(f"amortized:{copy}").select.load()
    assert find_selector(f"amortized:{copy}").select.load() is first
