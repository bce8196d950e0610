"""The accessor ``.akde`` of DataArrays and Datasets, registered on import."""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import xarray as xr
from numpy.typing import ArrayLike

from amortized_kde.ensembles import Dressing
from amortized_kde.integrations.xarray import functions
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

    def bandwidth(self, dim: Hashable = "member", **options: Unpack[Keywords]) -> Labelled:
        """Return bandwidths in the variable's units."""
        return functions.bandwidth(self._data, dim, **options)

    def dressed(
        self, dressing: Dressing | str | Path | Mapping[Hashable, Dressing | str | Path], dim: Hashable = "member"
    ) -> Labelled:
        """Return members shifted and scaled."""
        return functions.dressed(self._data, dressing, dim)

    def densities(self, at: Any, dim: Hashable = "member", **options: Unpack[Keywords]) -> Labelled:
        """Return densities at arguments."""
        return functions.densities(self._data, at, dim, **options)

    def probabilities(
        self, thresholds: Any, dim: Hashable = "member", *, above: bool = False, **options: Unpack[Keywords]
    ) -> Labelled:
        """Return probabilities up to thresholds, or above them."""
        return functions.probabilities(self._data, thresholds, dim, above=above, **options)

    def quantiles(self, p: ArrayLike | xr.DataArray, dim: Hashable = "member", **options: Unpack[Keywords]) -> Labelled:
        """Return quantiles in the variable's units."""
        return functions.quantiles(self._data, p, dim, **options)

    def atom_probabilities(
        self,
        atoms: Sequence[float] | Mapping[Hashable, Sequence[float]],
        dim: Hashable = "member",
        *,
        bounds: Sequence[float | None] | Mapping[Hashable, Sequence[float | None]] | None = None,
    ) -> Labelled:
        """Return probabilities of atoms."""
        return functions.atom_probabilities(self._data, atoms, dim, bounds=bounds)

    def log_scores(self, obs: Labelled, dim: Hashable = "member", **options: Unpack[Keywords]) -> Labelled:
        """Return logarithmic scores in bits."""
        return functions.log_scores(self._data, obs, dim, **options)

    def log_score_parts(self, obs: Labelled, dim: Hashable = "member", **options: Unpack[Keywords]) -> xr.Dataset:
        """Return the two parts of logarithmic scores."""
        return functions.log_score_parts(self._data, obs, dim, **options)

    def crps(self, obs: Labelled, dim: Hashable = "member", **options: Unpack[Keywords]) -> Labelled:
        """Return continuous ranked probability scores in the variable's units."""
        return functions.crps(self._data, obs, dim, **options)

    def pit(self, obs: Labelled, dim: Hashable = "member", *, seed: int = 0, **options: Unpack[Keywords]) -> Labelled:
        """Return probability integral transforms."""
        return functions.pit(self._data, obs, dim, seed=seed, **options)
