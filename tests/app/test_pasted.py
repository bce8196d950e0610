"""Numbers as people paste them: every usual form, and what is said where it is not clear."""

import contextlib
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amortized_kde.app.pasted import Comma, is_number, read_pasted
from amortized_kde.errors import InvalidSampleError

FORMS = {
    "lines": "1.5\n-2\n30",
    "windows lines": "1.5\r\n-2\r\n30\r\n",
    "commas": "1.5,-2,30",
    "commas and blanks": "1.5, -2, 30",
    "commas and lines": "1.5,\n-2,\n30,",
    "tabs": "1.5\t-2\t30",
    "blanks": "  1.5 -2   30 ",
    "semicolons": "1.5;-2;30",
    "empty cells": "1.5;;-2;;30;",
    "decimal commas, lines": "1,5\n-2\n30,0",
    "decimal commas, semicolons": "1,5; -2,0; 30",
    "decimal commas, tabs": "1,5\t-2,0\t30",
    "decimal commas, blanks": "1,5 -2,0 30",
    "decimal commas and commas": "1,5, -2,0, 30,0",
    "exponents": "15e-1 -2E0 .3e2",
    "decimal comma and exponent": "15,0e-1 -2 3,0E+1",
    "a typesetter's minus": "1.5 \u22122 30",
    "Python list": "[1.5, -2, 30]",
    "Python array": "array([ 1.5,\n       -2. , 30. ])",
    "R vector": "c(1.5, -2, 30)",
    "R's print": "[1]  1.5 -2.0\n[3] 30.0",
    "quoted": '"1.5"\n"-2"\n"30"',
    "byte order mark": "\ufeff1.5\n-2\n30",
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_every_form_gives_the_same_numbers(text):
    assert read_pasted(text).numbers.tolist() == [1.5, -2.0, 30.0]


SAID = {
    "1\n2\n3": "3 numbers, one per line",
    "1, 2, 3": "3 numbers, separated by commas",
    "1\t2": "2 numbers, separated by tabs",
    "1 2": "2 numbers, separated by spaces",
    "1;2\t3": "3 numbers, separated by tabs and semicolons",
    "1,5\n2,5": "2 numbers, one per line with decimal commas",
    "1.234,5 2": "2 numbers, separated by spaces with decimal commas and points between thousands",
    "1,234.5\n2": "2 numbers, one per line with commas between thousands",
    "7": "1 number",
}


@pytest.mark.parametrize(("text", "sentence"), SAID.items())
def test_what_was_recognised_is_said(text, sentence):
    assert " ".join(read_pasted(text).remarks) == sentence


THOUSANDS = {
    "1,234.5 1,000,000.25": [1234.5, 1000000.25],
    "1.234,5 1.000.000,25": [1234.5, 1000000.25],
    "1\u202f234,5 1\u00a0000\u00a0000,25": [1234.5, 1000000.25],
    "1'234.5 1\u2019000\u2019000.25": [1234.5, 1000000.25],
}


@pytest.mark.parametrize(("text", "numbers"), THOUSANDS.items())
def test_thousands(text, numbers):
    assert read_pasted(text).numbers.tolist() == numbers


@pytest.mark.parametrize("text", ["1,234\n5,678", "1,234 12", "100,200,300\n400,500,600"])
def test_a_comma_that_may_mean_two_things_is_asked_about(text):
    with pytest.raises(InvalidSampleError, match="may have a decimal comma, or a comma that separates"):
        read_pasted(text)


def test_the_answer_to_that_question():
    text = "1,234\n5,678"
    assert read_pasted(text, Comma.decimal).numbers.tolist() == [1.234, 5.678]
    assert read_pasted(text, Comma.thousands).numbers.tolist() == [1234.0, 5678.0]
    assert read_pasted(text, Comma.separator).numbers.tolist() == [1.0, 234.0, 5.0, 678.0]


def test_no_decimal_comma_is_seen_where_points_are():
    assert read_pasted("0.5,1\n0.7,2").numbers.tolist() == [0.5, 1.0, 0.7, 2.0]
    assert read_pasted("1,5 2.25").numbers.tolist() == [1.0, 5.0, 2.25]


@pytest.mark.parametrize("token", ["NA", "nan", "null", "N/A", "None"])
def test_missing_values_keep_their_place(token):
    assert np.isnan(read_pasted(f"1 {token} 3").numbers).tolist() == [False, True, False]


def test_lines_of_equal_length_are_columns():
    assert read_pasted("1 2 3\n4 5 6").across == 3
    assert read_pasted("1,5\t2\n3\t4").across == 2
    for text in ("1 2 3\n4 5", "1 2 3", "1\n2\n3", "1 2\n3\n4 5 6"):
        assert read_pasted(text).across == 1


WRONG = {
    "": "there are no numbers in it yet",
    " \n ;": "there are no numbers in it yet",
    "abc": "line 1: 'abc' is not a number",
    "1\n2\n3 mg": "line 3: 'mg' is not a number",
    "1_000 2": "line 1: '1_000' is not a number",
    "1\ninf": "line 2: 'inf' is not within",
    "1\n-1e301": "line 2: '-1e301' is not within",
    "1 " + "x" * 99: r"line 1: 'x{37}\.\.\.' is not a number",
    "1\n__import__('os')": "is not a number",
}


@pytest.mark.parametrize(("text", "sentence"), WRONG.items())
def test_what_is_wrong_is_said(text, sentence):
    with pytest.raises(InvalidSampleError, match=sentence) as caught:
        read_pasted(text)
    assert "\n" not in str(caught.value)


def test_a_mistake_far_down_is_found():
    text = "\n".join(["1.5"] * 50_000 + ["oops"])
    with pytest.raises(InvalidSampleError, match="line 50001: 'oops'"):
        read_pasted(text)


def test_decimal_commas_far_down_are_seen():
    text = "\n".join(["1"] * 100_000 + ["2,5"] * 3)
    assert read_pasted(text).numbers[-1] == 2.5


NUMBERS = st.lists(st.floats(-1e9, 1e9).map(lambda x: round(x, 4)), min_size=2, max_size=30)
SEPARATORS = st.sampled_from(["\n", "\t", " ", ";", "; ", "\r\n"])


@given(numbers=NUMBERS, separator=SEPARATORS)
def test_points_are_read_back(numbers, separator):
    assert read_pasted(separator.join(map(repr, numbers))).numbers.tolist() == numbers


@given(numbers=NUMBERS, separator=st.sampled_from([",", ", ", ",\n"]))
def test_commas_between_points_are_read_back(numbers, separator):
    # Always with a point and at least two digits behind it: no comma in between can belong to a number.
    text = separator.join(f"{number:.4f}" for number in numbers)
    assert read_pasted(text).numbers.tolist() == numbers


@given(numbers=NUMBERS, separator=SEPARATORS)
def test_decimal_commas_are_read_back(numbers, separator):
    # Four digits behind the comma are no thousands.
    text = separator.join(f"{number:.4f}".replace(".", ",") for number in numbers)
    assert read_pasted(text).numbers.tolist() == numbers


@example(numbers=[0.0, 1000.0], separator="\n", english=True)
@given(numbers=NUMBERS, separator=SEPARATORS, english=st.booleans())
def test_thousands_are_read_back(numbers, separator, english):
    words = [f"{number:,.4f}" for number in numbers]
    if not english:
        words = [word.translate(str.maketrans(",.", ".,")) for word in words]
    assert read_pasted(separator.join(words)).numbers.tolist() == numbers


@given(st.text(max_size=60))
def test_any_text_gives_numbers_or_a_sentence(text):
    with contextlib.suppress(InvalidSampleError):
        found = read_pasted(text)
        assert found.numbers.size > 0
        assert not np.any(np.abs(found.numbers) > 1e300)


def test_words_and_numbers():
    for word in ("1", "-1.5e3", "1,5", "1.234,5", "1,234.5", "NA", "", "\u22122", "[3]", '"4"'):
        assert is_number(word), word
    for word in ("x", "3mg", "1_0", "v1", "2024-01-01", "=A1"):
        assert not is_number(word), word
    assert math.isnan(read_pasted("NA 1").numbers[0])
