"""The order of the pages, in one place, so that pages need no toctree and read well as Markdown in the repository."""

from typing import Any

# Page: the pages below it. The landing page has the entries of the bar at the top.
NAVIGATION = {
    "index": ("start", "guide", "gallery/index", "reference/index", "evidence", "inside"),
    "guide": (
        "why-not-gaussian-kde",
        "methods",
        "bounds",
        "weights",
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
    "evidence": ("results", "real-data", "sizes", "speed", "shape", "awkward", "benchmarks", "reproduce"),
    "inside": (
        "how-it-works",
        "adaptive",
        "models",
        "tasks",
        "broad-world",
        "training",
        "architecture",
    ),
}


def add_toctree(_app: Any, page: str, source: list[str]) -> None:
    """Append a hidden toctree to the page, if others are below it."""
    if page in NAVIGATION:
        below = "\n".join(f"/{name}" for name in NAVIGATION[page])
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n\n{below}\n```\n"


def setup(app: Any) -> dict[str, bool]:
    """Connect to the reading of sources."""
    app.connect("source-read", add_toctree)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
