"""Prepare tasks in several dimensions: candidates of a sample and their log-densities at draws of the truth.

Fitting candidates takes most of the time and does not depend on the network, so it is done once and kept in files.
"""

import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

from amortized_kde import fit
from amortized_kde._files import replacing
from amortized_kde._types import Array
from amortized_kde.errors import AmortizedKdeError, AmortizedKdeWarning
from amortized_kde.learned.multivariate.experts import BROAD, COLUMNS, KERNELS, ROUND, SHRUNK, Experts, Mixture
from amortized_kde.learned.multivariate.features import MOST_LEFT_OUT, describe, features_of, nothing
from amortized_kde.learned.multivariate.frames import frame_of
from amortized_kde.numerics.normal_mixtures import MEAN_PRIOR, WEIGHT_PRIOR
from amortized_kde.numerics.threads import available_threads
from amortized_kde.research.tasks.dimensions import random_truth

# Draws at which a task is scored.
DRAWS = 64
# Log-densities of candidates are kept relative to the truth, and cut here.
_LOWEST, _HIGHEST = -60.0, 30.0
TASKS_PER_FILE = 100


class Prepared(NamedTuple):
    """Tasks: inputs (t, f), stacked weights (t, c), log-ratios to the truth (t, DRAWS, c), variances (t, c), sizes.

    Variances of candidates are those of the frame's coordinates, in which the sample's are 1.
    """

    inputs: Array
    stacked: Array
    ratios: Array
    variances: Array
    sizes: Array

    @classmethod
    def read(cls, paths: Sequence[Path]) -> "Prepared":
        """Return the tasks of some files, with the network's inputs as they are defined now."""
        found = []
        for path in paths:
            with np.load(path) as file:
                left_out, sizes, kept = file["left_out"], file["sizes"], (file["ratios"], file["variances"])
            ends = np.cumsum(np.minimum(sizes[:, 0], MOST_LEFT_OUT))[:-1]
            rows = [
                features_of(logs.astype(np.float64), np.full(len(logs), 1.0 / len(logs)), float(n), int(d))
                for logs, (n, d) in zip(np.split(left_out, ends), sizes, strict=True)
            ]
            inputs, stacked = (np.stack(parts).astype(np.float32) for parts in zip(*rows, strict=True))
            found.append((inputs, stacked, *kept, sizes))
        return cls(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def prepare_files(folder: Path, seed: int, count: int) -> list[Path]:
    """Prepare `count` files of tasks, those that are missing, in two processes; show the progress."""
    from rich.progress import track

    folder.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(available_threads(), mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(prepare_file, folder, seed, number) for number in range(count)]
        return [job.result() for job in track(jobs, description="preparing tasks")]


def prepare_task(seed: tuple[int, ...]) -> tuple[Array, Array, Array, Array]:
    """Return left-out log-densities (a, c) of all candidates, log-ratios at draws, variances, and (n, d) of a task."""
    rng = np.random.default_rng(seed)
    d = int(rng.choice([2, 3, 4, 5, 6, 7, 8], p=[0.28, 0.2, 0.14, 0.14, 0.08, 0.08, 0.08]))
    low, high = (256, 4096) if rng.random() < 0.08 else (d + 2, 256)
    n = int(np.exp(rng.uniform(np.log(low), np.log(high + 1))))
    truth = random_truth(d, rng)
    x, draws = truth.draw(n, rng), truth.draw(DRAWS, rng)
    if rng.random() < 0.05:
        columns = rng.random(d) < 0.5
        unit = x.std(axis=0) * np.exp(rng.uniform(np.log(0.02), np.log(0.3)))
        x[:, columns] = (np.round(x / unit) * unit)[:, columns]
    bounds = truth.bounds
    for column, (lower, upper) in zip(x.T, bounds, strict=True):
        # Rounding can put a value outside.
        np.clip(column, lower, upper, out=column)
    weights = np.full(n, 1.0 / n)
    margins = tuple(fit(x[:, j], bounds=bounds[j]) for j in range(d))
    free = all(low is None and high is None for low, high in bounds)
    truth_logs = truth.log_density(draws)[:, None]
    left_out, logs, variances = [], [], []
    for frame in (frame_of(x, weights) if free else None, frame_of(x, weights, margins)):
        if frame is None:
            left_out.append(nothing(min(n, MOST_LEFT_OUT)))
            logs.append(np.full((DRAWS, COLUMNS), -np.inf))
            variances.append(np.zeros(COLUMNS))
        else:
            described = describe(x, weights, frame)
            left_out.append(described.left_out)
            logs.append(described.logs(draws))
            variances.append(variances_of(described.experts))
    joined = np.concatenate(left_out, axis=1)
    ratios = np.clip(np.concatenate(logs, axis=1) - truth_logs, _LOWEST, _HIGHEST)
    return joined, ratios, np.concatenate(variances), np.array([n, d])


def variances_of(experts: Experts) -> Array:
    """Return the variance of every candidate in the frame's coordinates, their mean over coordinates, (COLUMNS,)."""
    found = [0.0 if mixture is None else _mixture_variance(mixture) for mixture in experts.mixtures]
    found += [1.0 + h**2 for h in ROUND] + [1.0] * (KERNELS - len(ROUND))
    found += [scale**2 * dof / (dof - 2.0) for dof, scale in BROAD] + [1.0] * len(SHRUNK)
    return np.array(found)


def _mixture_variance(mixture: Mixture) -> float:
    post, (dofs, free) = mixture.posterior, mixture.predictive_dofs()
    weights = (post.counts + WEIGHT_PRIOR) / (post.counts + WEIGHT_PRIOR).sum()
    mass = post.masses + MEAN_PRIOR
    factors = (mass + 1.0) / (mass * free) / (1.0 - 2.0 / dofs)
    inside = factors * np.trace(post.scatters, axis1=1, axis2=2)
    return float(weights @ (inside + np.sum((post.means - weights @ post.means) ** 2, axis=1)) / post.means.shape[1])


def prepare_file(folder: str | os.PathLike[str], seed: int, number: int) -> Path:
    """Write one file of tasks unless it is there; tasks without an answer are left out."""
    path = Path(folder) / f"tasks-{seed}-{number:05d}.npz"
    if path.exists():
        return path
    rows = []
    for task in range(TASKS_PER_FILE):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", AmortizedKdeWarning)
            try:
                row = prepare_task((seed, number, task))
            except (AmortizedKdeError, np.linalg.LinAlgError):
                continue
        if np.isfinite(row[1]).all() and not np.isnan(row[0]).any() and np.isfinite(row[2]).all():
            rows.append(row)
    left_out, ratios, variances, sizes = zip(*rows, strict=True)
    with replacing(path) as file:
        np.savez(
            file,
            allow_pickle=False,
            left_out=np.concatenate(left_out).astype(np.float32),
            ratios=np.stack(ratios).astype(np.float16),
            variances=np.stack(variances).astype(np.float32),
            sizes=np.stack(sizes),
        )
    return path
