"""The estimator must be a good citizen of scikit-learn, and its answers those of `fit`."""

import pickle
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

import amortized_kde as akde
from amortized_kde.errors import InvalidParameterError, InvalidSampleError
from amortized_kde.integrations.sklearn import AmortizedKernelDensity

X = np.random.default_rng(1).gamma(2.0, 3.0, (90, 1))
Y = np.random.default_rng(2).gamma(2.0, 3.0, (40, 1))

# Scikit-learn's checks give an estimator of one variable arrays of one dimension, and then take columns of them.
_INDEXED = "the check itself indexes a second dimension of the one-dimensional X that it made"
_COLUMNS = "the check gives thirty columns, whatever the tags say"
EXPECTED_FAILURES = {
    "check_dont_overwrite_parameters": _INDEXED,
    "check_n_features_in_after_fitting": _INDEXED,
    "check_dtype_object": _INDEXED,
    "check_f_contiguous_array_estimator": _INDEXED,
    "check_methods_sample_order_invariance": _INDEXED,
    "check_methods_subset_invariance": _INDEXED,
    "check_fit2d_1sample": _INDEXED,
    "check_fit2d_1feature": _INDEXED,
    "check_dict_unchanged": _INDEXED,
    "check_n_features_in": _INDEXED,
    "check_fit2d_predict1d": _INDEXED,
    "check_estimator_sparse_array": "SciPy cannot make the one-dimensional sparse arrays that the check asks it for",
    "check_sample_weight_equivalence_on_dense_data": _COLUMNS,
    "check_fit1d": "one dimension is accepted, as the tag says",
}


class FirstColumn(AmortizedKernelDensity):
    """Looks at the first of any number of columns, so that scikit-learn's checks can all be run on the rest of it."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = False
        return tags

    def _read_column(self, X, *, reset):
        return validate_data(self, X, dtype=np.float64, reset=reset)[:, 0]


def expected_failures(estimator):
    if isinstance(estimator, FirstColumn):
        return {"check_fit2d_1sample": "our sentence says 'this sample of 1', and the check looks for '1 sample'"}
    return EXPECTED_FAILURES


@parametrize_with_checks([AmortizedKernelDensity(), FirstColumn()], expected_failed_checks=expected_failures)
def test_scikit_learn_finds_no_fault(estimator, check):
    check(estimator)


@pytest.mark.parametrize("options", [{}, {"truncate": True}, {"bounds": (0, None)}, {"bounds": (0, 90)}], ids=str)
@pytest.mark.parametrize("method", ["amortized", "amortized:single", "silverman", "lcv"])
def test_its_density_is_that_of_fit(method, options):
    estimator = AmortizedKernelDensity(method=method, **options).fit(X)
    d = akde.fit(X[:, 0], method=method, **options)
    assert estimator.bandwidth_ == d.bandwidth
    assert estimator.density_.bounds == d.bounds
    assert_array_equal(estimator.score_samples(Y), d.logpdf(Y[:, 0]))


def test_it_scores_as_scikit_learn_does():
    ours = AmortizedKernelDensity(method="silverman").fit(X)
    theirs = KernelDensity(bandwidth=ours.bandwidth_).fit(X)
    assert_allclose(ours.score_samples(Y), theirs.score_samples(Y), rtol=1e-7)
    assert_allclose(ours.score(Y), theirs.score(Y), rtol=1e-7)
    bits = akde.log_score(ours.density_, Y[:, 0])
    assert_allclose(ours.score(Y), -np.log(2.0) * bits.sum())


def test_outside_the_bounds_the_score_is_minus_infinity():
    estimator = AmortizedKernelDensity(bounds=(0, None)).fit(X)
    assert_array_equal(np.isneginf(estimator.score_samples([[-1.0], [1.0]])), [True, False])
    assert estimator.score([[-1.0], [1.0]]) == -np.inf


FORMS = {
    "one dimension": X[:, 0],
    "list of rows": X.tolist(),
    "list": X[:, 0].tolist(),
    "frame": pd.DataFrame({"x": X[:, 0]}),
    "series": pd.Series(X[:, 0], name="x"),
    "Fortran's order": np.asfortranarray(np.hstack([X, X]))[:, [0]],
    "reversed": X[::-1],
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_of_a_column(form):
    estimator = AmortizedKernelDensity().fit(form)
    assert estimator.n_features_in_ == 1
    assert_array_equal(estimator.density_.points, np.sort(X[:, 0]))
    expected = AmortizedKernelDensity().fit(X).score_samples(X)
    found = estimator.score_samples(form)
    assert_array_equal(found, expected[::-1] if form is FORMS["reversed"] else expected)


def test_names_of_columns_are_kept_and_checked():
    estimator = AmortizedKernelDensity().fit(pd.DataFrame({"x": X[:, 0]}))
    assert list(estimator.feature_names_in_) == ["x"]
    with pytest.raises(ValueError, match="feature names should match"):
        estimator.score_samples(pd.DataFrame({"z": X[:, 0]}))


def test_several_columns():
    both = np.random.default_rng(3).gamma(2.0, size=(60, 2))
    bounds = [(0, None), None]
    estimator = AmortizedKernelDensity(method="scott", bounds=bounds).fit(pd.DataFrame(both, columns=["a", "b"]))
    d = akde.fit(both, method="scott", bounds=bounds)
    assert estimator.n_features_in_ == 2
    assert not hasattr(estimator, "bandwidth_")
    assert_array_equal(estimator.score_samples(pd.DataFrame(both, columns=["a", "b"])), d.logpdf(both))
    draws = estimator.sample(7, random_state=1)
    assert draws.shape == (7, 2)
    assert draws[:, 0].min() >= 0.0
    assert estimator.density_.names == ("a", "b")
    by_name = AmortizedKernelDensity(method="scott", bounds={"a": (0, None)}).fit(
        pd.DataFrame(both, columns=["a", "b"])
    )
    assert_array_equal(by_name.score_samples(pd.DataFrame(both, columns=["a", "b"])), d.logpdf(both))
    again = AmortizedKernelDensity(method="scott").fit(both[:, :1]).fit(both)
    assert not hasattr(again, "bandwidth_")
    assert again.density_.names == ("x0", "x1")
    search = GridSearchCV(AmortizedKernelDensity(), {"method": ["scott", "lcv"]}).fit(both)
    assert search.best_params_["method"] in ("scott", "lcv")


def test_another_number_of_columns_is_refused():
    with pytest.raises(InvalidSampleError, match="9 columns, and a density at most 8"):
        AmortizedKernelDensity().fit(np.random.default_rng(1).normal(size=(20, 9)))
    with pytest.raises(ValueError, match="X has 2 features, but AmortizedKernelDensity is expecting 1"):
        AmortizedKernelDensity().fit(X).score_samples(np.hstack([X, X]))


def test_three_dimensions_are_refused():
    with pytest.raises(ValueError, match="dim 3"):
        AmortizedKernelDensity().fit(X[:, :, None])


@pytest.mark.parametrize("method", ["amortized", "silverman"])
def test_weights_are_those_of_fit(method):
    w = np.random.default_rng(3).gamma(1.0, 1.0, len(X))
    estimator = AmortizedKernelDensity(method=method).fit(X, sample_weight=w)
    assert_array_equal(estimator.score_samples(Y), akde.fit(X[:, 0], weights=w, method=method).logpdf(Y[:, 0]))
    assert estimator.bandwidth_ != AmortizedKernelDensity(method=method).fit(X).bandwidth_
    equal = AmortizedKernelDensity(method=method).fit(X, sample_weight=np.full(len(X), 7.0))
    assert_array_equal(equal.score_samples(Y), AmortizedKernelDensity(method=method).fit(X).score_samples(Y))


@pytest.mark.parametrize(
    ("weights", "message"), [(np.ones(3), "weights have shape"), (-np.ones(90), "not negative"), (np.zeros(90), "zero")]
)
def test_bad_weights_are_told(weights, message):
    with pytest.raises(InvalidSampleError, match=message):
        AmortizedKernelDensity().fit(X, sample_weight=weights)


def test_a_grid_search_hands_weights_on():
    w = np.random.default_rng(3).gamma(1.0, 1.0, len(X))
    search = GridSearchCV(AmortizedKernelDensity(), {"method": ["silverman", "scott"]}, cv=3)
    found = search.fit(X, sample_weight=w).best_estimator_
    assert found.bandwidth_ == akde.bandwidth(X[:, 0], weights=w, method=search.best_params_["method"])


def test_scores_count_by_their_weights():
    estimator = AmortizedKernelDensity(bounds=(0, None)).fit(X)
    w = np.random.default_rng(4).gamma(1.0, 1.0, len(Y))
    assert_allclose(estimator.score(Y, sample_weight=w), np.sum(w * estimator.score_samples(Y)))
    assert_allclose(estimator.score(Y, sample_weight=np.ones(len(Y))), estimator.score(Y))
    beyond = [[-1.0], [1.0], [2.0]]
    assert estimator.score(beyond, sample_weight=[0.0, 1.0, 1.0]) == estimator.score(beyond[1:])


def test_an_unknown_method_is_told_when_it_is_needed():
    estimator = AmortizedKernelDensity(method="silvermann")
    with pytest.raises(InvalidParameterError, match="silverman"):
        estimator.fit(X)


def test_nothing_is_answered_before_fit():
    for ask in (AmortizedKernelDensity().sample, lambda: AmortizedKernelDensity().score(X)):
        with pytest.raises(NotFittedError):
            ask()


def test_draws():
    estimator = AmortizedKernelDensity(bounds=(0, None)).fit(X)
    draws = estimator.sample(4000, random_state=1)
    assert draws.shape == (4000, 1)
    assert draws.min() >= 0.0
    assert_array_equal(draws, estimator.sample(4000, random_state=1))
    # Kolmogorov's distance of 4000 draws exceeds this once in a million times.
    distance = np.abs(np.sort(estimator.density_.cdf(draws[:, 0])) - np.arange(4000) / 4000).max()
    assert distance < 0.043
    assert estimator.sample().shape == (1, 1)
    assert estimator.sample(0).shape == (0, 1)


def test_a_generator_moves_on_between_draws():
    estimator, generator = AmortizedKernelDensity().fit(X), np.random.RandomState(1)
    assert estimator.sample(1, random_state=generator) != estimator.sample(1, random_state=generator)


@pytest.mark.parametrize("n_samples", [-1, 1.5, True, (2, 3), None])
def test_a_number_of_draws_that_is_none(n_samples):
    with pytest.raises(InvalidParameterError):
        AmortizedKernelDensity().fit(X).sample(n_samples)


def test_copies_and_files():
    estimator = AmortizedKernelDensity(method="lcv", bounds=(0, None))
    copied = clone(estimator)
    assert copied.get_params() == {"method": "lcv", "bounds": (0, None), "truncate": False}
    restored = pickle.loads(pickle.dumps(estimator.fit(X)))
    assert_array_equal(restored.score_samples(Y), estimator.score_samples(Y))
    assert not hasattr(copied, "density_")


def test_in_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), AmortizedKernelDensity()).fit(X)
    scale = X.std()
    plain = AmortizedKernelDensity().fit(X)
    # The density of a rescaled variable is higher by the scale.
    assert_allclose(pipeline.score_samples(Y), plain.score_samples(Y) + np.log(scale), rtol=1e-9)
    logarithms = make_pipeline(FunctionTransformer(np.log), AmortizedKernelDensity()).fit(X)
    assert logarithms[-1].bandwidth_ == akde.fit(np.log(X[:, 0])).bandwidth


def test_in_a_grid_search():
    methods = ["amortized", "silverman", "amortized:single"]
    search = GridSearchCV(AmortizedKernelDensity(bounds=(0, None)), {"method": methods}, cv=3).fit(X)
    by_hand = [
        cross_val_score(AmortizedKernelDensity(method=name, bounds=(0, None)), X, cv=3).mean() for name in methods
    ]
    assert_allclose(search.cv_results_["mean_test_score"], by_hand)
    assert search.best_params_ == {"method": methods[int(np.argmax(by_hand))]}
    assert search.score(Y) == search.best_estimator_.score(Y)


def test_on_several_threads_at_once():
    with joblib.parallel_backend("threading", n_jobs=2):
        several = cross_val_score(AmortizedKernelDensity(), X, cv=4)
    # A thread can still be at work in NumPy where another one has loaded the compiled loops.
    assert_allclose(several, cross_val_score(AmortizedKernelDensity(), X, cv=4), rtol=1e-12)


def test_its_tags():
    tags = get_tags(AmortizedKernelDensity())
    assert tags.estimator_type == "density_estimator"
    assert tags.input_tags.one_d_array
    assert tags.input_tags.two_d_array
    assert not tags.input_tags.allow_nan


MISSING = """
import sys
sys.modules["sklearn"] = None
from amortized_kde.errors import MissingExtraError
try:
    import amortized_kde.integrations.sklearn
except MissingExtraError as error:
    print(error)
"""


def test_without_scikit_learn():
    output = subprocess.run([sys.executable, "-c", MISSING], capture_output=True, text=True, check=True).stdout
    assert "pip install 'amortized-kde[sklearn]'" in output
