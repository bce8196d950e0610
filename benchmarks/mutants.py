"""Change the numerics and the learned path at random places, one at a time, and count the changes that tests notice.

    python benchmarks/mutants.py [--mutants 200] [--seed 1] [--out results]

A mutant has one operator, comparison or constant changed: + for -, < for <=, `and` for `or`, max for min, a number that
is 10 % or 1 larger, a condition negated. The tests of its package run against a copy of the sources, first those of its
module, until one fails. A mutant that hangs is killed too. Every verdict is written at once to mutants.csv, so that a
stopped run continues. Survivors that cannot be told from the original by any test are listed in `EQUIVALENT` with the
reason; they do not count.
"""

import argparse
import ast
import copy
import csv
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.progress import track

from amortized_kde.research.provenance import record_files

# The tests of each package; golden answers are those of the learned path.
PACKAGES = {"numerics": ("tests/numerics",), "learned": ("tests/test_golden.py", "tests/learned")}
# Seconds after which the tests of a mutant hang.
PATIENCE = 900.0
COLUMNS = ("file", "line", "column", "change", "verdict")
# By file and change: why no test can see it.
EQUIVALENT: dict[tuple[str, str], str] = {
    ("numerics/crps.py", "x >= bounds[1] -> (x > bounds[1])"): "No node of a panel lies at a bound.",
    ("numerics/crps.py", "epsilon > 0.0 -> (epsilon >= 0.0)"): "Adds zero times a probability.",
    ("numerics/mixture.py", "2.0 -> (2.2)"): "A wider window adds terms below 1e-17 of the sum.",
    ("numerics/mixture.py", "upper < math.inf -> (upper <= math.inf)"): "All mass is inside infinite bounds.",
    ("numerics/mixture.py", "lower > -math.inf -> (lower >= -math.inf)"): "All mass is inside infinite bounds.",
    ("numerics/statistics.py", "part > 0.0 -> (part >= 0.0)"): "Adds zero.",
    ("numerics/tails.py", "width * np.maximum(1.0, -u) < 0.1 -> (width * np.maximum(1.0, -u) <= 0.1)"): (
        "Both formulas hold at the border."
    ),
    ("numerics/tails.py", "x - lowest -> (x + lowest)"): "Another way to the same quantile: bisection holds it.",
    ("numerics/tails.py", "5 -> (6)"): "A node more is at least as accurate.",
    ("numerics/tails.py", "1.0 + _NODES -> (1.0 - _NODES)"): "The nodes are symmetric.",
    ("numerics/tails.py", "np.minimum -> (np.maximum)"): "Adds kernels without mass.",
    ("numerics/cells.py", "total > _SAFE_SUM -> (total >= _SAFE_SUM)"): "Both sums hold at the border.",
    ("numerics/neighbours.py", "max -> (min)"): "A smaller gap adds rungs whose kernels are 0.",
    ("numerics/neighbours.py", "7 -> (8)"): "exp(-128) and exp(-512) are 0 beside 1.",
    ("numerics/ladders.py", "near * out.rates[j] >= _FAR_INSIDE -> (near * out.rates[j] > _FAR_INSIDE)"): (
        "All mass is inside at the border, to the last bit."
    ),
    ("learned/adaptive/features.py", "1.0 -> (1.1)"): "No sample has fewer than two values.",
    ("learned/adaptive/prediction.py", "1.0 -> (1.1)"): "No sample has fewer than two values.",
    ("learned/adaptive/prediction.py", "1 -> (2)"): "The number of threads changes no bit.",
    ("learned/adaptive/prediction.py", "5_000 -> (5001)"): "How samples are cut into runs changes no bit.",
    ("learned/adaptive/prediction.py", "anchors.size < n -> (anchors.size <= n)"): "Interpolates each place at itself.",
    ("learned/adaptive/prediction.py", "size_ratio > 1.0 -> (size_ratio >= 1.0)"): "At 1 nothing is corrected.",
    ("learned/cards.py", "1 -> (2)"): "One byte above the limit is enough to see it, and so are two.",
    ("numerics/gather.py", "z - a -> (z + a)"): "Keeps entries as they are, or gathers them: the same sums.",
}

_OTHER_OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult}
_OTHER_COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq}
_OTHER_NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}


def mutated(node: ast.AST) -> ast.AST | None:
    """Return a changed copy of a node of the syntax tree, None if it is of no kind that is changed."""
    changed = copy.deepcopy(node)
    match changed:
        case ast.BinOp(op=op) if type(op) in _OTHER_OPERATORS:
            changed.op = _OTHER_OPERATORS[type(op)]()
        case ast.Compare(ops=[op]) if type(op) in _OTHER_COMPARISONS:
            changed.ops = [_OTHER_COMPARISONS[type(op)]()]
        case ast.BoolOp(op=op):
            changed.op = ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.Constant(value=bool(value)):
            changed.value = not value
        case ast.Constant(value=int(value)):
            changed.value = value + 1
        case ast.Constant(value=float(value)):
            changed.value = 1.1 * value if value else 1.0
        case ast.Name(id=name) if name in _OTHER_NAMES:
            changed.id = _OTHER_NAMES[name]
        case ast.Attribute(attr=name) if name in _OTHER_NAMES:
            changed.attr = _OTHER_NAMES[name]
        case ast.If(test=test):
            changed.test = ast.UnaryOp(ast.Not(), test)
        case _:
            return None
    return ast.fix_missing_locations(changed)


def places(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes inside functions and constants of a module that can be changed; neither types nor docstrings."""
    for statement in tree.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom, ast.Expr)):
            continue
        yield from _below(statement)


def _below(node: ast.AST) -> Iterator[ast.AST]:
    if mutated(node) is not None:
        yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "keywords"):
            continue
        for child in value if isinstance(value, list) else [value]:
            docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if isinstance(child, ast.AST) and not docstring:
                yield from _below(child)


def with_change(source: str, node: ast.AST) -> tuple[str, str]:
    """Return the source with one node changed, and the change in words."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    text = source.encode()
    begin = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
    end = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
    target: ast.AST = node
    if isinstance(node, ast.If):
        target = node.test
        begin = starts[target.lineno - 1] + target.col_offset
        end = starts[target.end_lineno - 1] + target.end_col_offset
    new = mutated(node)
    assert new is not None
    written = f"({ast.unparse(new.test if isinstance(new, ast.If) else new)})"
    old = " ".join(text[begin:end].decode().split())
    return (text[:begin] + written.encode() + text[end:]).decode(), f"{old} -> {written}"


def users_of(file: str, root: Path) -> set[str]:
    """Return the modules that import a file, directly or not, and its own, by the last parts of their names."""
    imports = {
        _module(path.relative_to(root / "src")): set(_imported(ast.parse(path.read_text(encoding="utf-8"))))
        for path in (root / "src/amortized_kde").rglob("*.py")
    }
    found = {_module(Path("amortized_kde", file))}
    while more := {name for name, names in imports.items() if name not in found and names & found}:
        found |= more
    return {name.rpartition(".")[2] for name in found}


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the names of modules that a module imports, and those of what it imports from them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_killed(root: Path, file: str, folder: Path) -> bool:
    """Return whether the tests of a module, or then those of its package, fail on the sources in a folder."""
    part = Path(file).parts[0]
    mirror = Path("tests", *Path(file).parts[:-1], f"test_{Path(file).name}")
    tests = [str(mirror)] if (root / mirror).exists() else []
    with tempfile.TemporaryDirectory() as cache:
        # A cached loop does not notice that a function compiled into it was changed.
        stale = tuple(f"{stem}." for stem in users_of(file, root))
        shutil.copytree(
            folder / ".cache",
            cache,
            ignore=lambda _, names: [name for name in names if name.startswith(stale)],
            dirs_exist_ok=True,
        )
        return any(_fails(root, which, folder, cache) for which in [*tests, *PACKAGES[part]])


def _fails(root: Path, tests: str, folder: Path, cache: str | Path) -> bool:
    """Run tests on the sources in a folder until one fails."""
    storage = {"NUMBA_CACHE_DIR": str(cache), "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / ".hypothesis")}
    environment = {**os.environ, **storage, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", tests]
    try:
        return subprocess.run(command, cwd=root, env=environment, capture_output=True, timeout=PATIENCE).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def chosen(root: Path, count: int, seed: int) -> list[tuple[str, ast.AST]]:
    """Return files and nodes to change, half of them in each package."""
    found: list[tuple[str, ast.AST]] = []
    generator = random.Random(seed)
    for package in PACKAGES:
        nodes = [
            (str(path.relative_to(root / "src/amortized_kde")), node)
            for path in sorted((root / "src/amortized_kde" / package).rglob("*.py"))
            for node in places(ast.parse(path.read_text(encoding="utf-8")))
        ]
        found += generator.sample(nodes, min(count // len(PACKAGES), len(nodes)))
    return found


def report(rows: list[dict[str, str]]) -> str:
    """Return the counts in words, and the survivors."""
    counted = [row for row in rows if row["verdict"] != "equivalent"]
    killed = [row for row in counted if row["verdict"] == "killed"]
    lines = [f"{len(killed)} of {len(counted)} mutants killed ({len(killed) / max(len(counted), 1):.1%}); survivors:"]
    lines += [f"  {row['file']}:{row['line']}  {row['change']}" for row in counted if row["verdict"] != "killed"]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    root, out = Path(__file__).parents[1], options.out / "mutants.csv"
    verdicts = {tuple(row.values())[:-1]: row["verdict"] for row in _rows(out)}
    mutants = {_key(root, file, node): node for file, node in chosen(root, options.mutants, options.seed)}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "src")
        shutil.copytree(root / "src", folder, ignore=shutil.ignore_patterns("__pycache__", "*.nb[ic]"))
        left = [key for key in mutants if key not in verdicts]
        if left and any(_fails(root, tests, folder, folder / ".cache") for part in PACKAGES.values() for tests in part):
            sys.exit("the tests fail without a change.")
        for key in track(left, description="mutants"):
            verdicts[key] = "killed" if _dies(root, key[0], mutants[key], folder) else "survived"
            _write(out, verdicts)
    for key in mutants:
        if verdicts[key] == "survived" and (key[0], key[-1]) in EQUIVALENT:
            verdicts[key] = "equivalent"
    _write(out, {key: verdicts[key] for key in mutants})
    record_files(options.out, [out.name], {})
    print(report(_rows(out)))


def _key(root: Path, file: str, node: ast.AST) -> tuple[str, ...]:
    source = (root / "src/amortized_kde" / file).read_text(encoding="utf-8")
    return file, str(node.lineno), str(node.col_offset), with_change(source, node)[1]  # type: ignore[attr-defined]


def _dies(root: Path, file: str, node: ast.AST, folder: Path) -> bool:
    """Change a file in a folder, run its tests, and change it back, with its time, which compiled loops are kept by."""
    target = folder / "amortized_kde" / file
    source, times = target.read_text(encoding="utf-8"), target.stat()
    target.write_text(with_change(source, node)[0], encoding="utf-8")
    try:
        return is_killed(root, file, folder)
    finally:
        target.write_text(source, encoding="utf-8")
        os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _write(path: Path, verdicts: dict[tuple[str, ...], str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *((*key, said) for key, said in verdicts.items())])


if __name__ == "__main__":
    main()
