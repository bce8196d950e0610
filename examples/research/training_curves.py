"""
How the models were trained
===========================

Committed logs of the trainings. Run it inside a clone of the repository. ``amortized-kde train adaptive`` repeats
the first, which takes about fifty minutes on two cores.
"""

import csv
from pathlib import Path

import matplotlib.pyplot as plt

import amortized_kde as akde

# The folder of results, from anywhere inside the repository.
here = Path.cwd()
RESULTS = next(
    folder / "results" for folder in (here, *here.parents) if (folder / "results").is_dir()
)


def read(name):
    with open(RESULTS / "training" / f"{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


for name, card in akde.models().items():
    recipe = card["recipe"]
    print(
        f"{name:<12} world {recipe['world']:<12} {card['last_step']:>6} steps of {recipe['batch']} tasks"
    )

# %%
# Scores of every step's own tasks, and of validation tasks that are never trained on.

names = ("adaptive", "single", "gmm32", "multifamily")
figure, axes = plt.subplots(2, 2, figsize=(9, 6), layout="constrained")
for ax, name in zip(axes.flat, names, strict=True):
    rows = read(name)
    ax.plot(
        [int(r["step"]) for r in rows],
        [float(r["score"]) for r in rows],
        color="0.7",
        linewidth=0.7,
        label="training",
    )
    judged = [(int(r["step"]), float(r["validation"])) for r in rows if r["validation"]]
    ax.plot(*zip(*judged, strict=True), "C0.-", label="validation")
    low = min(score for _, score in judged)
    ax.set(title=name, xlabel="step", ylabel="mean score (bits)", ylim=(low - 0.3, low + 0.6))
axes[0, 0].legend(frameon=False)
plt.show()
