"""Hostile calls: random samples, arguments, tables, saved densities and model folders, and the laws they must obey."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import amortized_kde as akde
from amortized_kde.errors import AmortizedKdeError, PrecisionError
from amortized_kde.integrations.tables import read_column
from amortized_kde.learned import store

MASS = SUM = 1e-9
# Largest samples for which the mass is found by quadrature too.
QUADRATURE = 1000
NODES, WEIGHTS = np.polynomial.legendre.leggauss(10)
# Numbers in float64 within a bandwidth that quadrature to 1e-9 needs.
RESOLVED = 1e9
# Shares of the laws besides the distribution function, and of level sets among shapes: these take half of all time.
LAW_SHARES = [0.25, 0.25, 0.35, 0.15]
REGION_SHARE = 0.2
Rng = np.random.Generator


def sample(rng: Rng) -> Any:
    """Return a sample, most often of up to 100 values, at most of 10,000."""
    n = int(10.0 ** rng.uniform(0.0, 4.0 if rng.random() < 0.02 else 2.0))
    kinds: list[Callable[[], Any]] = [
        lambda: rng.normal(size=n),
        lambda: rng.standard_cauchy(n),
        lambda: rng.gamma(0.1, size=n),
        lambda: rng.integers(0, 3, n).astype(float),
        lambda: rng.normal(size=n).round(1),
        lambda: np.append(rng.normal(size=n), 10.0 ** rng.uniform(0, 100)),
        lambda: np.exp(rng.normal(scale=50.0, size=n)),
    ]
    x = kinds[rng.integers(7)]()
    scale = rng.choice([1.0, 1.0, 1e-6, 1e6, 1e-100, 1e100, 1e-300, 1e-310, 5e-324])
    offset = 10.0 ** rng.uniform(-10, 16) if rng.random() < 0.2 else 0.0
    with np.errstate(all="ignore"):
        return np.clip(np.nan_to_num(x * scale + offset * scale), -1e300, 1e300)


def spoiled(x: Any, rng: Rng) -> Any:
    """Return the sample as something that is not one."""
    bad = [
        np.append(x, np.nan), np.append(x, np.inf), x.reshape(1, -1), x.astype(str), [*x, [1.0]], [], None, "text",
        b"bytes", {"a": 1}, x.astype(complex), 3.0, [10**400], object(), x > 0, np.ma.masked_equal([1.0], 1.0),
    ]  # fmt: skip
    return bad[rng.integers(len(bad))]


def bounds(x: Any, rng: Rng) -> Any:
    """Return bounds, in one case of fourteen invalid ones."""
    low, high = float(np.min(x)), float(np.max(x))
    wide = (high - low) * 10.0 ** rng.uniform(-3, 6)
    good = [None, (None, None), (low, None), (None, high), (low - wide, high + wide), (low, high), (-1e300, 1e300)]
    bad = [(high, low), (1,), "ab", {0, 1}, (np.nan, 1), (None, 10**400), b"ab", (low, low)]
    return good[rng.integers(len(good))] if rng.random() < 0.93 else bad[rng.integers(len(bad))]


def density_call(rng: Rng, folder: Path) -> str | None:
    """Fit a density, or build one from a bandwidth, and check it."""
    x = sample(rng)
    given = x if rng.random() < 0.9 else spoiled(x, rng)
    limits = bounds(x, rng)
    weights = 10.0 ** rng.uniform(-300, 0, x.size) if rng.random() < 0.15 else None
    names = ["amortized", *akde.selectors()] if x.size <= 300 else ["amortized", "amortized:single", "silverman"]
    method = names[rng.integers(len(names))] if rng.random() < 0.97 else "no such method"
    if rng.random() < 0.3:
        h: Any = [0.5, 1e-300, 5e-324, 1e-12, 1e300, 1e306, 0.0, -1.0, float("nan"), "a"][rng.integers(10)]
        return check(akde.KernelDensity(given, h, bounds=limits, weights=weights), rng)
    nan: Any = ["raise", "omit"][rng.integers(2)]
    return check(akde.fit(given, bounds=limits, weights=weights, method=method, nan=nan), rng)


def bandwidth_call(rng: Rng, folder: Path) -> str | None:
    """Select bandwidths of a batch, which are positive, or NaN with a warning."""
    rows = np.array([sample(rng)[:1] for _ in range(6)]).reshape(2, 3) if rng.random() < 0.5 else sample(rng)[None]
    if rng.random() < 0.3:
        rows[rng.random(rows.shape) < 0.3] = rng.choice([np.nan, np.inf, 1e308])
    methods = akde.selectors() if rows.size <= 300 else ("silverman", "scott")
    found = akde.bandwidth(rows, axis=-1, method=str(rng.choice(list(methods))))
    return None if np.all((found > 0.0) & np.isfinite(found) | np.isnan(found)) else "a bandwidth that is not positive"


def table_call(rng: Rng, folder: Path) -> str | None:
    """Read a column of a damaged table."""
    odd = ["1,5", "1.000,5", "1e400", "inf", "nan", "NA", "", '"8"', '"a\nb"', 'x"', "abc", "\x00", "\ufeff"]
    cells = ["1", "-2.5", "3e1", *odd]
    mark, end = rng.choice([",", ";", "\t", " "]), rng.choice(["\n", "\r\n", "\r"])
    often = np.where(np.arange(len(cells)) < 3, 8.0, 1.0)
    size = int(10.0 ** rng.uniform(0.0, 4.3 if rng.random() < 0.02 else 1.3))
    picked = rng.choice(cells, (size, 2), p=often / often.sum())
    content = bytearray(end.join([f"a{mark}b"] * rng.integers(2) + [mark.join(row) for row in picked]).encode())
    for _ in range(rng.integers(3)):
        content[rng.integers(len(content))] = rng.integers(256)
    path = folder / "table.csv"
    path.write_bytes(content)
    read = read_column(str(path), str(rng.integers(1, 3)), nan="omit" if rng.random() < 0.7 else "raise")
    return None if read.values.size and np.isfinite(read.values).all() else "a column that is not finite"


def saved_call(rng: Rng, folder: Path) -> str | None:
    """Load a saved density with other bytes, half the time with right checksums; what is accepted obeys all laws."""
    path, bank = folder / "density.npz", folder / f"bank-{rng.integers(3)}.npz"
    if not bank.exists():
        x = np.sort(np.random.default_rng(0).gamma(2.0, size=30))
        kinds = [akde.fit(x, bounds=(0, None)), akde.KernelDensity(x, 0.3), akde.KernelDensity(x, 0.3, bounds=(0, 20))]
        kinds[int(bank.stem[-1])].save(bank)
    content = bank.read_bytes()
    if rng.random() < 0.5:
        path.write_bytes(_damaged(content, rng))
    else:
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
            entries = {entry.filename: old.read(entry) for entry in old.infolist()}
            name = sorted(entries)[rng.integers(len(entries))]
            for entry, data in entries.items():
                new.writestr(entry, _damaged(data, rng) if entry == name else data)
        path.write_bytes(out.getvalue())
    return check(akde.KernelDensity.load(path), rng)


def _damaged(content: bytes, rng: Rng) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        changed[rng.integers(len(changed))] = rng.integers(256)
    return bytes(changed[: rng.integers(len(changed))] if rng.random() < 0.1 else changed)


def model_call(rng: Rng, folder: Path) -> str | None:
    """Use a model folder with another card or other weights; what is accepted gives finite bandwidths."""
    names = sorted(store._folders())
    source = store._folders()[names[rng.integers(len(names))]]
    weights, card = (source / "weights.safetensors").read_bytes(), json.loads((source / "card.json").read_text())
    if rng.random() < 0.4:
        weights = _damaged(weights, rng)
        card["sha256"] = hashlib.sha256(weights).hexdigest()
    else:
        _change(card, rng)
    text = json.dumps(card).encode()
    model = folder / "model"
    model.mkdir(exist_ok=True)
    (model / "card.json").write_bytes(_damaged(text, rng) if rng.random() < 0.2 else text)
    (model / "weights.safetensors").write_bytes(weights)
    found = akde.bandwidth(np.arange(12.0) ** 1.5, method=f"amortized:{model}")
    return None if np.all(np.isfinite(found) & (found > 0.0)) else "a bandwidth that is not finite"


def _change(card: Any, rng: Rng) -> None:
    """Replace or delete one entry of a card, at any depth."""
    values = [None, [], {}, "", "x" * 300, -1, 0, 10**30, 1e308, float("nan"), True, [[1]], {"a": 1}]
    at = card
    while True:
        key = list(at)[rng.integers(len(at))] if isinstance(at, dict) else int(rng.integers(len(at)))
        if not (isinstance(at[key], (dict, list)) and at[key]) or rng.random() < 0.2:
            break
        at = at[key]
    if rng.random() < 0.3:
        del at[key]
    else:
        at[key] = values[rng.integers(len(values))]


# Shares of the calls.
KINDS: dict[str, tuple[float, Callable[[Rng, Path], str | None]]] = {
    "density": (0.5, density_call),
    "bandwidth": (0.15, bandwidth_call),
    "table": (0.15, table_call),
    "saved density": (0.12, saved_call),
    "model folder": (0.08, model_call),
}


def call(rng: Rng, folder: Path) -> tuple[str, str | None]:
    """Return the kind of one call, and what was wrong with it."""
    names = list(KINDS)
    kind = names[int(rng.choice(len(names), p=[share for share, _ in KINDS.values()]))]
    try:
        return kind, KINDS[kind][1](rng, folder)
    except AmortizedKdeError as error:
        return kind, None if 10 < len(str(error)) < 1500 else "an exception without a sentence"
    except Exception as error:
        return kind, f"{type(error).__name__}: {str(error)[:80]}"


def check(d: Any, rng: Rng) -> str | None:
    """Return which law a density breaks; the distribution function is always checked, and one of the other laws."""
    laws = [check_inverse, check_draws, check_mass, check_shape]
    return check_distribution(d) or laws[rng.choice(4, p=LAW_SHARES)](d, rng)


def check_distribution(d: Any) -> str | None:
    """Check mass, monotone cdf, cdf + sf = 1 and finite log-densities on a grid, at the points and far away."""
    low, high = d.support()
    inner = np.sort(np.append(d.grid(8), d.points[:: max(1, d.points.size // 8)]))
    far = np.array([-1e300, -1e155, 1e155, 1e300])
    y = np.unique(np.concatenate([inner, far[(far > low) & (far < high)], [low, high]]))
    cdf, sf, log = d.cdf(y), d.sf(y), d.logpdf(y)
    if np.isnan(cdf).any() or np.isnan(sf).any() or np.isnan(log).any():
        return "NaN from finite input"
    if abs(cdf[-1] - 1.0) > MASS or abs(cdf[0]) > MASS:
        return "mass"
    if np.abs(cdf + sf - 1.0).max() > SUM:
        return "cdf + sf"
    if np.diff(cdf).min() < -SUM:
        return "cdf is not monotone"
    return None if np.isfinite(log[np.isfinite(y)]).all() else "log-density is not finite inside the bounds"


def check_inverse(d: Any, rng: Rng) -> str | None:
    """Check that quantiles are finite and monotone, and invert the distribution function."""
    p = np.sort(rng.random(5))
    q = d.ppf(p)
    if not np.isfinite(q).all() or np.diff(q).min() < 0.0:
        return "quantiles are not monotone"
    below, above = d.cdf(np.nextafter(q, -np.inf)), d.cdf(np.nextafter(q, np.inf))
    return "inverse" if np.any(p < below - SUM) or np.any(p > above + SUM) else None


def check_draws(d: Any, rng: Rng) -> str | None:
    """Check that draws lie inside the bounds, and that moments are finite."""
    low, high = d.support()
    draws = d.sample(5, rng=1)
    if not (np.isfinite(draws).all() and (draws >= low).all() and (draws <= high).all()):
        return "draws"
    return None if np.isfinite([d.mean(), d.std()]).all() else "moments"


def check_shape(d: Any, rng: Rng) -> str | None:
    """Check that modes and intervals are finite, and that the density says so where it cannot give them."""
    low, high = d.support()
    try:
        places = d.modes().places
        ends = np.ravel(d.interval(0.9))
        pieces = np.ravel(d.region(0.5)) if rng.random() < REGION_SHARE else ends
    except PrecisionError:
        return None
    if np.isnan(places).any() or np.isnan(ends).any() or np.isnan(pieces).any():
        return "modes or intervals are NaN"
    return None if np.all((places >= low) & (places <= high)) else "modes outside the bounds"


def check_mass(d: Any, rng: Rng) -> str | None:
    """Check the mass by quadrature of the pdf, where float64 resolves one bandwidth and the bounds."""
    points = np.unique(d.points)
    if d.epsilon > 0.0 or d.bandwidths.size > 1 or points.size > QUADRATURE:
        return None
    h, (low, high) = float(d.bandwidths[0]), d.support()
    # A node is rounded by up to half the spacing, which changes the density there by that part of itself. Below 1e-280
    # nodes and weights are subnormal, and the density overflows.
    if not max(1e-280, RESOLVED * np.spacing(np.abs(points).max())) < min(h, high - low) or h > 1e280:
        return None
    # Cells of two bandwidths, nine bandwidths around each point: ten nodes in each are exact to 1e-15.
    near = np.unique(np.floor((points - points[0]) / (2.0 * h))[:, None] + np.arange(-5.0, 6.0))
    edges = np.clip(points[0] + 2.0 * h * np.stack([near, near + 1.0]), low, high)
    half = np.diff(edges, axis=0)[0] / 2.0
    y = edges[0][:, None] + half[:, None] * (1.0 + NODES)
    mass = float(np.sum((d.pdf(y.ravel()).reshape(y.shape) @ WEIGHTS) * half))
    return None if abs(mass - 1.0) <= MASS else "mass by quadrature"
