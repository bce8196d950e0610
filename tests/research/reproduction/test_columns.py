"""One method on one chunk: the slow obvious scores, the fall-back, the oracle that is never worse."""

import math

import numpy as np
import pytest

from amortized_kde import KernelDensity, bandwidth, log_score
from amortized_kde.errors import InvalidParameterError
from amortized_kde.research.reproduction.columns import (
    Column,
    Tasks,
    column_key,
    compute_column,
    lower_oracle,
    make_tasks,
    select_bandwidths,
)
from amortized_kde.research.reproduction.judge import Judge
from amortized_kde.research.reproduction.protocol import BEDS, Chunk
from amortized_kde.research.tasks import GaussianWorld, MixtureWorld
from amortized_kde.score import gauss_hermite


@pytest.fixture(scope="module")
def mixtures():
    return make_tasks(Chunk("gmm", 12, 0, 8), MixtureWorld(32))


@pytest.mark.parametrize("method", ["silverman", "sheather-jones-r", "lscv", "lcv", "amortized:gmm32"])
def test_bounded_scores_are_those_of_public_names(mixtures, method):
    column = compute_column(method, mixtures)
    for t, sample in enumerate(mixtures.judge.values.reshape(8, 12)):
        h = bandwidth(sample, method=method, bounds=(-1, 1))
        density = KernelDensity(sample, bandwidth=h, bounds=(-1, 1))
        assert column.scores[t] == pytest.approx(np.mean(log_score(density, mixtures.judge.points[t])), rel=1e-11)
    assert column.failures == 0


def test_gaussian_scores_are_gauss_hermite_sums_on_the_whole_line():
    tasks = make_tasks(Chunk("gaussian", 6, 0, 4), GaussianWorld())
    nodes, weights = gauss_hermite(256)
    for t, sample in enumerate(tasks.judge.values.reshape(4, 6)):
        density = KernelDensity(sample, bandwidth=bandwidth(sample, method="lscv"))
        expected = math.fsum(weights * log_score(density, nodes))
        assert compute_column("lscv", tasks).scores[t] == pytest.approx(expected, rel=1e-12)
    entropy = 0.5 * math.log2(2.0 * math.pi * math.e)
    np.testing.assert_allclose(compute_column("truth", tasks).scores, entropy, rtol=1e-13)


def test_the_truth_is_judged_at_the_same_points(mixtures):
    logs = mixtures.truths.logpdf(mixtures.judge.points)
    np.testing.assert_allclose(compute_column("truth", mixtures).scores, -logs.mean(axis=1) / math.log(2.0), rtol=1e-12)


def test_a_method_without_an_answer_gets_silvermans_and_is_counted():
    # R's bw.SJ stops where the interquartile range is 0.
    values = np.array([0.0, 0.0, 0.0, 0.0, 0.9, -0.4, 0.1, 0.3, 0.6, 0.8])
    judge = Judge(values, np.array([0, 5, 10]), (-1.0, 1.0), np.zeros((2, 1)), np.ones(1))
    tasks = Tasks(judge, make_tasks(Chunk("gmm", 5, 0, 2), MixtureWorld(8)).truths)
    h, codes, _ = select_bandwidths("sheather-jones-r", tasks)
    silverman = select_bandwidths("silverman", tasks).bandwidths
    assert (h == silverman).tolist() == (codes < 0).tolist() == [True, False]
    column = compute_column("sheather-jones-r", tasks)
    assert column.failures == 1
    assert np.isfinite(column.scores).all()


def test_the_oracle_is_no_worse_than_any_method(mixtures):
    columns = {method: compute_column(method, mixtures) for method in ("truth", "oracle", "silverman", "lcv")}
    columns["lucky"] = Column(columns["oracle"].scores - np.arange(8.0))
    lowered = lower_oracle(columns)
    np.testing.assert_array_equal(lowered["oracle"].scores, columns["lucky"].scores)
    assert lowered["silverman"] is columns["silverman"]
    without = {"truth": columns["truth"], "lcv": columns["lcv"]}
    assert lower_oracle(without) == without


def test_a_key_names_a_models_weights():
    keys = {column_key(method) for method in BEDS["gmm"].learned}
    assert len(keys) == 4
    assert column_key("lscv") not in keys


def test_unknown_methods_are_refused(mixtures):
    with pytest.raises(InvalidParameterError, match="no method 'lsvc'"):
        compute_column("lsvc", mixtures)
