"""Kill a training at the moments of writing its files, resume it, and compare with one that was never disturbed.

Each of the five files of a run is written to a temporary name and moved. A process kills itself (SIGKILL) at one of
five moments of this, in one of the files; after every kill all files must be whole, and every training that ends must
have left the bytes of the undisturbed one.

    python benchmarks/kills.py [--kills 50] [--seed 1] [--out results]
"""

import argparse
import csv
import io
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from amortized_kde._files import write_file
from amortized_kde.research.provenance import record_files
from amortized_kde.research.training.checkpoint import CARD, CHECKPOINT, LOG, LOG_PICTURE, WEIGHTS, read_checkpoint
from amortized_kde.research.training.recipe import find_recipe

FILES = (CHECKPOINT, LOG, WEIGHTS, CARD, LOG_PICTURE)
MOMENTS = ("opened", "half written", "written", "synced", "moved")
# What the last process was killed at, beside the folder of the training.
NOTE = "killed.json"
RECIPE = """
name = "tiny"
world = "gmm8"
seed = 5
steps = 120
batch = 16
sizes = [5, 20]
one_size_a_step = false
[network]
inputs = ["n", "mean", "sd", "skewness", "kurtosis"]
hidden = [8]
output = "bandwidth"
[objective]
kind = "draws"
points = 16
[optimiser]
learning_rate = 1e-3
clip = 1.0
average = 0.9
[validation]
seed = 7
sizes = [5, 20]
tasks_per_size = 4
every = 5
[early_stop]
start = 1000
patience = 3
improvement = 1e-4
"""


class Aim(NamedTuple):
    """Kill at a moment of writing a file, at its `turn`-th time in the process."""

    file: str
    moment: str
    turn: int


class Kill(NamedTuple):
    """One kill: where it hit, the step of the checkpoint left behind, and whether all files were whole."""

    number: int
    training: int
    file: str
    moment: str
    turn: int
    step: int
    whole: bool


class Trap:
    """In the place of `open`, `os.fsync` and `os.replace`: does the same, and kills the process where it aims."""

    def __init__(self, aim: Aim, note: Path) -> None:
        self.aim, self.note, self.turns = aim, note, Counter()
        self.sync, self.replace = os.fsync, os.replace

    def reach(self, path: str, moment: str) -> None:
        """Count this moment of the file that a temporary file is for, and kill the process if it is the one."""
        name = Path(path).name.rsplit(".", 2)[0]
        self.turns[name, moment] += 1
        if self.aim == (name, moment, self.turns[name, moment]):
            self.note.write_text(json.dumps(self.aim))
            os.kill(os.getpid(), signal.SIGKILL)

    def open(self, path: str, mode: str) -> io.BufferedWriter:
        """Open a file for writing."""
        file = Watched(io.FileIO(path, mode), self)
        self.reach(path, "opened")
        return file

    def fsync(self, descriptor: int) -> None:
        """Bring a file to the disk."""
        # Linux names the file that a descriptor belongs to.
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        self.reach(path, "written")
        self.sync(descriptor)
        self.reach(path, "synced")

    def move(self, source: str, target: str) -> None:
        """Move a file to its name."""
        self.replace(source, target)
        if str(source).endswith(".part"):
            self.reach(source, "moved")


class Watched(io.BufferedWriter):
    """A file that reaches a moment in the middle of its first writing."""

    def __init__(self, raw: io.FileIO, trap: Trap) -> None:
        super().__init__(raw)
        self.trap, self.begun = trap, False

    def write(self, data: bytes) -> int:
        """Write bytes, the first time in two halves."""
        if self.begun:
            return super().write(data)
        self.begun, half = True, len(data) // 2
        super().write(data[:half])
        self.flush()
        self.trap.reach(str(self.raw.name), "half written")
        return half + super().write(data[half:])


def train(folder: Path, aim: Aim | None) -> None:
    """Train in this process, which is killed where it aims."""
    from amortized_kde import _files
    from amortized_kde.cli import main

    if aim is not None:
        trap = Trap(aim, folder.parent / NOTE)
        _files.open = trap.open  # type: ignore[attr-defined]
        os.fsync, os.replace = trap.fsync, trap.move
    main(["train", str(folder.parent / "tiny.toml"), "--out", str(folder), "--resume"])


def run(folder: Path, aim: Aim | None) -> bool:
    """Train in a process of its own; return whether it came to its end."""
    words = [] if aim is None else [json.dumps(aim)]
    done = subprocess.run(
        [sys.executable, __file__, "--train", str(folder), *words], capture_output=True, text=True, timeout=600
    )
    if done.returncode not in (0, -signal.SIGKILL):
        raise SystemExit(f"the training failed with status {done.returncode}: {done.stderr}")
    return done.returncode == 0


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a training but temporary ones and the lock."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name in FILES}


def is_whole(folder: Path, whole: dict[str, bytes]) -> bool:
    """Return whether every file is one that a training without a kill has at some moment."""
    found = contents(folder)
    log = found.pop(LOG, b"")
    found.pop(CHECKPOINT, None)
    rows_end = log == b"" or log.endswith(b"\n")
    return whole[LOG].startswith(log) and rows_end and all(whole[name] == data for name, data in found.items())


def is_equal(folder: Path, whole: dict[str, bytes]) -> bool:
    """Return whether a training ended as the undisturbed one; print which files differ."""
    found = contents(folder)
    different = [name for name in FILES if found.get(name) != whole[name]]
    print(f"training {folder.name}:", f"different {', '.join(different)}" if different else "equal", flush=True)
    return not different


def step_left(folder: Path) -> int:
    """Return the step of the checkpoint, 0 if there is none; raise if it is damaged."""
    left = read_checkpoint(folder, find_recipe(str(folder.parent / "tiny.toml")).as_card())
    return 0 if left is None else left[0].step


def aims(count: int, seed: int) -> list[Aim]:
    """Return aims at every moment of every file, as evenly as possible, in a random order."""
    rng = np.random.default_rng(seed)
    pairs = list(itertools.product(FILES, MOMENTS))
    order = [pairs[k] for _ in range(-(-count // len(pairs))) for k in rng.permutation(len(pairs))]
    # A process writes the model once.
    return [Aim(*pair, int(rng.integers(1, 3)) if pair[0] in (CHECKPOINT, LOG) else 1) for pair in order[:count]]


def campaign(work: Path, count: int, seed: int) -> tuple[list[Kill], list[bool]]:
    """Kill a training as often as wanted, and begin another one whenever it ends; return kills and equalities."""
    (work / "tiny.toml").write_text(RECIPE)
    run(work / "undisturbed", None)
    whole = contents(work / "undisturbed")
    kills: list[Kill] = []
    equal: list[bool] = []
    for aim in aims(count, seed):
        while run(work / f"{len(equal)}", aim):
            # It came to its end before it wrote this file that often.
            equal.append(is_equal(work / f"{len(equal)}", whole))
        folder = work / f"{len(equal)}"
        hit = Aim(*json.loads((work / NOTE).read_text()))
        kills.append(Kill(len(kills) + 1, len(equal) + 1, *hit, step_left(folder), is_whole(folder, whole)))
        print(*kills[-1], flush=True)
    run(work / f"{len(equal)}", None)
    return kills, [*equal, is_equal(work / f"{len(equal)}", whole)]


def to_markdown(kills: list[Kill], equal: list[bool]) -> str:
    """Return the number of kills at every moment of every file, and the verdict."""
    counts = Counter((kill.file, kill.moment) for kill in kills)
    lines = [f"| killed when the temporary file was | {' | '.join(FILES)} |", "|---|" + "--:|" * len(FILES)]
    lines += [f"| {moment} | {' | '.join(str(counts[file, moment]) for file in FILES)} |" for moment in MOMENTS]
    verdict = (
        f"{len(kills)} kills of {len(equal)} trainings. After {sum(kill.whole for kill in kills)} kills all files were "
        f"whole; {sum(equal)} of {len(equal)} trainings ended with the bytes of the undisturbed one, in all "
        f"{len(FILES)} files."
    )
    return "\n".join([verdict, "", *lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--train", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.train:
        train(Path(given.train[0]), Aim(*json.loads(given.train[1])) if given.train[1:] else None)
    with tempfile.TemporaryDirectory() as work:
        kills, equal = campaign(Path(work), given.kills, given.seed)
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([Kill._fields, *kills])
    given.out.mkdir(parents=True, exist_ok=True)
    write_file(given.out / "kills.csv", text.getvalue())
    write_file(given.out / "kills.md", to_markdown(kills, equal))
    record_files(given.out, ["kills.csv", "kills.md"], {})
    print(to_markdown(kills, equal))
    if not (all(equal) and all(kill.whole for kill in kills)):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
