"""The selectors by name, for ``method=``. A selector joins by a row in `SELECTORS`."""

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from amortized_kde._outcome import Selection
from amortized_kde._types import Array, Flags
from amortized_kde.data.sample import Samples
from amortized_kde.data.support import Bounds
from amortized_kde.errors import InvalidParameterError
from amortized_kde.learned.model import Model
from amortized_kde.learned.store import load_model, read_model, stamp
from amortized_kde.numerics.threads import run_in_pieces
from amortized_kde.selection import crossvalidation, diffusion, plugin, rules
from amortized_kde.selection.rules import Rows, weighted_spreads

# Longer names are cut in messages.
_LONGEST_NAME = 100


class Select(Protocol):
    """How bandwidths are selected for many samples."""

    def __call__(
        self, samples: Samples, bounds: Bounds, frame: Bounds | None = None, *, threads: int | None = None
    ) -> Selection:
        """Return one bandwidth per sample; NaN and a negative code where there is none.

        `frame` holds the known ends of the working domain, where these differ from the hard bounds.
        """
        ...


@dataclass(frozen=True)
class Selector:
    """A bandwidth selector.

    Attributes
    ----------
    name : str
        For ``method=``.
    summary : str
        One sentence.
    select : Select
        Selects bandwidths.
    ascending : bool
        Whether it needs ascending values. All have them, since a sum in another order differs in the last bits.
    adaptive : callable or None
        Returns the model that predicts the density, where that has more than one bandwidth.
    """

    name: str
    summary: str
    select: Select
    ascending: bool = True
    adaptive: Callable[[], Model] | None = None


@dataclass(frozen=True)
class Classical:
    """Selection by a compiled loop.

    Attributes
    ----------
    loop : callable
        ``loop(rows, start, stop)`` writes bandwidths and codes of these rows.
    power : float
        The cost grows as n to this power, which decides whether threads are worth while.
    unweighted : str
        The error message if it cannot take weights.
    """

    loop: Callable[[Rows, int, int], None]
    power: float
    unweighted: str = ""

    def __call__(
        self, samples: Samples, bounds: Bounds, frame: Bounds | None = None, *, threads: int | None = None
    ) -> Selection:
        """Select bandwidths; the classical selectors know no working domain."""
        if self.unweighted and samples.unequal.any():
            raise InvalidParameterError(self.unweighted)
        h, codes = np.full(len(samples), np.nan), np.zeros(len(samples), np.int64)
        # Samples with equal weights are computed as without weights, also beside samples with unequal ones.
        for part, where in _by_weighting(samples):
            weighted = part.weights is not None
            counts, spreads = (part.counts, weighted_spreads(part, threads=threads)) if weighted else (None, None)
            found, found_codes = np.full(len(part), np.nan), np.zeros(len(part), np.int64)
            rows = Rows(part.values, part.offsets, counts, spreads, bounds.lower, bounds.upper, found, found_codes)
            run_in_pieces(
                partial(self.loop, rows),
                len(part),
                operations=float(np.sum(part.sizes.astype(np.float64) ** self.power)),
                threads=threads,
            )
            h[where], codes[where] = found, found_codes
        return Selection(_positive(h), codes)


def _positive(h: Array) -> Array:
    """Bandwidths, where they underflow the smallest float64."""
    return np.where(h == 0.0, np.nextafter(0.0, 1.0), h)


def _by_weighting(samples: Samples) -> Iterator[tuple[Samples, Flags | slice]]:
    """The samples with unequal weights and those with equal ones, each with their indices; all at once if alike."""
    if samples.weights is None or samples.unequal.all():
        yield samples, slice(None)
        return
    for wanted in (samples.unequal, ~samples.unequal):
        yield samples.where(wanted), wanted


@dataclass(frozen=True)
class Learned:
    """Selection by a model, which is loaded at the first call."""

    load: Callable[[], Model]

    def __call__(
        self, samples: Samples, bounds: Bounds, frame: Bounds | None = None, *, threads: int | None = None
    ) -> Selection:
        """Select bandwidths as the model's architecture does."""
        model = self.load()
        found = model.architecture.select(model, samples, bounds, frame, threads=threads)
        return found._replace(bandwidths=_positive(found.bandwidths))


def _shipped(model: str) -> Callable[[], Model]:
    return partial(load_model, model)


def _paper(model: str, summary: str) -> Selector:
    return Selector(f"amortized:{model}", summary, Learned(_shipped(model)))


_R_UNWEIGHTED = (
    "method 'sheather-jones-r' repeats R's bw.SJ, which has no weights; leave them out or take 'sheather-jones'."
)

SELECTORS: dict[str, Selector] = {
    entry.name: entry
    for entry in (
        Selector(
            "amortized",
            "The default: `amortized:adaptive` in `fit`, `amortized:single` in `bandwidth`.",
            Learned(_shipped("single")),
            adaptive=_shipped("adaptive"),
        ),
        Selector(
            "amortized:adaptive",
            "Shares of a ladder of bandwidths for every point, learned on many kinds of data.",
            Learned(_shipped("adaptive")),
            adaptive=_shipped("adaptive"),
        ),
        Selector("amortized:single", "One bandwidth, learned on many kinds of data.", Learned(_shipped("single"))),
        _paper("gaussian", "sd(S) F(n), learned on normal samples."),
        _paper("multifamily", "Learned on ten bounded families."),
        _paper("gmm8", "Learned on mixtures of 8 Gaussians."),
        _paper("gmm16", "Learned on mixtures of 16 Gaussians."),
        _paper("gmm32", "Learned on mixtures of 32 Gaussians."),
        Selector(
            "silverman",
            "Normal-reference rule, 0.9 min(sd, IQR/1.34) n^(-1/5); R's `nrd0`.",
            Classical(rules.silverman_rows, 1),
        ),
        Selector("scott", "Scott's rule, 1.06 min(sd, IQR/1.34) n^(-1/5); R's `nrd`.", Classical(rules.scott_rows, 1)),
        Selector(
            "sheather-jones",
            "Sheather and Jones's plug-in, the equation solved to full precision.",
            Classical(plugin.sheather_jones_rows, 2),
        ),
        Selector(
            "sheather-jones-r",
            "R's `SJ` (bw.SJ, ste), digit for digit.",
            Classical(plugin.sheather_jones_r_rows, 2, unweighted=_R_UNWEIGHTED),
        ),
        Selector("isj", "Improved Sheather-Jones, by diffusion (Botev et al. 2010).", Classical(diffusion.isj_rows, 2)),
        Selector(
            "lscv",
            "Least-squares cross-validation on the paper's grid of 60 bandwidths.",
            Classical(crossvalidation.lscv_rows, 2),
        ),
        Selector(
            "lcv",
            "Likelihood cross-validation (leave-one-out), truncated at bounds.",
            Classical(crossvalidation.lcv_rows, 2),
        ),
    )
}

# What the default stands for, by what is wanted.
DEFAULTS = {"density": "amortized:adaptive", "bandwidth": "amortized:single"}
# R's names in `density(bw = ...)`, in small letters since R ignores case, of methods that give R's numbers.
ALIASES = {"sj": "sheather-jones-r", "sj-ste": "sheather-jones-r", "nrd0": "silverman", "nrd": "scott"}
# Other names of R's and other libraries', and what to take instead.
_HINTS = {
    "ucv": "R's bw.ucv bins the data; use 'lscv', least-squares cross-validation without binning.",
    "bcv": "Biased cross-validation is not implemented; use 'lscv' or 'sheather-jones'.",
    "sj-dpi": "R's direct plug-in is not implemented; use 'SJ', the solve-the-equation form.",
    "botev": "Botev's method is 'isj'.",
    "cv_ml": "That is 'lcv', likelihood cross-validation.",
    "cv_ls": "That is 'lscv', least-squares cross-validation.",
    "normal_reference": "The normal-reference rules are 'scott' and 'silverman'.",
    "improved_sheather_jones": "That is 'isj'.",
}


@lru_cache(maxsize=8)
def _read_once(folder: Path, stamp: tuple[object, ...]) -> Model:
    """The model in a folder, read again only when its files have changed."""
    return read_model(folder)


def find_selector(name: str, wanted: Literal["density", "bandwidth"] | None = None) -> Selector:
    """Return the selector of this name; ``amortized:FOLDER`` reads a model of your own.

    R's names (`ALIASES`) return the selector that gives R's numbers. If it is known what is `wanted`, ``amortized``
    returns the selector that it stands for, so that results carry its name.

    Raises
    ------
    InvalidParameterError
        If there is no such name; the message suggests the nearest.
    UnreadableFileError
        If the model in the folder is missing or damaged.
    """
    if not isinstance(name, str):
        raise InvalidParameterError(_not_a_name(name))
    known = DEFAULTS[wanted] if name == "amortized" and wanted else ALIASES.get(name.lower(), name)
    if known in SELECTORS:
        return SELECTORS[known]
    model = own_model(name)
    if model is not None:
        return selector_of(name, model)
    shown = name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "…"
    raise InvalidParameterError(f"there is no method {shown!r}.{_hint(name)} The methods are: {', '.join(SELECTORS)}.")


def own_model(name: str) -> Model | None:
    """Return the model in the folder of ``amortized:FOLDER``, or None if that is no folder."""
    folder = Path(name.removeprefix("amortized:"))
    if not (name.startswith("amortized:") and _is_folder(folder)):
        return None
    return _read_once(folder, stamp(folder))


def _not_a_name(method: object) -> str:
    number = isinstance(method, (float, int, np.number)) and not isinstance(method, bool)
    instead = f"; pass a bandwidth of your own to fit, as bandwidth={method}" if number else ""
    return f"a method is a name, not of type {type(method).__name__}{instead}. The methods are: {', '.join(SELECTORS)}."


def _hint(name: str) -> str:
    """What to take instead of an unknown method, after a blank."""
    if name.lower() in _HINTS:
        return f" {_HINTS[name.lower()]}"
    # The search for the nearest name takes time that grows with the square of the length.
    near = difflib.get_close_matches(name[:_LONGEST_NAME].lower(), SELECTORS, n=1, cutoff=0.4)
    return f" Did you mean {near[0]!r}?" if near else ""


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        # A name that is too long, or that no file can have.
        return False


def selector_of(name: str, model: Model) -> Selector:
    """Return a selector for a model that is not in the table."""

    def load() -> Model:
        return model

    return Selector(name, "A model of your own.", Learned(load), adaptive=load if model.architecture.adaptive else None)
