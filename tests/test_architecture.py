"""The import rule (docs/architecture.md), read from the sources."""

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import amortized_kde

PACKAGE = Path(amortized_kde.__file__).parent

# Each entry imports only what stands before it; `research` imports the library, and only `cli` imports `research`.
ORDER = (
    *("errors", "_types", "_outcome", "_files", "numerics", "data", "density", "learned", "selection", "score"),
    *("estimate", "_compare", "ensembles", "integrations", "app", "research", "cli", "__main__"),
)
# Parts with compiled loops; the decorators themselves are in numerics/jit.py, the compiler in numerics/compiler.py.
COMPILED = {"numerics", "data", "selection", "research"}
LIBRARY = ORDER[: ORDER.index("app")]

OPTIONAL = {"matplotlib", "pandas", "polars", "pyarrow", "jax", "optax", "equinox", "xarray", "sklearn", "streamlit"}
OPTIONAL |= {"mpmath", "seaborn", "statsmodels", "KDEpy", "dask", "distributed", "zarr", "h5netcdf"}
OPTIONAL |= {"altair", "openpyxl", "PIL"}
# Files and folders that exist for a library that they need.
OPTIONAL_WHERE = {
    "research/training": {"jax", "optax", "equinox"},
    "integrations/sklearn.py": {"sklearn"},
    "integrations/xarray": {"xarray"},
    "app": {"streamlit", "altair", "pandas", "PIL"},
}

SOURCES = sorted(PACKAGE.rglob("*.py"))


def part_of(path):
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


def parts_imported(path):
    """First names below the package of what a file imports from it."""
    names = (name.split(".") for name in imported(ast.parse(path.read_text())))
    return {name[1] for name in names if name[0] == "amortized_kde" and len(name) > 1 and name[1] in ORDER}


def test_every_part_has_a_place():
    parts = {part_of(path) for path in SOURCES} - {"__init__"}
    assert parts == set(ORDER), "give new parts a place in ORDER and in docs/architecture.md"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_one_way(path):
    part = part_of(path)
    if part == "__init__":
        return
    allowed = LIBRARY if part == "research" else ORDER[: ORDER.index(part)]
    assert parts_imported(path) <= {*allowed, part}


def test_nothing_imports_the_benchmarks():
    for path in SOURCES:
        assert not {name.split(".")[0] for name in imported(ast.parse(path.read_text()))} & {"benchmarks", "contests"}


def test_every_module_is_used_by_the_package():
    """The wheel has no file that only scripts of the repository use."""
    modules = {".".join(("amortized_kde", *path.relative_to(PACKAGE).with_suffix("").parts)): path for path in SOURCES}
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    # Streamlit runs the page by its path; integrations are imported by users.
    reached = {"amortized_kde", "amortized_kde.__main__", "amortized_kde.cli.__main__", "amortized_kde.app.page"}
    reached |= {name for name in modules if name.startswith("amortized_kde.integrations")}
    waiting = list(reached)
    while waiting:
        for name in imported(ast.parse(modules[waiting.pop()].read_text())):
            parts = name.split(".")
            found = {".".join(parts[:k]) for k in range(1, len(parts) + 1)} & set(modules) - reached
            reached |= found
            waiting += found
    assert reached == set(modules)


def test_research_is_imported_when_a_command_needs_it():
    for path in SOURCES:
        if part_of(path) == "cli":
            names = imported(ast.parse(path.read_text()), top_level=True)
            assert not any(name.startswith("amortized_kde.research") for name in names), path.name


def test_no_module_has_the_name_of_a_public_function():
    public = {name for name in amortized_kde.__all__ if inspect.isfunction(getattr(amortized_kde, name))}
    assert not public & {part_of(path) for path in SOURCES}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_compiler_has_one_door(path):
    tops = {name.split(".")[0] for name in imported(ast.parse(path.read_text()))}
    assert path == PACKAGE / "numerics" / "compiler.py" or not tops & {"numba", "llvmlite"}
    if "amortized_kde.numerics.jit" in imported(ast.parse(path.read_text())):
        assert part_of(path) in COMPILED


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_optional_libraries_are_imported_where_they_are_used(path):
    tops = {name.split(".")[0] for name in imported(ast.parse(path.read_text()), top_level=True)}
    place = path.relative_to(PACKAGE)
    places = {place.as_posix(), *(folder.as_posix() for folder in place.parents)}
    allowed = set().union(*(OPTIONAL_WHERE.get(place, set()) for place in places))
    assert not tops & (OPTIONAL - allowed)


def test_the_page_is_thin():
    """Only what serves and draws the page and keeps its state knows Streamlit; what is read and computed does not."""
    drawing = {"page", "server", "state"}
    for path in (path for path in SOURCES if part_of(path) == "app"):
        tops = {name.split(".")[0] for name in imported(ast.parse(path.read_text()))}
        assert path.stem in drawing or path.stem.endswith("_view") or "streamlit" not in tops, path.name


def test_only_training_knows_jax():
    for path in SOURCES:
        tops = {name.split(".")[0] for name in imported(ast.parse(path.read_text()))}
        assert PACKAGE / "research" / "training" in path.parents or not tops & {"jax", "optax", "equinox"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_public_name_exists(path):
    exported, defined = [], set()
    body = ast.parse(path.read_text()).body
    # Names for type checkers are imported when they are used.
    for node in [*body, *(inner for part in body if isinstance(part, ast.If) for inner in part.body)]:
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
from amortized_kde.numerics.jit import Loop
loaded = {name.split(".")[0] for name in sys.modules} | {"scipy.stats"} & set(sys.modules)
unwanted = {"matplotlib", "pandas", "polars", "pyarrow", "jax", "xarray", "dask", "scipy.stats", "typer", "rich"}
print(sorted(loaded & (unwanted | {"sklearn", "seaborn", "statsmodels", "KDEpy", "numba", "llvmlite"})))
modules = [module for name, module in sys.modules.items() if name.startswith("amortized_kde")]
assert len([f for m in modules for f in vars(m).values() if isinstance(f, Loop)]) > 10
"""


def test_importing_compiles_nothing_and_loads_no_optional_library(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    output = subprocess.run(
        [sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True, env=environment
    ).stdout
    assert output.splitlines() == ["[]"]
    assert not list(tmp_path.rglob("*.nb*"))


def test_callables_for_hosts_do_not_load_their_hosts():
    code = "import sys, amortized_kde.integrations.scipy, amortized_kde.integrations.statsmodels; print(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not set(output.split()) & {"scipy.stats", "matplotlib", "pandas", "seaborn", "statsmodels", "sklearn"}
