from itertools import pairwise

import numpy as np
import pytest
from scipy.signal import find_peaks, peak_prominences

from amortized_kde.density.extrema import prominences


@pytest.mark.parametrize("seed", range(20))
def test_prominences_are_scipys(seed):
    heights = np.random.default_rng(seed).random(60)
    heights[[0, -1]] = 0.0
    peaks, _ = find_peaks(heights)
    valleys = np.array([heights[i:j].min() for i, j in pairwise(peaks)])
    np.testing.assert_allclose(prominences(heights[peaks], valleys), peak_prominences(heights, peaks)[0], atol=1e-15)


def test_the_first_of_equal_peaks_is_the_highest():
    found = prominences(np.array([1.0, 1.0 + 1e-15, 1.0]), np.array([0.25, 0.5]))
    np.testing.assert_allclose(found, [1.0, 0.75, 0.5], rtol=1e-14)
