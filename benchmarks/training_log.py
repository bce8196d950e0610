"""Keep the log of a shipped model's training, and its picture, in results/training.

    python benchmarks/training_log.py FOLDER [--out results]

FOLDER is what `amortized-kde train RECIPE --out FOLDER` wrote: log.csv, log.png, and the model, whose name and checksum
are recorded with them.
"""

import argparse
import json
import shutil
from pathlib import Path

from amortized_kde.research.provenance import record_files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    card = json.loads((options.folder / "card.json").read_text(encoding="utf-8"))
    names = [f"training/{card['name']}.{ending}" for ending in ("csv", "png")]
    (options.out / "training").mkdir(parents=True, exist_ok=True)
    for name in names:
        shutil.copyfile(options.folder / f"log{Path(name).suffix}", options.out / name)
    command = f"python benchmarks/training_log.py training/{card['name']}"
    record_files(options.out, names, {card["name"]: card["sha256"]}, command=command)


if __name__ == "__main__":
    main()
