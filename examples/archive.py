"""An archive of forecasts, from file to file: scores of every cell, a model trained on it, and what that changed.

Three years of simulated daily forecasts of temperature (biased, underdispersed, with seasons) and of rain (dry on half
of the days) are stored as Zarr, trained on, and scored lazily on later days, before and after. Writes archive.png into
the current folder; the archive goes to FOLDER, or to a temporary one, and has DAYS days, at least 420.

    python examples/archive.py [FOLDER [DAYS]]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import xarray as xr

import amortized_kde.integrations.xarray  # noqa: F401  (registers .akde)
from amortized_kde.cli import app
from amortized_kde.density.plotting import COLOURS, new_figure, save_figure
from amortized_kde.integrations.xarray.archives import archive_of
from amortized_kde.research.training.archive.pairs import read_pairs
from amortized_kde.research.training.archive.recipe import archive_recipe
from amortized_kde.research.training.archive.report import table_lines
from amortized_kde.research.training.archive.train import train_archive

DAYS, MEMBERS = int(sys.argv[2]) if len(sys.argv) > 2 else 1095, 20
LATITUDES, LONGITUDES = np.arange(44.0, 56.0, 6.0), np.arange(0.0, 20.0, 8.0)
CELLS = (DAYS, LATITUDES.size, LONGITUDES.size)
# Days that are trained on; the others are scored.
TRAINED = DAYS * 60 // 73
# 200 for three years: fewer than the default of 1000, to be quick.
STEPS = 200 * DAYS // 1095


def weather(rng, memory=0.8):
    """Draw a field that changes slowly from day to day, in part alike everywhere."""
    noise = 0.8 * rng.normal(size=(DAYS, 1, 1)) + 0.6 * rng.normal(size=CELLS)
    field = np.empty(CELLS)
    field[0] = noise[0]
    for day in range(1, DAYS):
        field[day] = memory * field[day - 1] + np.sqrt(1.0 - memory**2) * noise[day]
    return field


def temperature(rng):
    """Draw members and truth: where two weather regimes are possible, errors have two modes."""
    year = np.sin(2.0 * np.pi * (np.arange(DAYS) - 110.0) / 365.25)[:, None, None]
    known = 283.0 - 0.7 * (LATITUDES[:, None] - 50.0) + 9.0 * year + 4.0 * weather(rng)
    spread = rng.gamma(8.0, 0.2, CELLS) * (1.3 - 0.4 * year)
    two = weather(rng) > 0.6
    shape = (*CELLS, MEMBERS + 1)
    apart = np.where(rng.random(shape) < 0.6, 1.0, -1.0) * 1.4 * two[..., None]
    error = spread[..., None] * (
        apart + rng.normal(size=shape) * np.where(two, 0.4, 1.0)[..., None]
    )
    # Too warm, most of all in the north, and too sure.
    bias = 1.0 + 0.1 * (LATITUDES[:, None] - 44.0)
    return (known + bias)[..., None] + 0.5 * error[..., 1:], known + error[..., 0]


def rain(rng):
    """Draw members and truth, in mm a day; 0 where it is dry."""
    wet = weather(rng)
    shape = (*CELLS, MEMBERS + 1)
    chance = 1.0 / (1.0 + np.exp(-2.5 * wet))[..., None]
    amount = rng.gamma(0.8, 1.0, shape) * 4.0 * np.exp(0.6 * wet)[..., None]
    drawn = np.where(rng.random(shape) < chance, amount, 0.0)
    return drawn[..., 1:], drawn[..., 0]


def make_archive():
    """Make forecasts and observations as one labelled Dataset."""
    rng, names = np.random.default_rng(2026), ("time", "lat", "lon", "member")
    coords = {
        "time": np.datetime64("2023-01-01", "ns") + np.arange(DAYS) * np.timedelta64(1, "D"),
        "lat": ("lat", LATITUDES, {"units": "degrees_north"}),
        "lon": ("lon", LONGITUDES, {"units": "degrees_east"}),
    }
    made = {}
    for name, draw, units in (("t2m", temperature, "K"), ("rain", rain, "mm")):
        members, truth = draw(rng)
        # Every hundredth member did not arrive.
        members[rng.random(members.shape) < 0.01] = np.nan
        made[name] = (names, members.astype(np.float32), {"units": units})
        made[f"{name}_obs"] = (names[:3], truth, {"units": units})
    return xr.Dataset(made, coords)


def train(data, name, out, **support):
    """Calibrate the forecasts of one variable, and shape their densities.

    On the command line: amortized-kde train --archive archive.zarr --var t2m --obs-var t2m_obs --out my-run
    """
    rows = archive_of(data[name], data[f"{name}_obs"])
    more = {"covariates": rows.covariates, "places": rows.places}
    pairs = read_pairs(rows.members, rows.observations, rows.days, **more, **support)
    outcome = train_archive(archive_recipe(pairs, name=name, steps=STEPS), pairs, out)
    print(name, *table_lines(outcome.report), sep="\n")
    return outcome.report


def judge(past, late, models):
    """Score later days before and after; all of it is lazy, and computed at once."""
    tuned, wetter = (f"amortized:{model}" for model in models)
    # Where no member has rain, the amount is what the past says of it.
    wet = {"bounds": (0, None), "atoms": (0,), "climatology": past.rain_obs.values}
    after = late.rain.akde.log_score_parts(late.rain_obs, method=wetter)
    scores = {
        "before": late.t2m.akde.log_scores(late.t2m_obs),
        "after": late.t2m.akde.log_scores(late.t2m_obs, method=tuned),
        "pit_before": late.t2m.akde.pit(late.t2m_obs),
        "pit_after": late.t2m.akde.pit(late.t2m_obs, method=tuned),
        **{str(name)[5:]: part for name, part in after.items()},
        "pit_rain": late.rain.akde.pit(late.rain_obs, **wet),
        "pit_rain_after": late.rain.akde.pit(late.rain_obs, method=wetter),
        "chance": 1.0
        - late.rain.akde.atom_probabilities((0,), method=wetter).isel(atom=0, drop=True),
    }
    return xr.Dataset({name: array.drop_attrs() for name, array in scores.items()}).compute()


def draw(found, report):
    figure = new_figure(11.0, 6.4)
    axes = figure.subplots(2, 3)
    low, high = 2.0, float(found.before.mean("time").max())
    for ax, name, title in zip(
        axes[0], ("before", "after"), ("as shipped", "trained"), strict=False
    ):
        mean = found[name].mean("time")
        image = ax.pcolormesh(
            mean.lon, mean.lat, mean, vmin=low, vmax=high, cmap="viridis_r", shading="nearest"
        )
        for (i, j), value in np.ndenumerate(mean.values):
            ax.text(
                mean.lon[j],
                mean.lat[i],
                f"{value:.2f}",
                ha="center",
                va="center",
                fontsize=7,
                color="white",
            )
        ax.set(title=f"temperature: bits, {title}", xlabel="longitude", ylabel="latitude")
    figure.colorbar(image, ax=axes[0, 1], label="mean score (bits)")
    edges = np.linspace(0.0, 1.0, 21)
    show_pit(
        axes[0, 2],
        {"as shipped": found.pit_before, "trained": found.pit_after},
        edges,
        "temperature",
    )
    show_report(axes[1, 0], report)
    show_rain(axes[1, 1], found)
    show_pit(
        axes[1, 2], {"as shipped": found.pit_rain, "trained": found.pit_rain_after}, edges, "rain"
    )
    save_figure(axes[0, 0], "archive.png")


def show_pit(ax, values, edges, title):
    for colour, (name, pit) in zip(COLOURS, values.items(), strict=False):
        ax.hist(
            pit.values.ravel(),
            edges,
            density=True,
            histtype="step",
            color=colour,
            linewidth=1.5,
            label=name,
        )
    ax.axhline(1.0, color="0.5", linewidth=0.8, linestyle=":")
    ax.set(
        title=f"{title}: reliability",
        xlabel="probability integral transform",
        ylabel="density",
        xlim=(0, 1),
    )
    ax.legend(frameon=False, fontsize=8)


def show_report(ax, report):
    rows = [
        row
        for row in report.rows[:-1]
        if row.method not in ("raw ensemble, as shipped", "climatology")
    ]
    for place, row in enumerate(rows):
        ax.errorbar(
            row.difference,
            place,
            xerr=[[row.difference - row.low], [row.high - row.difference]],
            fmt="o",
            color=COLOURS[0],
            capsize=3,
        )
    ax.axvline(0.0, color="0.5", linewidth=0.8)
    ax.set_yticks(range(len(rows)), [row.method.replace(", ", ",\n") for row in rows], fontsize=8)
    ax.set(
        title="temperature: bits behind",
        xlabel="with 95 % intervals",
        ylim=(-0.5, len(rows) - 0.5),
    )


def show_rain(ax, found):
    edges = np.linspace(0.0, 1.0, 6)
    parts = (
        found[["log_score_occurrence", "log_score_amount"]]
        .groupby_bins(found.chance, edges)
        .mean()
    )
    middles, bottom = 0.5 * (edges[1:] + edges[:-1]), np.zeros(edges.size - 1)
    for colour, name in zip(COLOURS, ("occurrence", "amount"), strict=False):
        part = parts[f"log_score_{name}"].values
        ax.bar(middles, part, bottom=bottom, color=colour, label=name, width=0.17)
        bottom += part
    ax.set(
        title="rain: the two parts of the score",
        xlabel="forecast chance of rain",
        ylabel="mean score (bits)",
    )
    ax.legend(frameon=False, fontsize=8)


def main(folder):
    path, models = folder / "archive.zarr", (folder / "t2m", folder / "rain")
    make_archive().chunk(time=365).to_zarr(path, mode="w", consolidated=False)
    data = xr.open_zarr(path, consolidated=False)
    past, late = data.isel(time=slice(TRAINED)), data.isel(time=slice(TRAINED, None))
    report = train(past, "t2m", models[0])
    train(past, "rain", models[1], bounds=(0, None), atoms=(0,))
    found = judge(past, late, models)
    for name in ("before", "after"):
        print(f"{name:<7} {float(found[name].mean()):.3f} bits on {late.time.size} later days")
    draw(found, report)
    # The same densities for people who do not write Python: the chance of more than 20 °C, and quantiles.
    arguments = (
        f"{path} --var t2m --method amortized:{models[0]} --above 293.15 --quantiles 0.1,0.5,0.9"
    )
    app(
        ["ensemble", *arguments.split(), "--out", str(folder / "warm.zarr"), "--overwrite"],
        standalone_mode=False,
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
