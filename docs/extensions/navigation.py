"""What pages need on the site and not in the repository: their order, and links to files outside docs/.

Pages are plain Markdown in the repository. On the site they get a hidden toctree, links to files that are not pages
become downloads, and examples lose the blank line at their end, which doctest needs.
"""

import re
from typing import Any

# Page: the pages below it. The landing page has the entries of the bar at the top.
NAVIGATION = {
    "index": ("start", "guide", "gallery/index", "reference/index", "evidence", "inside"),
    "guide": (
        "why-not-gaussian-kde",
        "methods",
        "bounds",
        "weights",
        "several",
        "integrations",
        "large_samples",
        "ensembles",
        "archive",
        "app",
    ),
    "reference/index": (
        "reference/functions",
        "reference/density",
        "reference/many",
        "reference/xarray",
        "reference/integrations",
        "reference/errors",
        "reference/tasks",
        "reference/command-line",
        "reference/command-line-more",
    ),
    "evidence": (
        "results",
        "real-data",
        "several-results",
        "sizes",
        "speed",
        "shape",
        "awkward",
        "benchmarks",
        "reproduce",
    ),
    "inside": (
        "how-it-works",
        "adaptive",
        "models",
        "tasks",
        "broad-world",
        "training",
        "architecture",
        "decisions",
        "contributing",
    ),
}
# Files of the repository that have a page of their own on the site.
ON_SITE = {"../examples/README.md": "/gallery/index.rst", "../CONTRIBUTING.md": "/contributing.md"}
_OUTSIDE = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<path>\.\./[^)#]+\.(?:md|py))\)")
_EXAMPLE = re.compile(r"^(?P<lines>```pycon\n.*?\n)\n```$", re.DOTALL | re.MULTILINE)


def prepare(_app: Any, page: str, source: list[str]) -> None:
    """Rewrite links to files outside docs/, and append a hidden toctree if other pages are below this one."""
    source[0] = _EXAMPLE.sub(r"\g<lines>```", source[0])
    if "/" not in page:
        source[0] = _OUTSIDE.sub(lambda match: _link(page, match["text"], match["path"]), source[0])
    if page in NAVIGATION:
        below = "\n".join(f"/{name}" for name in NAVIGATION[page])
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n\n{below}\n```\n"


def _link(page: str, text: str, path: str) -> str:
    there = ON_SITE.get(path, f"/{page}.md")
    return f"{{download}}`{text} <{path}>`" if there == f"/{page}.md" else f"[{text}]({there})"


def setup(app: Any) -> dict[str, bool]:
    """Connect to the reading of sources."""
    app.connect("source-read", prepare)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
