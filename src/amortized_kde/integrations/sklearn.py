"""An estimator of scikit-learn that can replace its ``KernelDensity``, for one to eight variables.

Importing this needs scikit-learn.
"""

from typing import Any, Self

import numpy as np

from amortized_kde._types import Array
from amortized_kde.data.reading import read_weights
from amortized_kde.errors import InvalidParameterError, MissingExtraError
from amortized_kde.estimate import DEFAULT_METHOD, fit

try:
    from sklearn.base import BaseEstimator, DensityMixin
    from sklearn.utils import check_array, check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise MissingExtraError(
        "the estimator needs scikit-learn 1.6 or newer; install it with: pip install 'amortized-kde[sklearn]'"
    ) from None

__all__ = ["AmortizedKernelDensity"]


class AmortizedKernelDensity(DensityMixin, BaseEstimator):  # type: ignore[misc]
    """The density of `amortized_kde.fit` as an estimator of scikit-learn.

    Parameters
    ----------
    method : str
        One of `amortized_kde.selectors()`, for several columns of ``selectors(multivariate=True)``; a grid search may
        try several.
    bounds : (float or None, float or None), optional
        Hard limits of the variable; the density is truncated to them and renormalised. For several columns a list with
        a pair or None for each, or a dict from names of columns to pairs.
    truncate : bool
        Cut the density at the working domain on the open sides too, as the paper does; for one column.

    Attributes
    ----------
    density_ : KernelDensity or MultivariateDensity
        The fitted density.
    bandwidth_ : float
        Its bandwidth in data units; the geometric mean, if it has several. For one column.
    n_features_in_ : int
        Number of columns, 1 to 8.

    Notes
    -----
    Weights of `fit` are importance weights: only their ratios matter. Integers are not counts of repeated rows, which
    would be smoothed less. Scores are natural logarithms, and higher is better, as everywhere in scikit-learn;
    `amortized_kde.log_score` is in bits, and lower is better.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> x = np.random.default_rng(1).gamma(2.0, size=(90, 1))
    >>> estimator = AmortizedKernelDensity(bounds=(0, None)).fit(x)
    >>> estimator.score_samples([[1.0], [-1.0]]).round(1)
    array([-0.9, -inf])
    >>> search = GridSearchCV(estimator, {"method": ["amortized", "silverman"]}).fit(x)
    >>> search.best_params_
    {'method': 'amortized'}
    """

    def __init__(self, *, method: str = DEFAULT_METHOD, bounds: Any = None, truncate: bool = False) -> None:
        self.method, self.bounds, self.truncate = method, bounds, truncate

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the density of a sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples,)
            The sample.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Importance weights.

        Raises
        ------
        InvalidSampleError
            If `X` has more than eight columns or too few rows for its columns, or the weights do not match it.
        ValueError
            As scikit-learn for missing, infinite or complex numbers, and as `amortized_kde.fit`.
        """
        values = self._read_column(X, reset=True)
        several, names = values.ndim > 1, getattr(self, "feature_names_in_", None)
        self.density_ = fit(
            dict(zip(names, values.T, strict=True)) if several and names is not None else values,
            weights=sample_weight,
            method=self.method,
            bounds=self.bounds,
            truncate=self.truncate,
        )
        if several:
            # Left from a fit of one column.
            self.__dict__.pop("bandwidth_", None)
        else:
            self.bandwidth_ = self.density_.bandwidth
        return self

    def score_samples(self, X: Any) -> Array:
        """Return the natural log-density at each row of `X`; minus infinity outside the bounds."""
        check_is_fitted(self)
        return np.asarray(self.density_.logpdf(self._read_column(X, reset=False)))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the total log-likelihood of `X`, the (weighted) sum of `score_samples`; higher is better.

        `y` is ignored.
        """
        scores = self.score_samples(X)
        if sample_weight is None:
            return float(np.sum(scores))
        weights = read_weights(sample_weight, scores.shape)
        # Rows of weight zero are left out, also where the score is minus infinity.
        used = weights > 0.0
        return float(np.sum(weights[used] * scores[used]))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw from the density: an array of shape (n_samples, n_features).

        Parameters
        ----------
        n_samples : int
            Number of draws.
        random_state : int, numpy.random.RandomState or None
            Source of randomness; the same integer gives the same draws.

        Raises
        ------
        InvalidParameterError
            If `n_samples` is not an integer, or negative.
        """
        check_is_fitted(self)
        if isinstance(n_samples, bool) or not isinstance(n_samples, (int, np.integer)):
            raise InvalidParameterError(f"n_samples must be a whole number, not {n_samples!r}.")
        # Scikit-learn uses NumPy's legacy generators; four words of one seed a new generator.
        words = check_random_state(random_state).randint(2**32, size=4, dtype=np.uint32)
        draws = np.asarray(self.density_.sample(int(n_samples), rng=np.random.default_rng(words)))
        return draws.reshape(int(n_samples), -1) if n_samples else np.empty((0, self.n_features_in_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        return tags

    def _read_column(self, X: Any, *, reset: bool) -> Array:
        """Return the only column of `X`, or all of several, after scikit-learn's checks."""
        values: Array = check_array(X, dtype=np.float64, ensure_2d=False, estimator=self, input_name="X")
        if values.ndim == 1:
            X = values = values.reshape(-1, 1)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return values[:, 0] if values.shape[1] == 1 else values
