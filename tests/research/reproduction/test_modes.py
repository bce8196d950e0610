"""The mode diagnostic: known shapes, scipy as the twin, and the paper's Table 2."""

import csv

import numpy as np
import pytest
from scipy.signal import find_peaks

from amortized_kde.errors import InvalidParameterError
from amortized_kde.research.reproduction.modes import (
    PAPER_MODES,
    PROMINENCES,
    count_modes,
    mode_table,
    render_modes,
    reproduce_modes,
)
from amortized_kde.research.tasks import MixtureWorld

X = np.linspace(-1.0, 1.0, 2001)


def bumps(*centres, width=0.05):
    return sum(np.exp(-0.5 * ((X - centre) / width) ** 2) for centre in centres)


@pytest.mark.parametrize(
    ("density", "modes"),
    [
        (np.ones(X.size), 1),
        (X + 1.0, 1),
        (np.abs(X), 2),
        (bumps(0.0), 1),
        (bumps(-0.5, 0.5), 2),
        (bumps(-0.5) + 0.021 * bumps(0.5), 2),
        (bumps(-0.5) + 0.019 * bumps(0.5), 1),
        (bumps(-1.0, 0.0, 1.0), 3),
        (bumps(0.99, width=0.4), 1),
    ],
)
def test_known_shapes(density, modes):
    assert count_modes(density[None]).tolist() == [modes]


def test_the_fall_beyond_an_end_may_count():
    # The density falls from 1 only to 0.995 before the interval ends.
    density = (bumps(-0.5) + bumps(0.995))[None]
    assert count_modes(density).tolist() == [1]
    assert count_modes(density, falls_outside=True).tolist() == [2]


@pytest.mark.parametrize("relative_to", PROMINENCES)
def test_scipy_finds_the_same_modes(relative_to):
    densities = MixtureWorld(16).truths(300, seed=12).pdf(X)
    expected = []
    for f in densities:
        # Higher ground beyond the ends would hide boundary modes; these densities rise from both ends.
        assert f[1] > f[0]
        assert f[-2] > f[-1]
        peaks, found = find_peaks(f, prominence=0.0)
        least = 0.02 * PROMINENCES[relative_to](f, f[peaks])
        expected.append(max(1, np.count_nonzero(found["prominences"] >= least)))
    assert count_modes(densities, relative_to=relative_to).tolist() == expected


def test_unknown_references_are_refused():
    with pytest.raises(InvalidParameterError, match="relative_to"):
        count_modes(np.ones((1, 5)), relative_to="median")


def test_table_2_is_reproduced(tmp_path):
    text = reproduce_modes(tmp_path)
    rows = list(csv.reader((tmp_path / "table2_modes.csv").open()))
    ours = {int(row[0]): np.array(row[2:], float) for row in rows if row[1] == "ours"}
    for components, printed in PAPER_MODES.items():
        assert np.abs(ours[components] - printed).max() < 2.5
    table, readings = text.split("\n\n")
    assert len(table.splitlines()) == len(rows) == 10
    # A title and a header, then three readings with and without the fall beyond an end; ours is among the best.
    assert len(readings.splitlines()) == 2 + 6
    others = list(csv.reader((tmp_path / "table2_readings.csv").open()))[1:]
    worst = {tuple(row[:2]): max(map(float, row[2:])) for row in others}
    assert worst["maximum", "does not"] == min(worst.values()) < 2.5


def test_differences_are_printed():
    assert "-1.0" in render_modes({8: (16.0, *PAPER_MODES[8][1:])})


def test_the_same_seed_gives_the_same_table():
    assert mode_table(60, 3) == mode_table(60, 3)
