"""Settings of a family: location, mass, shape and the scale that fits them, with the names of the paper's Table 1.

A family and a generator of random numbers enter; placed densities, or their parameters by name, leave.
"""

import numpy as np

from amortized_kde._types import Array
from amortized_kde.research.tasks.densities import Densities, stack
from amortized_kde.research.tasks.families import Family
from amortized_kde.research.tasks.scale import place, solve_slopes
from amortized_kde.research.tasks.standard import CODES, STANDARDS, components

# The paper's reference interval (section 2.3).
_BOUNDS = (-1.0, 1.0)
# The least mass inside it before truncation (paper, section 3.2).
THRESHOLD = 0.9


def draw_settings(family: Family, count: int, *, rng: np.random.Generator, threshold: float = THRESHOLD) -> Densities:
    """Draw settings of one family: μ ~ U[-0.5, 0.5], c ~ U[0.9, 1], shape parameters, and the scale that fits c.

    Parameters
    ----------
    family : Family
        A line of Table 1, from `FAMILIES`.
    count : int
        How many settings.
    rng : numpy.random.Generator
        Where the numbers come from.
    threshold : float
        The lower limit of c; the paper's is 0.9.

    Returns
    -------
    Densities
        On [-1, 1]. The mass inside is c to 1e-10, except where one unit in the last place of the scale moves
        it by more (a beta density with a singular end on the bound itself).

    Examples
    --------
    >>> from amortized_kde.research.tasks.families import FAMILIES
    >>> f = draw_settings(FAMILIES["gamma"], 3, rng=np.random.default_rng(0))
    >>> bool(((f.masses >= 0.9) & (f.masses < 1.0)).all())
    True
    """
    standard = STANDARDS[CODES[family.standard]]
    locations, masses = rng.uniform(-0.5, 0.5, count), rng.uniform(threshold, 1.0, count)
    signs = rng.choice([-1.0, 1.0], count) if family.mirrored else np.ones(count)
    shapes = family.draw_shapes(rng, count)
    slopes = solve_slopes(standard, shapes, locations=locations, masses=masses, signs=signs)
    origins = place(standard, shapes, locations=locations, slopes=slopes)
    return stack(family.standard, shapes, origins=origins, slopes=slopes, bounds=_BOUNDS)


def parameters(family: Family, densities: Densities) -> dict[str, Array]:
    """Give the parameters of a family by their names in Table 1, each an array with one number a setting.

    Examples
    --------
    >>> from amortized_kde.research.tasks.families import FAMILIES
    >>> f = draw_settings(FAMILIES["bimodal"], 3, rng=np.random.default_rng(0))
    >>> list(parameters(FAMILIES["bimodal"], f))
    ['mu', 'c', 'lambda', 'w_1', 'w_2', 'mu_1', 'mu_2', 'sigma_1', 'sigma_2']
    """
    scales = np.abs(densities.slopes)
    standard = STANDARDS[CODES[family.standard]]
    out = {
        "mu": densities.origins + densities.slopes * standard.mean(densities.shapes),
        "c": densities.masses,
    }
    out[family.scale_name] = scales
    if family.mirrored:
        out["epsilon"] = np.sign(densities.slopes)
    out |= {name: densities.shapes[:, i] for i, name in enumerate(family.shape_names)}
    if family.component_names:
        weights, means, widths = components(densities.shapes)
        named = list(enumerate(family.component_names))
        out |= {f"w_{name}": weights[:, j] for j, name in named}
        out |= {f"mu_{name}": densities.origins + densities.slopes * means[:, j] for j, name in named}
        out |= {f"sigma_{name}": scales * widths[:, j] for j, name in named}
    return out
