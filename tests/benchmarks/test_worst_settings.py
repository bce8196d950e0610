import math

import numpy as np
import pytest

from amortized_kde.data.support import Bounds
from amortized_kde.estimate import fit
from amortized_kde.research.tasks import FAMILIES
from amortized_kde.research.tasks.broad.kinds import KINDS
from contests.worst_settings import (
    REFERENCES,
    Setting,
    all_settings,
    draw_setting,
    setting_differences,
)

pytestmark = pytest.mark.filterwarnings("ignore::amortized_kde.errors.AmortizedKdeWarning")


def test_settings_are_all_different_and_name_everything():
    settings = list(all_settings())
    assert len(set(settings)) == len(settings)
    assert {s.which for s in settings if s.group == "family"} == set(FAMILIES)
    assert {s.which for s in settings if s.group == "kind"} == set(KINDS)
    assert {s.bounds for s in settings if s.group == "components"} == {"known", "unknown"}


def test_a_family_is_drawn_alone():
    batch = draw_setting(Setting("family", "beta", "known", 10), 6)
    assert np.unique(batch.truths.codes).size == 1
    assert (batch.sizes == 10).all()


def test_a_kind_is_drawn_with_the_bounds_that_are_known():
    batch = draw_setting(Setting("kind", "gamma", "one", 10), 6)
    assert (batch.kinds == KINDS.index("gamma")).all()
    assert (np.isfinite(batch.lower) ^ np.isfinite(batch.upper)).all()


@pytest.mark.parametrize(
    "setting",
    [
        Setting("components", "2", "unknown", 12),
        Setting("family", "gamma", "known", 12),
        Setting("kind", "lognormal", "one", 12),
    ],
    ids=lambda setting: setting.group,
)
def test_differences_are_those_of_densities(setting):
    batch = draw_setting(setting, 4)
    found = setting_differences(setting, "scott", 4)
    slow = {method: [] for method in ("scott", *REFERENCES)}
    for t, sample in enumerate(np.split(batch.values, batch.offsets[1:-1])):
        if setting.group == "kind":
            bounds = Bounds(float(batch.lower[t]), float(batch.upper[t]))
        else:
            bounds = Bounds(*batch.bounds) if setting.bounds == "known" else Bounds()
        for method, scores in slow.items():
            density = fit(sample, bounds=bounds, method=method)
            scores.append(-density.logpdf(batch.draws[t]).mean() / math.log(2.0))
    for reference in REFERENCES:
        expected = np.mean(slow["scott"]) - np.mean(slow[reference])
        assert found[reference].mean.value == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert found[reference].mean.count == 4
        paired = np.subtract(slow["scott"], slow[reference])
        assert found[reference].median == pytest.approx(np.median(paired), rel=1e-9, abs=1e-9)


def test_samples_of_equal_values_are_left_out(monkeypatch):
    setting = Setting("kind", "gamma", "one", 3)
    batch = draw_setting(setting, 5)
    batch.values[:3] = batch.values[0]
    monkeypatch.setattr("contests.worst_settings.draw_setting", lambda *_: batch)
    found = setting_differences(setting, "scott", 5)
    assert {difference.mean.count for difference in found.values()} == {4}
    assert all(math.isfinite(difference.mean.value) for difference in found.values())
