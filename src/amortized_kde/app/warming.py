"""What is done before the first visitor comes: loops are compiled or loaded, and models read."""

import numpy as np

from amortized_kde.app.comparing import DEFAULT_METHODS, compare, find_modes, fit_methods, how_unlike
from amortized_kde.app.curves import compute_drawing

# A small sample, and one that is large enough for the other way to sum its kernels.
_SIZES = (50, 10_000)


def warm_up() -> None:
    """Do once, for samples of nobody's, what the page does for each."""
    for size in _SIZES:
        points = np.sort(np.random.default_rng(1).normal(size=size))
        for bounds in ((None, None), (-10.0, None)):
            fitted = fit_methods(points, DEFAULT_METHODS[:1], bounds)
            densities = {one.method: one.density for one in fitted if one.density is not None}
            compute_drawing(densities, points, bounds, name="")
            for density in densities.values():
                find_modes(density)
            how_unlike(points, bounds)
    compare(points[:50], DEFAULT_METHODS, (None, None))
