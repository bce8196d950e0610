import ast
import textwrap

import pytest

import mutants

SOURCE = textwrap.dedent(
    '''
    """Words, 3."""

    LIMIT = 2.0


    def f(x: "int" = 1, flag: bool = True) -> float:
        """Return 5."""
        if x < LIMIT and flag:
            return max(x + 1, 3)
        return x
    '''
)


def changes(source):
    tree = ast.parse(source)
    return [mutants.with_change(source, node) for node in mutants.places(tree)]


def test_every_change_is_one_place_and_parses():
    found = {change: text for text, change in changes(SOURCE)}
    assert set(found) == {
        "2.0 -> (2.2)",
        "1 -> (2)",
        "True -> (False)",
        "x < LIMIT and flag -> (not (x < LIMIT and flag))",
        "x < LIMIT and flag -> (x < LIMIT or flag)",
        "x < LIMIT -> (x <= LIMIT)",
        "max -> (min)",
        "x + 1 -> (x - 1)",
        "3 -> (4)",
    }
    for text in found.values():
        ast.parse(text)
        assert '"""Words, 3."""' in text
        assert '"""Return 5."""' in text


@pytest.mark.parametrize(
    ("change", "given", "answer"), [("2.0 -> (2.2)", 2.1, 3.1), ("max -> (min)", 0, 1), ("3 -> (4)", 0, 4)]
)
def test_changed_sources_behave_differently(change, given, answer):
    (text,) = [text for text, what in changes(SOURCE) if what == change]
    original, mutant = {}, {}
    exec(SOURCE, original)
    exec(text, mutant)
    assert mutant["f"](given) == pytest.approx(answer)
    assert original["f"](given) != pytest.approx(answer)


def test_tests_of_the_module_kill(tmp_path):
    package = tmp_path / "src" / "numerics"
    (tmp_path / "src" / ".cache").mkdir(parents=True)
    tests = tmp_path / "tests" / "numerics"
    package.mkdir(parents=True)
    tests.mkdir(parents=True)
    (package / "thing.py").write_text("def f():\n    return 1\n")
    (tests / "test_thing.py").write_text("from numerics.thing import f\n\n\ndef test_f():\n    assert f() == 1\n")
    assert not mutants.is_killed(tmp_path, "numerics/thing.py", tmp_path / "src")
    (package / "thing.py").write_text("def f():\n    return 2\n")
    assert mutants.is_killed(tmp_path, "numerics/thing.py", tmp_path / "src")


def test_users_are_found_over_several_imports(tmp_path):
    package = tmp_path / "src" / "amortized_kde"
    (package / "part").mkdir(parents=True)
    (package / "__init__.py").write_text("from amortized_kde.part import a\n")
    (package / "part" / "__init__.py").write_text("")
    (package / "part" / "a.py").write_text("")
    (package / "part" / "b.py").write_text("from amortized_kde.part import (\n    a,\n)\n")
    (package / "part" / "c.py").write_text("import amortized_kde.part.b\n")
    (package / "part" / "d.py").write_text("import math\n")
    assert mutants.users_of("part/a.py", tmp_path) == {"a", "b", "c", "amortized_kde"}


def test_equivalent_mutants_do_not_count():
    rows = [
        dict(zip(mutants.COLUMNS, ("a.py", "1", "0", "1 -> (2)", verdict), strict=True))
        for verdict in ("killed", "killed", "survived", "equivalent")
    ]
    assert mutants.report(rows).splitlines() == ["2 of 3 mutants killed (66.7%); survivors:", "  a.py:1  1 -> (2)"]
