"""The one table of names that ``method=`` takes. A selector joins by a row here."""

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from amortized_kde._outcome import Selection
from amortized_kde._types import Array, Index
from amortized_kde.data.sample import Samples
from amortized_kde.data.support import Bounds
from amortized_kde.errors import InvalidParameterError
from amortized_kde.learned.adaptive.prediction import select_adaptive, select_single
from amortized_kde.learned.paper.prediction import select_amortized
from amortized_kde.learned.store import OWN_FRAME, Model, load_model, read_model
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.selection import crossvalidation, plugin, rules
from amortized_kde.selection.rules import weighted_spreads

Rows = Callable[[Array, Index, Array | None, Array | None, float, float, Array, Index, int, int], None]


class Select(Protocol):
    """How a selector is asked: for many samples, with their hard bounds and, where they differ, the known ends
    of the working domain."""

    def __call__(
        self, samples: Samples, bounds: Bounds, frame: Bounds | None = None, *, threads: int | None = None
    ) -> Selection:
        """Give one bandwidth a sample; NaN and a negative code where there is none."""
        ...


@dataclass(frozen=True)
class Selector:
    """A name, a sentence about it, the function that answers, and whether it wants ascending values.

    `adaptive` gives the model with which a density is made, if that has more than one bandwidth.
    """

    name: str
    summary: str
    select: Select
    ascending: bool = True
    adaptive: Callable[[], Model] | None = None


def _compiled(rows: Rows, work: float, *, unweighted: str = "") -> Select:
    """A selector from its compiled loop; its cost grows with n^work, which decides whether threads are worth it.

    `unweighted` is a sentence that says why it knows no weights.
    """

    def select(
        samples: Samples, bounds: Bounds, frame: Bounds | None = None, *, threads: int | None = None
    ) -> Selection:
        if unweighted and samples.unequal.any():
            raise InvalidParameterError(unweighted)
        out, codes = np.full(len(samples), np.nan), np.zeros(len(samples), np.int64)
        # Samples with equal weights take the same path as if they had none, beside whatever they stand.
        for part, wanted in _by_kind(samples):
            found, told = np.full(len(part), np.nan), np.zeros(len(part), np.int64)
            weighted = part.weights is not None
            beside = (part.counts, weighted_spreads(part, threads=threads)) if weighted else (None, None)
            given = part.values, part.offsets, *beside, bounds.lower, bounds.upper, found, told
            run_in_pieces(
                partial(rows, *given),
                len(part),
                operations=float(np.sum(part.sizes.astype(np.float64) ** work)),
                threads=threads,
            )
            out[wanted], codes[wanted] = found, told
        return Selection(out, codes)

    return select


def _by_kind(samples: Samples) -> Iterator[tuple[Samples, NDArray[np.bool_] | slice]]:
    """The samples with equal weights and those with unequal ones, each with their places; all at once if alike."""
    if samples.weights is None or samples.unequal.all():
        yield samples, slice(None)
        return
    for wanted in (samples.unequal, ~samples.unequal):
        yield samples.where(wanted), wanted


def _learned(load: Callable[[], Model]) -> Select:
    """A selector from a model, loaded when it is first asked."""

    def select(
        samples: Samples, bounds: Bounds, frame: Bounds | None = None, *, threads: int | None = None
    ) -> Selection:
        model = load()
        if model.output == "adaptive":
            return select_adaptive(model, samples, bounds, threads=threads)
        if model.output == "single":
            return select_single(model, samples, bounds, threads=threads)
        return select_amortized(model, samples, bounds if frame is None else frame, threads=threads)

    return select


def _shipped(model: str) -> Callable[[], Model]:
    return lambda: load_model(model)


def _paper(model: str, summary: str) -> Selector:
    return Selector(f"amortized:{model}", summary, _learned(_shipped(model)), False)


_R_UNWEIGHTED = (
    "method 'sheather-jones-r' repeats R's bw.SJ, which has no weights; leave them out or take 'sheather-jones'."
)

SELECTORS: dict[str, Selector] = {
    entry.name: entry
    for entry in (
        Selector(
            "amortized",
            "The shipped default: adaptive for a density, single for a bandwidth.",
            _learned(_shipped("single")),
            adaptive=_shipped("adaptive"),
        ),
        Selector(
            "amortized:adaptive",
            "Shares of a ladder of bandwidths for every point, learned on data of all kinds.",
            _learned(_shipped("adaptive")),
            adaptive=_shipped("adaptive"),
        ),
        Selector("amortized:single", "One bandwidth, learned on data of all kinds.", _learned(_shipped("single"))),
        _paper("gaussian", "sd(S) F(n), learned on normal samples."),
        _paper("multifamily", "Learned on ten bounded families."),
        _paper("gmm8", "Learned on mixtures of 8 Gaussians."),
        _paper("gmm16", "Learned on mixtures of 16 Gaussians."),
        _paper("gmm32", "Learned on mixtures of 32 Gaussians."),
        Selector(
            "silverman", "Normal-reference rule, 0.9 min(sd, IQR/1.34) n^(-1/5).", _compiled(rules.silverman_rows, 1)
        ),
        Selector("scott", "Scott's rule in R's form, 1.06 min(sd, IQR/1.34) n^(-1/5).", _compiled(rules.scott_rows, 1)),
        Selector(
            "sheather-jones", "Plug-in, solve-the-equation, solved tightly.", _compiled(plugin.sheather_jones_rows, 2)
        ),
        Selector(
            "sheather-jones-r",
            "R's bw.SJ (ste), digit for digit.",
            _compiled(plugin.sheather_jones_r_rows, 2, unweighted=_R_UNWEIGHTED),
        ),
        Selector("lscv", "Least squares on the paper's grid of 60.", _compiled(crossvalidation.lscv_rows, 2)),
        Selector("lcv", "Leave-one-out likelihood, truncated at bounds.", _compiled(crossvalidation.lcv_rows, 2)),
    )
}


def _stamp(folder: Path) -> tuple[int, ...]:
    """When the files of a folder were last written."""
    return tuple(sorted(path.stat().st_mtime_ns for path in folder.iterdir()))


@lru_cache(maxsize=8)
def _read_once(folder: Path, stamp: tuple[int, ...]) -> Model:
    """The model in a folder, read once for many calls, and anew when it was trained further."""
    return read_model(folder)


def find_selector(name: str) -> Selector:
    """Look a selector up; ``amortized:FOLDER`` is a model of one's own.

    Raises
    ------
    InvalidParameterError
        If there is no such name; the sentence suggests the nearest.
    UnreadableFileError
        If the folder holds no sound model.
    """
    if isinstance(name, str) and name in SELECTORS:
        return SELECTORS[name]
    folder = Path(str(name).removeprefix("amortized:"))
    if str(name).startswith("amortized:") and folder.is_dir():
        return selector_of(name, _read_once(folder, _stamp(folder)))
    near = difflib.get_close_matches(str(name).lower(), SELECTORS, n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise InvalidParameterError(f"there is no method {name!r}.{hint} The methods are: {', '.join(SELECTORS)}.")


def selector_of(name: str, model: Model) -> Selector:
    """Make a selector of a model that has no row in the table."""
    own_frame = model.output in OWN_FRAME
    adaptive = (lambda: model) if model.output == "adaptive" else None
    return Selector(name, "A model of one's own.", _learned(lambda: model), own_frame, adaptive)
