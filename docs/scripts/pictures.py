"""Draw the pictures of the pages that gallery scripts make: `python docs/scripts/pictures.py [NAME ...]`.

Others: docs/scripts/screenshots.py takes those of the web page, examples/archive.py draws archive.png, and the text
beside compare.png and broad.png has their commands.
"""

import runpy
import sys
from pathlib import Path

import matplotlib as mpl

ROOT = Path(__file__).parents[2]
SCRIPTS = {
    "against_scipy": "one_sample/against_scipy.py",
    "bounds": "one_sample/bounds.py",
    "corner": "other_libraries/posterior_draws.py",
    "dropins": "other_libraries/side_by_side.py",
    "first_density": "one_sample/first_density.py",
    "two_variables": "one_sample/two_variables.py",
    "verification": "ensembles/verification.py",
    "with_seaborn": "other_libraries/with_seaborn.py",
}


def draw(name: str) -> None:
    """Run the script of a picture, and write its last figure to docs/images."""
    from matplotlib import pyplot

    pyplot.close("all")
    runpy.run_path(str(ROOT / "examples" / SCRIPTS[name]))
    pyplot.gcf().savefig(ROOT / "docs" / "images" / f"{name}.png", dpi=120, metadata={"Software": None})


if __name__ == "__main__":
    mpl.use("Agg")
    for name in sys.argv[1:] or SCRIPTS:
        draw(name)
