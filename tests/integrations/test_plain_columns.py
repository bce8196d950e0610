"""Long tables: Arrow, NumPy and the standard library give the same numbers and the same sentences."""

import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from amortized_kde.errors import AmortizedKdeError
from amortized_kde.integrations import table_formats
from amortized_kde.integrations.plain_columns import read_plain
from amortized_kde.integrations.table_formats import columns_of_text, rows_of_text

CELLS = (
    "1", "-2.5", "3e1", "+4", ".5", "5.", "1,5", "1.000,5", "1e-400", "1e400", "inf", "nan", "nan(1)", "NA", "", " ",
    " 7 ", '"8"', '"8,5"', '"a\nb"', '"\n1"', '""', '"a""b"', '"9"x', 'x"', ' "1;2"', "\ufeff1", "1_0", "0x1", "1 2",
    "١", "abc", "\x0b", "1\x0c", "1\x00", "\u2028", "#1", "True", "1d5",
)  # fmt: skip
PLAIN = st.floats(allow_nan=False, allow_infinity=False).map(repr)
TEXTS = st.tuples(
    st.sampled_from([",", ";", "\t", " ", ", ", "; "]),
    st.sampled_from(["\n", "\r\n", "\r", "\n\n"]),
    st.sampled_from([[], ["a", "b"], ["a", '"b\nc"'], ["a"], ["a", "b", "c"]]),
    st.lists(st.lists(st.one_of(PLAIN, PLAIN, st.sampled_from(CELLS)), min_size=1, max_size=3), max_size=5),
).map(lambda t: t[1].join(t[0].join(row) for row in [t[2], *t[3]] if row))


def outcome(text, chosen):
    """The columns, or the error."""
    try:
        columns, _ = rows_of_text(text, "a table", chosen)
    except AmortizedKdeError as error:
        return type(error), str(error)
    return [column.tolist() for column in columns]


@settings(max_examples=400, deadline=None)
@given(text=TEXTS, chosen=st.sampled_from([[0], [1], [1, 0], [0, 0]]))
@example(text='a,b\n1,"\n2,3"\n', chosen=[0])
@example(text="a,b,c\n1,2\n1,2,3,4\n", chosen=[0])
@example(text='a,b,c\n"1,2",3\n', chosen=[1])
@example(text='a,b,c\n1, "2,3",4\n', chosen=[1])
@example(text="a\n\ufeff1\n2\n", chosen=[0])
@example(text="a,b\n1,nan(1)\n2,3\n", chosen=[1])
@example(text="a;b\n1;1,5\n2;1,000\n", chosen=[1])
def test_three_readers_agree(text, chosen):
    try:
        width = len(columns_of_text(text, "a table").names)
    except AmortizedKdeError:
        width = 2
    chosen = [min(index, width - 1) for index in chosen]
    careful = outcome(text, chosen)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_formats, "_LONG", 0)
        assert repr(outcome(text, chosen)) == repr(careful)
        patch.setitem(sys.modules, "pyarrow", None)
        assert repr(outcome(text, chosen)) == repr(careful)


@pytest.fixture(params=["with Arrow", "without Arrow"])
def arrow(request, monkeypatch):
    if request.param == "with Arrow":
        pytest.importorskip("pyarrow")
    else:
        monkeypatch.setitem(sys.modules, "pyarrow", None)


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize(
    ("body", "delimiter", "width"),
    [
        ("x,1.5\ny,-2\n", ",", 2),
        ("x;1,5\ny;-2\n", ";", 2),
        ('"x",1.5\r\n"y","-2"\r\n', ",", 2),
        ("x 1.5\n y  -2 \n", None, 2),
        ("\nx\t1.5\n\ny\t-2", "\t", 2),
    ],
)
def test_plain_columns_are_read(body, delimiter, width):
    assert read_plain(body, [1, 1], delimiter, width)[1].tolist() == [1.5, -2.0]


@pytest.mark.usefixtures("arrow")
@pytest.mark.parametrize("cell", ["", "NA", "nan", "inf", "1e301", "abc", "1,2", "1_0", "0x1", '"1\n"'])
def test_whatever_is_not_plain_is_left_to_others(cell):
    assert read_plain(f"1,2\n3,{cell}\n", [0, 1], ",", 2) is None


@pytest.mark.usefixtures("arrow")
def test_lines_longer_than_the_standard_library_reads():
    assert read_plain("1,2\n" + "x" * 140_000 + ",2\n", [1], ",", 2) is None
    assert np.array_equal(read_plain("1,2\n" * 50_000, [1], ",", 2)[0], np.full(50_000, 2.0))
