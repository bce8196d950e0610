"""The guide of a mixture's draws against the plain search."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from amortized_kde.numerics.jit import entry
from amortized_kde.research.tasks.sampling import _component_of, _fill_guide

shares = st.lists(st.sampled_from([0.0, 1e-17, 0.01, 1 / 3, 1.0, 7.0]), min_size=1, max_size=40).filter(any)


@entry
def fill_guide(guide, weights):
    _fill_guide(guide, weights)


@entry
def component_of(u, weights):
    return _component_of(u, weights)


@given(
    shares=shares, places=st.lists(st.floats(0.0, 1.0, exclude_max=True), min_size=1), cells=st.sampled_from([2, 256])
)
def test_a_guide_names_the_component_that_a_search_finds(shares, places, cells):
    weights = np.array(shares) / np.sum(shares)
    guide = np.empty(cells, np.int64)
    fill_guide(guide, weights)
    for cell in np.flatnonzero(guide >= 0):
        edges = [cell / cells, np.nextafter((cell + 1) / cells, 0.0)]
        for u in [*edges, *((cell + place) / cells for place in places)]:
            assert component_of(u, weights) == guide[cell]
    assert (guide < 0).sum() <= len(weights)
