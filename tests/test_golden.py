"""Golden answers of every shipped model and every selector, made from seeds and kept in ``tests/fixtures/golden``.

``python tests/test_golden.py`` compares bit for bit and prints what differs. ``--write NAME ...`` renews the answers of
these methods; do so only for a model that was trained anew. The tests allow 1e-12, because processors differ in the
last bits, 1e-5 for the loss of training steps, which are float32, and 1e-6 in several dimensions (`TOLERANCES`).
"""

import argparse
import dataclasses
import hashlib
import json
import tempfile
import warnings
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

import amortized_kde as akde
from amortized_kde.data.reading import read_sample
from amortized_kde.data.sample import moments
from amortized_kde.errors import AmortizedKdeWarning, DegenerateSampleError, UnlikeTrainingWarning
from amortized_kde.learned.adaptive.features import describe
from amortized_kde.learned.adaptive.prediction import smooth
from amortized_kde.learned.paper.features import network_inputs
from amortized_kde.learned.store import load_model
from amortized_kde.numerics import special, workload
from amortized_kde.numerics.jit import Loop
from amortized_kde.numerics.workload import SMALL

FOLDER = Path(__file__).parent / "fixtures" / "golden"
OWN_FRAME = ("adaptive", "single")
MODELS = (*OWN_FRAME, "gaussian", "multifamily", "gmm8", "gmm16", "gmm32")
CLASSICAL = ("silverman", "scott", "sheather-jones", "sheather-jones-r", "isj", "lscv", "lcv")
NAMES = (*MODELS, *CLASSICAL, "bandwidth", "archive", "multivariate")
# Iterations end when a likelihood hardly rises, so that the last bits of a processor can change their number.
TOLERANCES = {"loss": 1e-5, "several": 1e-6}
# Quadratic in n, so they answer at one size above this.
QUADRATIC, QUADRATIC_TO = ("sheather-jones", "sheather-jones-r", "lscv", "lcv"), 6_000

SHAPES = (
    lambda rng, n: rng.normal(3.0, 2.0, n),
    lambda rng, n: rng.gamma(2.0, 1.5, n),
    lambda rng, n: np.where(rng.random(n) < 0.4, rng.normal(-2.0, 0.3, n), rng.normal(2.0, 1.0, n)),
    lambda rng, n: rng.standard_t(2.0, n),
    lambda rng, n: rng.uniform(0.0, 1.0, n),
    lambda rng, n: np.exp(rng.normal(0.0, 1.2, n)),
)
SIZES = (1, 2, 3, 4, 5, 8, 15, 31, 60, 100, 256, 257, 500, 1000, 4096, 4097, 6000, 20_000, 65_535, 65_536, 100_000)


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """One sample, its bounds and its weights."""

    x: np.ndarray
    bounds: tuple | None = None
    weights: np.ndarray | None = None


@cache
def cases():
    """Samples of n = 1 to 100,000, ties, weights, all kinds of bounds."""
    rng = np.random.default_rng(20)
    found = [Case(SHAPES[k % len(SHAPES)](rng, n)) for k, n in enumerate(SIZES)]
    # Ties: rounded, many zeros, two values, one outlier, constant with and without bounds.
    found += [Case(np.round(SHAPES[0](rng, n), 1)) for n in (30, 400, 9000)]
    found += [Case(np.where(rng.random(n) < 0.3, 0.0, SHAPES[1](rng, n)), (0, None)) for n in (40, 700)]
    found += [Case(np.repeat([1.0, 2.0], 6)), Case(np.append(SHAPES[0](rng, 50), 1e4))]
    found += [Case(np.full(5, 2.0), bounds) for bounds in (None, (0, None), (0, 10))]
    # Bounds at the data, and some 1 to 1e9 scales away.
    found += [Case(SHAPES[1](rng, n), (0, None)) for n in (3, 12, 90, 5000)]
    found += [Case(-SHAPES[1](rng, n), (None, 0)) for n in (6, 64)]
    found += [Case(SHAPES[4](rng, n), (0, 1)) for n in (1, 2, 10, 150, 3000, 70_000)]
    found += [Case(rng.normal(0.0, 1.0, 60), (-far, far)) for far in (5.0, 30.0, 300.0, 3000.0, 1e9)]
    found += [Case(rng.normal(0.0, 1.0, 60), (-far, None)) for far in (30.0, 300.0, 3000.0)]
    # Weights: exponential, equal, some of them zero; large samples too.
    for n, bounds in ((5, None), (60, (0, None)), (300, None), (1000, (0, 100)), (6000, None), (70_000, (0, None))):
        found.append(Case(SHAPES[1](rng, n), bounds, rng.exponential(1.0, n)))
    found.append(Case(SHAPES[2](rng, 40), None, np.ones(40)))
    found.append(Case(np.round(SHAPES[2](rng, 80), 1), None, rng.integers(0, 3, 80)))
    return found


@cache
def outliers():
    """Samples that leave the range of the training tasks by more and more, in several ways."""
    rng = np.random.default_rng(21)
    x, heavy = rng.normal(0.0, 1.0, 40), rng.standard_t(0.6, 200)
    found = [np.append(x, 10.0**power) for power in np.arange(1.0, 12.0, 0.25)]
    found += [np.concatenate([x * 10.0**-power, [-1.0, 1.0]]) for power in np.arange(0.0, 8.0, 0.5)]
    found += [np.sign(heavy) * np.abs(heavy) ** power for power in np.arange(1.0, 6.0, 0.5)]
    found += [np.concatenate([x * 10.0**-power, 5.0 + x * 10.0**-power]) for power in np.arange(0.0, 8.0, 0.5)]
    return found


def points_of(case):
    """Where densities are evaluated: between the data, around them and far away, inside the bounds."""
    low, high = case.x.min(), case.x.max()
    width = max(high - low, 1.0)
    at = np.concatenate(
        [np.quantile(case.x, [0.0, 0.1, 0.35, 0.6, 0.9, 1.0]), low - width * 4.0 ** np.arange(-3, 4, 2)]
    )
    at = np.concatenate([at, high + width * 4.0 ** np.arange(-3, 4, 2)])
    lower, upper = case.bounds or (None, None)
    return np.clip(at, lower, upper) if case.bounds else at


PROBABILITIES = np.array([1e-6, 0.01, 0.3, 0.5, 0.77, 0.99, 1 - 1e-6])


def one_answer(method, case):
    """Bandwidth, log-densities, distribution function, quantiles, mean and standard deviation."""
    options = {"method": method, "bounds": case.bounds, "weights": case.weights}
    try:
        h = akde.bandwidth(case.x, **options)
    except DegenerateSampleError:
        h = np.nan
    try:
        d = akde.fit(case.x, **options)
    except DegenerateSampleError:
        return np.array([h])
    at = points_of(case)
    return np.concatenate(
        [[h, d.bandwidth, d.epsilon, d.mean(), d.std()], d.logpdf(at), d.cdf(at), d.ppf(PROBABILITIES)]
    )


def used_cases(method):
    """The cases of a method; those that are quadratic see one sample of 100,000, which R's way does not."""
    if method not in QUADRATIC:
        return cases()
    sizes = {*range(QUADRATIC_TO + 1)} | (set() if method == "sheather-jones-r" else {100_000})
    return [case for case in cases() if case.x.size in sizes]


def selector_answers(method):
    """What a selector answers for one sample, for batches and on held-out data."""
    supported = [case for case in used_cases(method) if case.weights is None or method != "sheather-jones-r"]
    out = {"one": np.concatenate([one_answer(method, case) for case in supported])}
    rng = np.random.default_rng(22)
    many = rng.gamma(2.0, 1.0, (12, 3, 11))
    many[0, 0] = 1.5
    many[1, 1, 3:] = np.nan
    many[2] = np.round(many[2])
    batches = [akde.bandwidth(many, axis=-1, method=method, bounds=bounds) for bounds in (None, (0, None), (0, 50))]
    batches.append(akde.bandwidth(np.moveaxis(many, 2, 0), axis=0, method=method))
    batches.append(
        akde.bandwidth([row[:n] for row, n in zip(many[:, 0], range(1, 12), strict=False)], axis=-1, method=method)
    )
    if method != "sheather-jones-r":
        weights = rng.exponential(1.0, many.shape) * (rng.random(many.shape) < 0.9)
        batches.append(akde.bandwidth(many, axis=-1, method=method, weights=weights))
    out["batch"] = np.concatenate([batch.ravel() for batch in batches])
    x = SHAPES[1](rng, 45)
    held_out = []
    for bounds in (None, (0, None)):
        score = akde.compare(x, methods=[method], bounds=bounds, folds=5).rows[0].score
        # The kept answers count modes of at least 2 %.
        modes = akde.fit(x, method=method, bounds=bounds).modes(prominence=0.02)
        held_out.append([score.value, score.standard_error, len(modes)])
    out["held out"] = np.array(held_out)
    return out


def ensemble_answers(options):
    """What arrays of ensembles answer, with bounds, atoms and a climatology."""
    rng = np.random.default_rng(23)
    members = rng.gamma(2.0, 1.0, (10, 4, 9)) * (rng.random((10, 4, 1)) + 0.2)
    members[0, 0, 4:] = np.nan
    observed, past = rng.gamma(2.0, 0.8, (10, 4)), rng.gamma(2.0, 1.0, 300)
    rain, wet = np.where(members < 0.6, 0.0, members), np.where(observed < 0.7, 0.0, observed)
    kinds = (
        (members, observed, {}),
        (members, observed, {"bounds": (0, None)}),
        (members, observed, {"bounds": (0, 40)}),
        (rain, wet, {"bounds": (0, None), "atoms": (0,), "climatology": past}),
    )
    found = []
    for x, y, given in kinds:
        given = {**given, **options}
        found += [akde.ensembles.log_scores(x, y, **given), akde.ensembles.crps(x, y, **given)]
        found += [akde.ensembles.pit(x, y, seed=3, **given), *akde.ensembles.log_score_parts(x, y, **given)]
        found += [akde.ensembles.densities(x, [0.5, 3.0, 30.0], **given)]
        found += [akde.ensembles.probabilities(x, [0.0, 1.0, 20.0], above=above, **given) for above in (False, True)]
        found += [akde.ensembles.quantiles(x, [0.02, 0.5, 0.9], **given)]
    found += [akde.ensembles.atom_probabilities(rain, (0,))]
    return {"ensembles": np.concatenate([array.ravel() for array in found])}


def several_answers():
    """Log-densities, moments and a conditional quantile of samples in two to eight dimensions."""
    rng, found = np.random.default_rng(25), []
    for n, d, bounds, weighted in (
        (5, 2, None, False),
        (30, 3, None, True),
        (60, 2, [(0, None), None], False),
        (100, 8, None, False),
        (256, 5, None, False),
        (700, 2, None, True),
        (5000, 2, None, False),
    ):
        x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
        x[:, 0] = np.exp(0.5 * x[:, 0] / x[:, 0].std())
        x[: n // 5] = np.round(x[: n // 5], 1) + 0.05
        fitted = akde.fit(x, bounds=bounds, weights=rng.exponential(size=n) if weighted else None)
        at = np.concatenate([x[:5], x[:5] + 0.1, x[-3:] * 1.5])
        conditional = fitted.conditional({j: x[0, j] for j in range(1, d)})
        found += [fitted.logpdf(at), fitted.mean(), conditional.ppf([0.1, 0.5, 0.9])]
    return {"several": np.concatenate(found)}


def ends(case):
    """The bounds as arrays, infinite where open."""
    lower, upper = case.bounds or (None, None)
    return np.array([-np.inf if lower is None else lower], float), np.array([np.inf if upper is None else upper], float)


def own_frame_features():
    """What `adaptive` and `single` read of samples and of some of their points."""
    wholes, points = [], []
    for case in cases():
        found = describe(read_sample(case.x, weights=case.weights).as_batch(), *ends(case))
        some = np.unique(np.linspace(0, len(found.of_points) - 1, 3).astype(int))
        wholes.append(found.of_samples[0])
        points.append(np.concatenate([found.of_points[some].ravel(), found.masses[some], found.anchors[some]]))
    return {"sample features": np.concatenate(wholes), "point features": np.concatenate(points)}


def adaptive_shares():
    """Rungs, shares and local bandwidths at some points."""
    found = []
    for case in cases():
        try:
            d = akde.fit(case.x, method="amortized:adaptive", bounds=case.bounds, weights=case.weights)
        except DegenerateSampleError:
            continue
        ranks = np.linspace(0, d.points.size - 1, 5).astype(int)
        found += [d.bandwidths, d.shares[:, ranks].ravel(), d.local_bandwidths[ranks]]
    return {"shares": np.concatenate(found)}


def narrowed(name, folder):
    """Write the shipped model with a narrower range of training tasks.

    That of the shipped models is so wide that only clusters below the finest bandwidth lie outside.
    """
    model = load_model(name)
    arrays = {key: array.astype(np.float32) for key, array in model.arrays.items()}
    location, spread, *_ = arrays["standard.whole"]
    arrays["standard.whole"][2:] = location - 2.0 * spread, location + 2.0 * spread
    data = save(arrays)
    (folder / "weights.safetensors").write_bytes(data)
    (folder / "card.json").write_text(json.dumps({**model.card, "sha256": hashlib.sha256(data).hexdigest()}))
    return folder


def unlike_training(name):
    """Which samples are called unlike the training tasks, by the shipped model and by one that saw fewer kinds."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for method in (name, narrowed(name, Path(folder))):
            for x in outliers():
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    akde.bandwidth(x, method=f"amortized:{method}")
                found.append(any(issubclass(warning.category, UnlikeTrainingWarning) for warning in caught))
    return {"unlike": np.array(found, float)}


def paper_features():
    """The five features and the inputs that the paper's networks read."""
    raw = [moments(read_sample(case.x, weights=case.weights).as_batch()) for case in cases()]
    return {"features": np.concatenate([np.concatenate([row, network_inputs(row)], axis=1) for row in raw]).ravel()}


def training_losses(name):
    """The loss of the first two steps of a recipe; the second hangs on the update."""
    pytest.importorskip("jax", reason="training needs the train extra")
    with tempfile.TemporaryDirectory() as folder:
        log = _train(name, Path(folder))
    return {"loss": np.array([value for row in log for value in (row.score, row.validation)])}


def _train(name, out):
    from amortized_kde.research.training.loop import train
    from amortized_kde.research.training.recipe import Reuse, find_recipe

    if name == "archive":
        return _tune()
    recipe = find_recipe(name)
    if name in OWN_FRAME:
        tasks = dataclasses.replace(recipe.tasks, validation_tasks=50, standard_tasks=300, every=1)
        again = Reuse(steps=4, families=16, mixtures=12, open=8) if recipe.again.steps else recipe.again
        small = dataclasses.replace(recipe, steps=2, batch=48, draws=64, tasks=tasks, again=again)
        return train(small, out).log
    validation = dataclasses.replace(recipe.validation, tasks_per_size=1, every=1)
    return train(dataclasses.replace(recipe, steps=2, validation=validation), out).log


def _tune():
    from amortized_kde.research.training.archive.pairs import read_pairs
    from amortized_kde.research.training.archive.problem import Moved, tune
    from amortized_kde.research.training.archive.recipe import archive_recipe

    rng = np.random.default_rng(24)
    x = rng.normal(0.0, 3.0, (600, 1)) + rng.normal(size=(600, 10))
    pairs = read_pairs(x, 2.0 + 0.8 * x.mean(axis=1) + 1.5 * rng.normal(size=600), np.repeat(np.arange(100), 6))
    recipe = dataclasses.replace(archive_recipe(pairs, steps=2), batch=32, every=1)
    moved, late = Moved(pairs.members, pairs.observations, pairs.bounds), pairs.days >= 80
    return tune(recipe, moved.where(~late), moved.where(late)).log


def answers(name):
    """All that is kept of a method."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AmortizedKdeWarning)
        if name == "archive":
            return training_losses(name)
        if name == "multivariate":
            return several_answers()
        if name == "bandwidth":
            return {**ensemble_answers({"bandwidth": 0.4}), **paper_features()}
        if name in CLASSICAL:
            return {**selector_answers(name), **(ensemble_answers({"method": name}) if name == "silverman" else {})}
        out = selector_answers(f"amortized:{name}")
        if name in (*OWN_FRAME, "gmm32"):
            out |= ensemble_answers({"method": f"amortized:{name}"})
        if name in OWN_FRAME:
            out |= {**own_frame_features(), **unlike_training(name)}
        if name == "adaptive":
            out |= adaptive_shares()
        return {**out, **training_losses(name)}


def checksum(name):
    """The checksum of the model that answers, or nothing."""
    return akde.models()[name]["sha256"] if name in (*MODELS, "multivariate") else ""


def read(name):
    with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_those_that_were_kept(name):
    kept = read(name)
    assert str(kept.pop("checksum")) == checksum(name), (
        "the model was trained anew; write its golden answers, no others"
    )
    found = answers(name)
    assert found.keys() == kept.keys()
    for part, expected in kept.items():
        tolerance = TOLERANCES.get(part, 1e-12)
        close = np.isclose(found[part], expected, rtol=tolerance, atol=tolerance, equal_nan=True)
        if part == "one":
            close |= np.abs(found[part] - expected) <= roundings(name, expected)
        np.testing.assert_array_equal(found[part][~close], expected[~close], err_msg=f"{name}: {part}")


def roundings(name, kept):
    """How far the rounding of a bandwidth moves quantiles: with one of 1e7, a median near 0 has no 12 digits."""
    method = f"amortized:{name}" if name in MODELS else name
    found, first = np.zeros(kept.size), 0
    for case in used_cases(method):
        if case.weights is None or method != "sheather-jones-r":
            size = 1 if np.isnan(kept[first]) else 5 + 2 * points_of(case).size + PROBABILITIES.size
            found[first + size - PROBABILITIES.size : first + size] = 4e-16 * kept[first + 1] if size > 1 else 0.0
            first += size
    assert first == kept.size
    return found


@pytest.fixture
def in_numpy_only(monkeypatch):
    """One small sample is computed in NumPy, also where loops are compiled and SciPy is imported already."""
    monkeypatch.setattr(Loop, "_loaded", property(lambda self: None, lambda self, loop: None))
    monkeypatch.setattr(workload, "_LOADED_FROM", np.inf)
    monkeypatch.setattr(workload, "_COMPILED_FROM", np.inf)
    monkeypatch.setattr(special, "_pays", lambda arguments: False)


def small_answers(method):
    """What a selector answers for one sample of at most 1000 values, and where that is among the kept answers."""
    found, places, first = [], [], 0
    for case in used_cases(method):
        if case.weights is None or method != "sheather-jones-r":
            small = case.x.size <= SMALL
            answer = one_answer(method, case) if small else np.empty(5 + 2 * points_of(case).size + PROBABILITIES.size)
            kept = np.arange(answer.size)
            if np.unique(case.x).size == 2 and answer.size > PROBABILITIES.size:
                # Between two values the density is nearly 0, so that the last bit of a bandwidth moves the median.
                kept = kept[kept != answer.size - PROBABILITIES.size + np.flatnonzero(PROBABILITIES == 0.5)]
            found += [answer[kept]] if small else []
            places += [first + kept] if small else []
            first += answer.size
    return np.concatenate(found), np.concatenate(places), first


@pytest.mark.filterwarnings("ignore::amortized_kde.errors.AmortizedKdeWarning")
@pytest.mark.parametrize("name", [*MODELS, *CLASSICAL])
def test_one_small_sample_has_the_same_answers_without_the_compiler(name, in_numpy_only):
    method = f"amortized:{name}" if name in MODELS else name
    found, places, total = small_answers(method)
    kept = read(name)["one"]
    assert (total, found.size) == (kept.size, places.size)
    close = np.isclose(found, kept[places], rtol=1e-12, atol=1e-12, equal_nan=True)
    close |= np.abs(found - kept[places]) <= roundings(name, kept)[places]
    np.testing.assert_array_equal(found[~close], kept[places][~close])


@pytest.mark.filterwarnings("ignore::amortized_kde.errors.AmortizedKdeWarning")
def test_features_and_shares_of_one_small_sample_are_the_same_without_the_compiler(in_numpy_only):
    model = load_model("adaptive")
    for case in cases():
        if case.x.size <= SMALL:
            batch, compared = read_sample(case.x, weights=case.weights).as_batch(), []
            for size in (batch.values.size, SMALL + 1):
                with workload.one_sample(size):
                    features, answer = describe(batch, *ends(case)), smooth(model, batch, *ends(case))
                    compared.append((features.of_samples, features.of_points, answer.shares, answer.epsilons))
            for one, other in zip(*compared, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


FAULTS = (
    ("learned.adaptive.large", "_PENALTY", 3.0, lambda: selector_answers("amortized:adaptive"), "one"),
    ("learned.adaptive.prediction", "_FAR", 0.5, lambda: unlike_training("adaptive"), "unlike"),
    ("learned.adaptive.summary", "FAR", 1e2, own_frame_features, "sample features"),
)


@pytest.mark.filterwarnings("ignore::amortized_kde.errors.AmortizedKdeWarning")
@pytest.mark.parametrize(
    ("module", "constant", "wrong", "answer", "part"), FAULTS, ids=[f"{fault[0]}.{fault[1]}" for fault in FAULTS]
)
def test_a_changed_constant_is_seen(module, constant, wrong, answer, part, monkeypatch):
    monkeypatch.setattr(import_module(f"amortized_kde.{module}"), constant, wrong)
    off = np.abs(answer()[part] - read("adaptive")[part])
    assert np.nanmax(off) > 1e-6


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="renew the answers instead of comparing them")
    parser.add_argument("names", nargs="*", default=NAMES)
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    for name in options.names:
        found = answers(name)
        if options.write:
            np.savez_compressed(FOLDER / f"{name}.npz", checksum=checksum(name), **found)
            continue
        for part, array in found.items():
            expected = read(name)[part]
            off = np.flatnonzero(~((array == expected) | (np.isnan(array) & np.isnan(expected))).ravel())
            worst = np.max(np.abs(array - expected).ravel()[off], initial=0.0)
            print(f"{name:18} {part:16} {array.size:6} numbers, {off.size} differ, by {worst:.2g} at most")


if __name__ == "__main__":
    main()
