import numpy as np
import pytest

from amortized_kde.score import Mean, paired_difference
from contests.scores import mean_of_cells, verdict


def test_one_cell_is_the_plain_mean():
    scores, others = np.random.default_rng(1).normal(size=(2, 30))
    plain, cells = paired_difference(scores, others), mean_of_cells([scores - others])
    assert cells.value == pytest.approx(plain.value, abs=1e-12)
    assert cells.standard_error == pytest.approx(plain.standard_error, rel=1e-12)
    assert cells.count == 30


def test_cells_count_the_same_and_their_differences_are_no_noise():
    mean = mean_of_cells([np.full(5, 1.0), np.full(50, 3.0)])
    assert (mean.value, mean.standard_error) == (2.0, 0.0)


def test_standard_error_is_that_of_repetitions():
    rng = np.random.default_rng(2)
    repeated = [mean_of_cells([rng.normal(0, 1, 20), rng.normal(3, 2, 40)]) for _ in range(2000)]
    spread = np.std([mean.value for mean in repeated])
    assert np.mean([mean.standard_error for mean in repeated]) == pytest.approx(spread, rel=0.06)


def test_a_single_replicate_has_no_verdict_of_better():
    assert verdict(mean_of_cells([np.array([-1.0])])) == "worse"


def test_an_exact_tie_is_no_worse():
    assert verdict(Mean(0.0, 0.0, 3)) == "no worse"
