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
# Scores of every step's own tasks, and of validation tasks that are never trained on. Those of ``adaptive``
# include penalties from step 6000 on; ``single`` is trained on other worlds too.

names = ("adaptive", "single", "gmm32", "multifamily")
figure, axes = plt.subplots(2, 2, figsize=(9, 6), layout="constrained")
for ax, name in zip(axes.flat, names, strict=True):
    rows = read(name)
    steps, scores = [int(r["step"]) for r in rows], [float(r["score"]) for r in rows]
    ax.plot(steps, scores, color="0.7", linewidth=0.7, label="training")
    judged = [(int(r["step"]), float(r["validation"])) for r in rows if r["validation"]]
    ax.plot(*zip(*judged, strict=True), "C0.-", label="validation")
    shown = (min(scores) - 0.05, max(score for _, score in judged) + 0.05)
    ax.set(title=name, xlabel="step", ylabel="mean score (bits)", ylim=shown)
    ax.locator_params(axis="x", nbins=5)
axes[0, 0].legend(frameon=False)
plt.show()
