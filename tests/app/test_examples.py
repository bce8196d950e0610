"""The samples that come with the page."""

from pathlib import Path

import numpy as np
import pytest

import amortized_kde.app
from amortized_kde.app.columns import MOST_VALUES
from amortized_kde.app.comparing import check_spread, fit_method
from amortized_kde.app.examples import EXAMPLES
from amortized_kde.data.reading import read_sample

DATA, EXAMPLES_FOLDER = Path(amortized_kde.app.__file__).parent / "data", Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_can_be_shown(name):
    values, bounds = EXAMPLES[name].values(), EXAMPLES[name].bounds
    check_spread(values)
    assert values.size <= MOST_VALUES
    assert np.array_equal(values, EXAMPLES[name].values())
    fitted = fit_method(read_sample(values), "silverman", bounds)
    assert fitted.density is not None


@pytest.mark.parametrize("file", ["faithful.csv", "galaxies.csv"])
def test_the_files_are_those_of_the_repository(file):
    assert (DATA / file).read_bytes() == (EXAMPLES_FOLDER / file).read_bytes()
