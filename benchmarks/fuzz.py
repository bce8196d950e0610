"""Fuzz the readers of files, texts and links, guided by coverage (atheris, which is libFuzzer).

Each reader must return a checked result or raise one of the package's exceptions, with a sentence, within two seconds
and two gigabytes. Long tables must be read alike by Arrow, by NumPy and by the standard library. An input that breaks
this is written to the folder, and the run ends; a later run begins with all inputs found so far.

    pip install atheris
    python benchmarks/fuzz.py csv --seconds 300 --out build/fuzz
"""

import argparse
import hashlib
import io
import json
import shutil
import struct
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from urllib.parse import parse_qsl
from zipfile import ZipFile

import numpy as np

import amortized_kde as akde
from amortized_kde.app import columns, pasted, settings, tables
from amortized_kde.density import parts, storage
from amortized_kde.errors import AmortizedKdeError
from amortized_kde.integrations import plain_columns, table_formats
from amortized_kde.learned import cards, shapes, store

SLOWEST = 2.0
MEGABYTES = 2048
MODULES = (columns, pasted, settings, tables, parts, storage, plain_columns, table_formats, cards, shapes, store)


def fuzz_pasted(data, _):
    found = pasted.read_pasted(data.decode("utf-8", "replace"))
    assert found.numbers.size % found.across == 0
    assert not np.any(np.abs(found.numbers) > 1e300)


def fuzz_csv(data, _):
    text = data.decode("utf-8", "replace")
    width = len(table_formats.columns_of_text(text, "it").names)
    for index in range(min(width, 3)):
        outcomes = []
        for long, arrow in ((10**9, True), (0, True), (0, False)):
            table_formats._LONG = long
            sys.modules["pyarrow"] = ARROW if arrow else None
            outcomes.append(outcome_of(text, index))
        assert repr(outcomes[0]) == repr(outcomes[1]) == repr(outcomes[2]), (text, outcomes)
    sys.modules["pyarrow"] = ARROW
    table = tables.open_file(data, "it")
    assert np.isfinite(columns.read_choice(table, table.first).values).all()


def outcome_of(text, index):
    try:
        return table_formats.numbers_of_text(text, "it", index).tolist()
    except AmortizedKdeError as error:
        return type(error).__name__, str(error)


def fuzz_npz(data, folder):
    """Read bytes as they are, or a valid archive with changed entries and right checksums."""
    path = folder / "density.npz"
    path.write_bytes(data if data[:2] == b"PK" else changed_archive(data))
    density = akde.KernelDensity.load(path)
    assert abs(density.cdf(np.inf) - 1.0) < 1e-9
    assert not np.isnan(density.logpdf(density.points[:3])).any()


def changed_archive(data):
    """Return a saved density in which triples of (entry, position, byte) of the data are replaced."""
    stored = {name: bytearray(entry) for name, entry in DENSITY.items()}
    for entry, place, byte in struct.iter_unpack("<BHB", data[: len(data) // 4 * 4]):
        chosen = stored[sorted(stored)[entry % len(stored)]]
        chosen[place % len(chosen)] = byte
    out = io.BytesIO()
    with ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, entry in stored.items():
            archive.writestr(name, bytes(entry))
    return out.getvalue()


def fuzz_card(data, folder):
    """Read a card as it is, or changed weights with a right checksum: (position, byte) of the data are replaced."""
    weights, card = bytearray(MODEL["weights"]), data
    if data[:1] == b"\0":
        for place, byte in struct.iter_unpack("<HB", data[1 : 1 + (len(data) - 1) // 3 * 3]):
            weights[place % len(weights)] = byte
        card = json.dumps({**MODEL["card"], "sha256": hashlib.sha256(weights).hexdigest()}).encode()
    (folder / "card.json").write_bytes(card)
    (folder / "weights.safetensors").write_bytes(weights)
    assert all(np.isfinite(array).all() for array in store.read_model(folder).arrays.values())


def fuzz_link(data, _):
    query = dict(parse_qsl(data.decode("utf-8", "replace"), keep_blank_values=True))
    found = settings.from_query(query)
    assert settings.from_query(settings.to_query(found)) == found
    settings.link("http://localhost:8501/?" + data.decode("latin-1"), found)
    settings.read_limits(found.lower, found.upper)
    assert all(0.0 < p < 1.0 for p in settings.read_percentages(found.quantiles))


def saved_density():
    """Return the entries of a saved density, by name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "density.npz")
        akde.fit(np.arange(12.0) ** 1.5, bounds=(0, None)).save(path)
        with ZipFile(path) as archive:
            return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def shipped_model():
    folder = next(folder for name, folder in store._folders().items() if name == "gaussian")
    card = json.loads((folder / "card.json").read_text())
    return {"card": card, "weights": (folder / "weights.safetensors").read_bytes()}


ARROW = __import__("pyarrow")
DENSITY = saved_density()
MODEL = shipped_model()
TARGETS = {"pasted": fuzz_pasted, "csv": fuzz_csv, "npz": fuzz_npz, "card": fuzz_card, "link": fuzz_link}
SEEDS = {
    "pasted": [b"1,5; 2,25\n-3", b"c(1, 2)", b"[1]  1.5 -2.0\n[3] 30.0", b"1,234.5\n2", "1\u202f234 \u22122".encode()],
    "csv": [
        b"who,x\nann,1.5\nbob,-2\n", b"who;x\nann;1,5\n", b"a b\n1 2\n3 4\n", b'a,x\n"p, q",1\n"r\ns",NA\n',
        b"1\t2\r3\t4\r",
        "wer;länge\nann;1,5\n".encode("cp1252"), "x\n1\n".encode("utf-16"), b"PAR1", b'"x"\r\n"1"\r\n\r\n',
    ],
    "npz": [b"", changed_archive(b""), b"\1\x80\0\1"],
    "card": [json.dumps(MODEL["card"]).encode(), b"\0", b"\0\x40\0\1"],
    "link": [b"lower=-1%2C5&methods=scott,silverman&log=1", b"factor=2.0&quantiles=5%25,50;97.5", b"view=x&upper=inf"],
}  # fmt: skip


def checked(target, data, folder):
    """Call a target; anything but a result or one of our exceptions, in time, is an error."""
    start, sentence = time.process_time(), "a result"
    try:
        TARGETS[target](data, folder)
    except AmortizedKdeError as error:
        sentence = str(error)
    assert 5 < len(sentence) < 2000, f"an exception without a sentence: {sentence}"
    assert time.process_time() - start < SLOWEST, "slow"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"))
    args = parser.parse_args()
    import atheris

    for module in MODULES:
        for name, function in vars(module).items():
            if callable(function) and hasattr(function, "__code__") and function.__module__ == module.__name__:
                setattr(module, name, atheris.instrument_func(function))
    corpus = args.out / args.target
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS[args.target]):
        (corpus / f"seed-{number}").write_bytes(seed)
    # Files in memory, if there is such a folder: opening one on a disk takes longer than reading it.
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    try:
        atheris.Setup(
            [
                sys.argv[0], str(corpus), f"-max_total_time={args.seconds}", f"-seed={args.seed}", "-max_len=16384",
                f"-timeout={10 * SLOWEST:.0f}", f"-rss_limit_mb={MEGABYTES}",
                f"-artifact_prefix={args.out}/{args.target}-", "-print_final_stats=1", "-len_control=0",
            ],
            lambda data: checked(args.target, data, folder),
        )  # fmt: skip
        atheris.Fuzz()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
