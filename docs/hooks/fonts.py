"""A font for formulas, served by the site itself: systems without one draw sums and brackets too small.

STIX Two Math (SIL Open Font License) is part of the package ziamath; only the characters of formulas are kept.
"""

import io
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from mkdocs.structure.files import File, Files

# Latin and Greek, upright and italic; script and double-struck capitals; accents, arrows, operators, brackets.
_KEPT = (
    *((0x20, 0x7E), (0xB1, 0xB1), (0xB7, 0xB7), (0xD7, 0xD7), (0x2C6, 0x2DC), (0x391, 0x3F5), (0x2010, 0x2044)),
    *((0x210B, 0x213F), (0x2190, 0x2193), (0x2200, 0x2265), (0x27E8, 0x27E9), (0x1D434, 0x1D467), (0x1D49C, 0x1D4CF)),
    *((0x1D538, 0x1D56B), (0x1D6E2, 0x1D71B)),
)


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the font, which assets/site.css names."""
    files.append(File.generated(config, "assets/math.woff", content=math_font()))
    return files


@cache
def math_font() -> bytes:
    """Give the font's glyphs for formulas, with its table of mathematical measures, as a web font."""
    # Found without importing it, for it does much when it is imported.
    folder = Path(find_spec("ziamath").origin).parent
    font, out = TTFont(folder / "fonts" / "STIXTwoMath-Regular.ttf"), io.BytesIO()
    # ssty are the forms of small indices; with every name the licence stays inside.
    subsetter = Subsetter(Options(layout_features=["ssty"], name_IDs=["*"], hinting=False))
    subsetter.populate(unicodes=[code for first, last in _KEPT for code in range(first, last + 1)])
    subsetter.subset(font)
    font.flavor = "woff"
    font.save(out)
    return out.getvalue()
