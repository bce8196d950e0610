"""Units, percent and currency signs beside numbers: left out where all numbers have one, else named."""

import pytest

from amortized_kde.app.columns import read_choice
from amortized_kde.app.pasted import read_pasted
from amortized_kde.app.tables import open_text
from amortized_kde.app.units import remove_units, units_of
from amortized_kde.errors import InvalidSampleError

READ = {
    "12 kg, 13 kg": ([12.0, 13.0], "kg"),
    "12kg,13kg": ([12.0, 13.0], "kg"),
    "12 kg\n13 kg\n": ([12.0, 13.0], "kg"),
    "12,5 km/h; 13,25 km/h": ([12.5, 13.25], "km/h"),
    "20.5°C\n-3°C": ([20.5, -3.0], "°C"),
    "5 m², 6 m²": ([5.0, 6.0], "m²"),
    "1e5 Pa 2e5 Pa": ([1e5, 2e5], "Pa"),
    "45%\n50 %\n55 %": ([45.0, 50.0, 55.0], "%"),
    "$1,234.50\n$2,000.00": ([1234.5, 2000.0], "$"),
    "-$5, $6": ([-5.0, 6.0], "$"),
    "US$5 US$7": ([5.0, 7.0], "US$"),
    "1.234,50 €\n2.000,10 €": ([1234.5, 2000.1], "€"),
    "EUR 12 EUR 13": ([12.0, 13.0], "EUR"),
    "12 EUR 13 EUR": ([12.0, 13.0], "EUR"),
}


@pytest.mark.parametrize(("text", "found"), READ.items())
def test_numbers_with_a_unit(text, found):
    table = open_text(text, "the text")
    choice = read_choice(table, table.first)
    assert (choice.values.tolist(), choice.name) == (found[0], f"value ({found[1]})")
    assert choice.remarks[-1] == f"in {found[1]}"


def test_missing_values_are_no_units():
    assert units_of("1 NA 2 inf 3 n/a") == ["", "", ""]
    assert read_pasted("45 % NA 50 %").numbers.tolist()[::2] == [45.0, 50.0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    {
        "12 kg, 13 g": "the numbers have different units, 'kg' and 'g'; convert them to one unit",
        "12 kg, 5 m\n13 kg, 6 m": "different units, 'kg' and 'm'",
        "$5 €6": "different units",
        "12 kg 13 kg 14": "2 of 3 numbers have the unit 'kg'; write it after all or none",
        "1 2 3 mg": "'mg' is not a number",
        "1,234 kg\n5,678 kg": "may have a decimal comma",
        "0x1F 0x2A": "'0x1F' is not a number",
        "1kg2 3kg4": "'1kg2' is not a number",
    }.items(),
)
def test_units_that_do_not_agree(text, sentence):
    with pytest.raises(InvalidSampleError, match=sentence.replace("'", ".")):
        open_text(text, "the text")


def test_plain_numbers_are_left_as_they_are():
    assert remove_units("1, 2.5; -3e5") == ("1, 2.5; -3e5", "")


def test_columns_with_units():
    table = open_text('who,price,size\nann,"$1,200",3 m\nbob,$900,NA\n', "the text")
    assert table.units == {1: "$", 2: "m"}
    assert table.numeric == (1, 2)
    price, size = read_choice(table, 1), read_choice(table, 2)
    assert (price.name, price.values.tolist()) == ("price ($)", [1200.0, 900.0])
    assert (size.name, size.values.tolist()) == ("size (m)", [3.0])


def test_a_header_that_looks_like_a_quantity_is_a_header():
    table = open_text("2019 total,2020 total\n5,6\n7,8\n", "the text")
    assert table.names == ("2019 total", "2020 total")


def test_a_cell_without_a_number_in_a_column_with_units_is_named():
    table = open_text("w\n" + "12 kg\n" * 20_000 + "oops\n", "the text")
    with pytest.raises(InvalidSampleError, match="line 20002: 'oops' is not a number"):
        read_choice(table, 0)
