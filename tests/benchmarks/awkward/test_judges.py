import math

import numpy as np
import pytest
from scipy import stats

from contests.awkward.judges import AgainstTruth, AgainstTwin, Answer, FarAway, IsDensity, Refusal, Twin, Unusable

AT = np.linspace(-2.0, 2.0, 9)
ERROR = Refusal("ValueError", "the sample is empty")
JUDGES = {
    "truth": AgainstTruth(AT, stats.norm.logpdf(AT)),
    "twin": AgainstTwin(AT, Twin(AT, AT), 0.0, 2.0),
    "far": FarAway(np.array([40.0, 60.0])),
    "density": IsDensity(AT, np.linspace(-9.0, 9.0, 2001)),
}


def answer(log_density, *warnings):
    return Answer(np.asarray(log_density, float), warnings)


@pytest.mark.parametrize("name", JUDGES)
def test_an_error_where_there_is_an_answer_is_unclear_and_quoted(name):
    outcome = JUDGES[name].verdict(ERROR, None)
    assert (outcome.mark, outcome.words) == ("unclear", "ValueError")
    assert outcome.said == "ValueError: the sample is empty"


@pytest.mark.parametrize("name", JUDGES)
def test_nan_misleads_nobody(name):
    judge = JUDGES[name]
    outcome = judge.verdict(answer(np.full(judge.points.size, math.nan)), None)
    assert (outcome.mark, outcome.words) == ("unclear", "NaN")


@pytest.mark.parametrize("name", ["truth", "twin", "density"])
def test_density_zero_where_data_fall_is_wrong(name):
    judge = JUDGES[name]
    logs = np.zeros(judge.points.size)
    logs[:3] = -math.inf
    outcome = judge.verdict(answer(logs), None)
    assert (outcome.mark, outcome.words) == ("wrong", "density 0 at 33 % of outcomes")
    assert outcome.measured == pytest.approx(3 / 9)


@pytest.mark.parametrize(("bits", "mark", "words"), [(0.0, "fine", "fine"), (0.6, "wrong", "0.60 bits worse")])
def test_the_truth_judges_by_bits(bits, mark, words):
    outcome = JUDGES["truth"].verdict(answer(stats.norm.logpdf(AT) - bits * math.log(2.0)))
    assert (outcome.mark, outcome.words) == (mark, words)
    assert outcome.measured == pytest.approx(bits, abs=1e-12)


def test_probability_outside_the_bounds_is_added_over_both_sides():
    outside = (np.linspace(-9.0, -1.0, 4001), np.linspace(1.0, 9.0, 4001))
    judge = AgainstTruth(AT, stats.norm.logpdf(AT), outside)
    outcome = judge.verdict(answer(stats.norm.logpdf(judge.points)))
    assert outcome.words == "32 % beyond the bounds"
    assert outcome.measured == pytest.approx(2.0 * stats.norm.cdf(-1.0), rel=1e-5)


@pytest.mark.parametrize(
    ("factor", "mark", "words"),
    [(1.9, "fine", "fine"), (2.1, "wrong", "wrong by a factor of 2.1"), (0.1, "wrong", "wrong by a factor of 10")],
)
def test_the_twin_judges_by_the_largest_factor_in_its_own_unit(factor, mark, words):
    unit = 1e-9
    judge = AgainstTwin(AT * unit, Twin(AT, AT), math.log(unit), 2.0)
    logs = stats.norm.logpdf(AT) - math.log(unit)
    logs[4] += math.log(factor)
    outcome = judge.verdict(answer(logs), answer(stats.norm.logpdf(AT)))
    assert (outcome.mark, outcome.words) == (mark, words)


def test_a_factor_beyond_the_range_of_floats_is_described():
    outcome = JUDGES["twin"].verdict(answer(np.full(AT.size, -1e5)), answer(np.zeros(AT.size)))
    assert outcome.words == "wrong by more than 10³⁰⁰"


def test_a_library_that_fails_on_the_twin_is_not_judged_by_it():
    assert JUDGES["twin"].verdict(answer(np.zeros(AT.size)), ERROR).mark == "not asked"


@pytest.mark.parametrize(
    ("logs", "mark", "words"),
    [
        ([-800.0, -1800.0], "fine", "fine"),
        ([-math.inf, -math.inf], "wrong", "density 0"),
        ([-700.0, -math.inf], "wrong", "density 0"),
        ([math.log(2.2e-16)] * 2, "wrong", "a floor of 2e-16"),
    ],
)
def test_far_away_a_density_is_positive_and_falls(logs, mark, words):
    outcome = JUDGES["far"].verdict(answer(logs))
    assert (outcome.mark, outcome.words) == (mark, words)


@pytest.mark.parametrize(("mass", "mark", "words"), [(1.0, "fine", "fine"), (0.4, "wrong", "40 % inside")])
def test_a_density_has_probability_one(mass, mark, words):
    judge = JUDGES["density"]
    outcome = judge.verdict(answer(stats.norm.logpdf(judge.points) + math.log(mass)))
    assert (outcome.mark, outcome.words) == (mark, words)


def test_more_than_all_probability_is_a_spike():
    judge = JUDGES["density"]
    logs = np.where(judge.points == 0.0, math.log(1e16), -50.0)
    assert judge.verdict(answer(logs)).words == "a density of 1e+16"


class TestUnusable:
    judge = Unusable(AT, r"empty|at least one")
    clean = answer(stats.norm.logpdf(AT))

    @pytest.mark.parametrize(
        ("message", "mark", "words"),
        [("x is Empty", "fine", "says why"), ("division by zero", "unclear", "ValueError, not why")],
    )
    def test_an_error_is_fine_if_it_names_the_cause(self, message, mark, words):
        outcome = self.judge.verdict(Refusal("ValueError", message))
        assert (outcome.mark, outcome.words) == (mark, words)

    def test_what_was_left_out_is_found_by_the_twin(self):
        assert self.judge.verdict(self.clean, self.clean).words == "leaves it out"
        other = answer(self.clean.log_density + 0.01)
        assert (self.judge.verdict(other, self.clean).mark, self.judge.verdict(other, self.clean).words) == (
            "wrong",
            "answers",
        )

    def test_a_warning_counts_if_it_names_the_cause(self):
        logs = self.clean.log_density
        assert self.judge.verdict(answer(logs, "the sample is empty")).words == "answers, warns"
        assert self.judge.verdict(answer(logs, "overflow in square")).mark == "wrong"

    def test_spikes_are_described_by_their_height(self):
        assert self.judge.verdict(answer(np.full(9, 38.0))).words == "a density of 3e+16"
