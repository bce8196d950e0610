"""The picture of a training run: training and validation scores against the step."""

from pathlib import Path

from amortized_kde.density.plotting import COLOURS, new_axes, save_figure
from amortized_kde.research.training.checkpoint import LogRow


def draw_log(log: list[LogRow], path: Path, *, name: str) -> None:
    """Draw a log and write it to `path`; the axis leaves out the steep fall at first, and the costliest steps."""
    ax = new_axes()
    scored = [row for row in log if row.validation is not None]
    ax.plot([row.step for row in log], [row.score for row in log], color="0.7", linewidth=0.8, label="training")
    ax.plot(
        [r.step for r in scored],
        [r.validation for r in scored],
        "o-",
        color=COLOURS[0],
        markersize=3,
        label="validation",
    )
    scores = sorted(row.score for row in log[len(log) // 20 :])
    usual = scores[: max(1, 9 * len(scores) // 10)]
    late = usual + [r.validation for r in scored[1:] if r.validation is not None]
    if late:
        margin = 0.05 * (max(late) - min(late)) + 1e-9
        ax.set_ylim(min(late) - margin, max(late) + margin)
    ax.set_xlabel("step")
    ax.set_ylabel("mean score (bits)")
    ax.set_title(f"training of {name}", fontsize=10)
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    save_figure(ax, str(path))
