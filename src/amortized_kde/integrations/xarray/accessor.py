"""The accessor ``.akde`` of DataArrays and Datasets, registered on import."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import xarray as xr
from numpy.typing import ArrayLike

from amortized_kde.ensembles import Calibration
from amortized_kde.integrations.xarray import diagrams, functions, verification
from amortized_kde.integrations.xarray.apply import Keywords, Labelled


@xr.register_dataset_accessor("akde")  # type: ignore[no-untyped-call]
@xr.register_dataarray_accessor("akde")  # type: ignore[no-untyped-call]
class EnsembleAccessor:
    """Ensembles in a DataArray or Dataset.

    Every method is the function of that name with the data as its first argument.

    Examples
    --------
    >>> members = xr.DataArray([[1.0, 3.0], [2.0, 8.0]], dims=("time", "member"), name="wind")
    >>> members.akde.quantiles(0.5, bandwidth=1.0).values
    array([2., 5.])
    """

    def __init__(self, data: Labelled) -> None:
        self._data = data

    def bandwidth(self, dim: Hashable | None = None, **options: Unpack[Keywords]) -> Labelled:
        """Return bandwidths in the variable's units."""
        return functions.bandwidth(self._data, dim, **options)

    def calibrated(
        self,
        model: Calibration | str | Path | Mapping[Hashable, Calibration | str | Path],
        dim: Hashable | None = None,
        *,
        covariates: Mapping[str, Any] | None = None,
    ) -> Labelled:
        """Return members corrected for bias and spread."""
        return functions.calibrated(self._data, model, dim, covariates=covariates)

    def densities(self, at: Any, dim: Hashable | None = None, **options: Unpack[Keywords]) -> Labelled:
        """Return densities at arguments."""
        return functions.densities(self._data, at, dim, **options)

    def probabilities(
        self, thresholds: Any, dim: Hashable | None = None, *, above: bool = False, **options: Unpack[Keywords]
    ) -> Labelled:
        """Return probabilities up to thresholds, or above them."""
        return functions.probabilities(self._data, thresholds, dim, above=above, **options)

    def quantiles(
        self, p: ArrayLike | xr.DataArray, dim: Hashable | None = None, **options: Unpack[Keywords]
    ) -> Labelled:
        """Return quantiles in the variable's units."""
        return functions.quantiles(self._data, p, dim, **options)

    def atom_probabilities(
        self,
        atoms: Sequence[float] | Mapping[Hashable, Sequence[float]],
        dim: Hashable | None = None,
        *,
        bounds: Sequence[float | None] | Mapping[Hashable, Sequence[float | None]] | None = None,
        method: str | Mapping[Hashable, str] | None = None,
        covariates: Mapping[str, Any] | None = None,
    ) -> Labelled:
        """Return probabilities of atoms."""
        return functions.atom_probabilities(self._data, atoms, dim, bounds=bounds, method=method, covariates=covariates)

    def log_scores(
        self, obs: Labelled, dim: Hashable | None = None, *, resolution: float = 0.0, **options: Unpack[Keywords]
    ) -> Labelled:
        """Return logarithmic scores in bits."""
        return verification.log_scores(self._data, obs, dim, resolution=resolution, **options)

    def log_score_parts(
        self, obs: Labelled, dim: Hashable | None = None, *, resolution: float = 0.0, **options: Unpack[Keywords]
    ) -> xr.Dataset:
        """Return the two parts of logarithmic scores."""
        return verification.log_score_parts(self._data, obs, dim, resolution=resolution, **options)

    def crps(self, obs: Labelled, dim: Hashable | None = None, **options: Unpack[Keywords]) -> Labelled:
        """Return continuous ranked probability scores in the variable's units."""
        return verification.crps(self._data, obs, dim, **options)

    def pit(
        self, obs: Labelled, dim: Hashable | None = None, *, seed: int = 0, **options: Unpack[Keywords]
    ) -> Labelled:
        """Return probability integral transforms."""
        return verification.pit(self._data, obs, dim, seed=seed, **options)

    def threshold_weighted_crps(
        self,
        obs: Labelled,
        between: Sequence[float | None],
        dim: Hashable | None = None,
        **options: Unpack[Keywords],
    ) -> Labelled:
        """Return threshold-weighted CRPS in the variable's units."""
        return verification.threshold_weighted_crps(self._data, obs, between, dim, **options)

    def brier_scores(
        self, obs: Labelled, thresholds: Any, dim: Hashable | None = None, **options: Unpack[Keywords]
    ) -> Labelled:
        """Return Brier scores of exceeding thresholds."""
        return verification.brier_scores(self._data, obs, thresholds, dim, **options)

    def ranks(self, obs: Labelled, dim: Hashable | None = None, *, seed: int = 0) -> Labelled:
        """Return ranks of observations among the members."""
        return diagrams.ranks(self._data, obs, dim, seed=seed)

    def rank_histogram(
        self,
        obs: Labelled,
        dim: Hashable | None = None,
        *,
        over: Hashable | Iterable[Hashable] | None = None,
        seed: int = 0,
    ) -> Labelled:
        """Return how many observations have each rank."""
        return diagrams.rank_histogram(self._data, obs, dim, over=over, seed=seed)

    def reliability(
        self,
        obs: Labelled,
        thresholds: Any,
        dim: Hashable | None = None,
        *,
        bins: int | ArrayLike = 10,
        over: Hashable | Iterable[Hashable] | None = None,
        **options: Unpack[Keywords],
    ) -> xr.Dataset:
        """Return the data of reliability diagrams of exceeding thresholds."""
        return diagrams.reliability(self._data, obs, thresholds, dim, bins=bins, over=over, **options)
