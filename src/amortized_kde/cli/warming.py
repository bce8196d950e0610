"""The command that compiles all loops ahead of time, for container images and clusters."""

import time
import warnings
from collections.abc import Callable

import typer

# Samples above this size are binned by loops of their own (`density.kernels`).
_LARGE = 70_000


def warm() -> None:
    """Compile all loops now, so that no later call waits for them."""
    from amortized_kde.errors import AmortizedKdeWarning

    began = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AmortizedKdeWarning)
        for number, (step, work) in enumerate(STEPS.items(), start=1):
            typer.echo(f"{number}/{len(STEPS)}  {step} …", err=True)
            work()
    typer.echo(f"all loops are compiled ({time.monotonic() - began:.0f} s).")


def _select() -> None:
    """Bandwidths of a batch by every method, with and without weights."""
    import numpy as np

    import amortized_kde as akde

    rng = np.random.default_rng(0)
    x, weights = rng.gamma(2.0, size=(3, 50)), rng.gamma(2.0, size=(3, 50))
    for method in akde.selectors():
        akde.bandwidth(x, axis=-1, method=method, bounds=(0, None))
        if method != "sheather-jones-r":
            akde.bandwidth(x, axis=-1, method=method, weights=weights)


def _fit() -> None:
    """Densities of single samples: of a few thousand values, large, and of two variables."""
    import numpy as np

    import amortized_kde as akde
    from amortized_kde.learned.multivariate.features import describe
    from amortized_kde.learned.multivariate.frames import frame_of

    rng = np.random.default_rng(0)
    for n, method, bounds in ((3000, "silverman", None), (6000, None, (0, None)), (_LARGE, None, None)):
        x = rng.gamma(2.0, size=n)
        for weights in (None, rng.gamma(2.0, size=n)):
            akde.bandwidth(x, weights=weights)
            density = akde.fit(x, method=method, bounds=bounds, weights=weights)
            at = density.grid(512)
            density.logpdf(at), density.cdf(at), density.ppf([0.1, 0.9]), density.modes()
            density.sample(10, rng=rng)
    pairs, equal = rng.gamma(2.0, size=(50, 2)), np.full(50, 0.02)
    akde.fit(pairs).logpdf(pairs)
    describe(pairs, equal, frame_of(pairs, equal)).logs(pairs)


def _ensembles() -> None:
    """Scores, probabilities and quantiles of arrays of ensembles."""
    import numpy as np

    from amortized_kde import ensembles

    rng = np.random.default_rng(0)
    members, observed = rng.gamma(2.0, size=(6, 4, 12)), rng.gamma(2.0, size=(6, 4))
    for weights in (None, rng.gamma(2.0, size=12)):
        ensembles.log_densities(members, np.full((6, 4), 0.4), [1.0], weights=weights)
    for options in ({}, {"bounds": (0, None)}, {"method": "silverman"}, {"bandwidth": 0.4, "bounds": (0, None)}):
        ensembles.log_scores(members, observed, **options)
        ensembles.crps(members, observed, **options)
        ensembles.pit(members, observed, **options)
        ensembles.densities(members, [0.5, 3.0], **options)
        ensembles.probabilities(members, [0.5, 3.0], **options)
        ensembles.quantiles(members, [0.1, 0.9], **options)


STEPS: dict[str, Callable[[], None]] = {
    "bandwidths": _select,
    "densities": _fit,
    "ensembles": _ensembles,
}
