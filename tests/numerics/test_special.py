"""Special functions without SciPy."""

import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.special

from amortized_kde.numerics import special


@pytest.fixture
def without_scipy(monkeypatch):
    monkeypatch.setattr(special, "_pays", lambda arguments: False)


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("erf", np.array([[-np.inf, -7.0, -1e-3], [0.0, 0.4, np.inf]])),
        ("ndtr", np.append(np.linspace(-37.0, 9.0, 200), [-np.inf, np.inf, np.nan])),
        ("ndtri_exp", -np.geomspace(2e-3, 600.0, 100)),
        ("ndtri_exp", np.array([-1e6, -1e-9, -2.0])),
    ],
)
def test_python_and_scipy_agree(name, at, without_scipy):
    np.testing.assert_allclose(getattr(special, name)(at), getattr(scipy.special, name)(at), rtol=1e-13, atol=1e-15)


def test_a_sum_of_exponentials_neither_overflows_nor_becomes_nan():
    logs = np.array([[1000.0, 1000.0], [-math.inf, -math.inf], [0.0, -math.inf]])
    with np.errstate(divide="ignore"):
        found = special.log_sum_exp(logs, np.array([0.5, 1.5]))
    np.testing.assert_allclose(found, [1000.0 + math.log(2.0), -math.inf, math.log(0.5)])


def test_scipy_is_imported_when_there_is_much_to_compute():
    code = """
import sys
import numpy as np
from amortized_kde.numerics import special
special.ndtr(np.zeros(1000))
assert "scipy" not in sys.modules
for _ in range(600):
    special.ndtr(np.zeros(1000))
assert "scipy.special" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_one_small_sample_needs_no_scipy():
    code = """
import sys
import numpy as np
import amortized_kde as akde
d = akde.fit(np.random.default_rng(0).gamma(2.0, size=300), bounds=(0, None))
d.pdf(1.0), d.cdf(1.0), d.mean(), d.ppf([0.1, 0.5, 0.9]), d.interval(0.9), d.modes(), d.pdf(d.grid())
assert not {"scipy", "numba", "matplotlib", "typer"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
