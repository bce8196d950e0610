"""The house plan (docs/architecture.md), read from the sources."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import amortized_kde

PACKAGE = Path(amortized_kde.__file__).parent

# Imports go only downward in this table.
RANKS = {
    1: ["errors", "numerics", "figures", "sketch"],
    2: [
        *("reading", "weights", "sample", "domain", "shape", "background", "blend"),
        *("moments", "kernels", "sums", "entropy"),
    ],
    3: ["parts", "composition", "distribution", "density", "features", "anchors", "ladder"],
    4: ["score", "network", "ladder_network", "models"],
    5: ["selectors", "tasks"],
    6: ["estimate", "ensembles", "training"],
    7: ["benchmark"],
    8: ["integrations", "cli", "app"],
}
RANK = {room: rank for rank, rooms in RANKS.items() for room in rooms}
# Neighbours of one rank that may lean on each other, and only in this direction.
NEIGHBOURS = {
    ("domain", "sample"),
    ("sample", "reading"),
    ("sample", "weights"),
    ("weights", "reading"),
    ("blend", "background"),
    ("kernels", "background"),
    ("kernels", "blend"),
    ("kernels", "moments"),
    ("moments", "blend"),
    ("sums", "background"),
    ("sums", "kernels"),
    ("sums", "moments"),
    ("composition", "parts"),
    ("density", "composition"),
    ("density", "distribution"),
    ("density", "parts"),
    ("numerics", "errors"),
    ("figures", "errors"),
    ("models", "network"),
    ("ladder_network", "network"),
    ("ladder", "features"),
    ("ladder", "anchors"),
    ("ensembles", "estimate"),
    ("training", "ensembles"),
    ("cli", "integrations"),
    ("app", "integrations"),
    ("cli", "app"),
}

# Rooms with compiled loops; the decorators themselves live in numerics/jit.py.
COMPILED_ROOMS = {"numerics", "features", "selectors", "tasks", "benchmark"}
OPTIONAL = {"matplotlib", "pandas", "polars", "pyarrow", "jax", "optax", "equinox", "xarray", "sklearn", "streamlit"}
OPTIONAL |= {"mpmath", "seaborn", "statsmodels", "KDEpy", "dask", "distributed", "zarr", "h5netcdf"}
OPTIONAL |= {"altair", "openpyxl", "PIL"}
# The rooms that exist for a library they need, and files and folders that do.
OPTIONAL_WHERE = {
    "training": {"jax", "optax", "equinox"},
    "integrations/sklearn.py": {"sklearn"},
    "integrations/xarray": {"xarray"},
    "app": {"streamlit", "altair", "pandas", "PIL"},
}

SOURCES = sorted(PACKAGE.rglob("*.py"))


def room_of(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def at_import(body):
    """Statements that run when a module is imported, in its attempts too."""
    for node in body:
        yield node
        if isinstance(node, ast.Try):
            yield from at_import(node.body)


def imported(tree, *, top_level=False):
    """Full dotted names of what a module imports."""
    for node in at_import(tree.body) if top_level else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms_imported(path):
    for name in imported(ast.parse(path.read_text())):
        parts = name.split(".")
        if parts[0] == "amortized_kde" and len(parts) > 1 and parts[1] in RANK:
            yield parts[1]


def test_every_room_has_a_rank():
    rooms = {room_of(path) for path in SOURCES} - {"__init__", "__main__"}
    assert rooms <= set(RANK), f"give {rooms - set(RANK)} a rank here and in docs/architecture.md"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_only_downward(path):
    room = room_of(path)
    if room in ("__init__", "__main__"):
        return
    for other in set(rooms_imported(path)) - {room}:
        assert RANK[other] < RANK[room] or (room, other) in NEIGHBOURS, f"{room} imports {other}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_compiler_has_one_door(path):
    tops = {name.split(".")[0] for name in imported(ast.parse(path.read_text()))}
    if path != PACKAGE / "numerics" / "jit.py":
        assert not tops & {"numba", "llvmlite"}
    if "amortized_kde.numerics.jit" in imported(ast.parse(path.read_text())):
        assert room_of(path) in COMPILED_ROOMS


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_optional_libraries_are_imported_where_they_are_used(path):
    tops = {name.split(".")[0] for name in imported(ast.parse(path.read_text()), top_level=True)}
    place = path.relative_to(PACKAGE)
    places = {room_of(path), place.as_posix(), place.parent.as_posix()}
    allowed = set().union(*(OPTIONAL_WHERE.get(place, set()) for place in places))
    assert not tops & (OPTIONAL - allowed)


def test_the_page_is_thin():
    """Streamlit is known only to what draws the page and keeps its state; what is read and computed can do without."""
    drawing = {"page", "state", "memory", "paste_box"}
    for path in (path for path in SOURCES if room_of(path) == "app"):
        tops = {name.split(".")[0] for name in imported(ast.parse(path.read_text()))}
        assert path.stem in drawing or path.stem.endswith("_view") or "streamlit" not in tops, path.name


def test_only_training_knows_jax():
    for path in SOURCES:
        tops = {name.split(".")[0] for name in imported(ast.parse(path.read_text()))}
        assert room_of(path) == "training" or not tops & {"jax", "optax", "equinox"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_public_name_exists(path):
    exported, defined = [], set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            defined.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            defined |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {leaf.id for target in targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)}
            defined |= names
            if "__all__" in names:
                exported = ast.literal_eval(node.value)
    assert set(exported) <= defined


IMPORT = """
import sys
import amortized_kde
import numba
loaded = {name.split(".")[0] for name in sys.modules} | {"scipy.stats"} & set(sys.modules)
unwanted = {"matplotlib", "pandas", "polars", "pyarrow", "jax", "xarray", "dask", "scipy.stats", "typer", "rich"}
print(sorted(loaded & (unwanted | {"sklearn", "seaborn", "statsmodels", "KDEpy"})))
modules = [module for name, module in sys.modules.items() if name.startswith("amortized_kde")]
compiled = [f for m in modules for f in vars(m).values() if isinstance(f, numba.core.dispatcher.Dispatcher)]
assert len(compiled) > 10
print([f.py_func.__name__ for f in compiled if f.signatures])
"""


def test_importing_compiles_nothing_and_loads_no_optional_library(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    output = subprocess.run(
        [sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True, env=environment
    ).stdout
    assert output.splitlines() == ["[]", "[]"]
    assert not list(tmp_path.rglob("*.nb*"))


def test_callables_for_hosts_do_not_load_their_hosts():
    code = "import sys, amortized_kde.integrations.scipy, amortized_kde.integrations.statsmodels; print(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not set(output.split()) & {"scipy.stats", "matplotlib", "pandas", "seaborn", "statsmodels", "sklearn"}
