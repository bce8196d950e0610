"""Densities as plain Python data, as JSON has it, and back."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from amortized_kde._types import Array, Index
from amortized_kde.data.reading import read_bounds, read_numbers
from amortized_kde.data.support import Bounds
from amortized_kde.density.background import Background
from amortized_kde.density.parts import Parts, check_parts
from amortized_kde.errors import AmortizedKdeError, InvalidParameterError

FORMAT = 1
_NAMES = ("format", *Parts._fields)
_LONGEST_TEXT = 10_000


def parts_to_dict(parts: Parts) -> dict[str, Any]:
    """Return the parts as numbers, texts and lists of these; None for open sides and for what there is not.

    The background is its location and scale; its bounds are those of the density.
    """
    data = {name: part.tolist() if isinstance(part, np.ndarray) else part for name, part in parts._asdict().items()}
    back = parts.background
    return {
        "format": FORMAT,
        **data,
        "background": None if back is None else [back.location, back.scale],
        "bounds": [end if math.isfinite(end) else None for end in parts.bounds],
        "domain": None if parts.domain is None else list(parts.domain),
    }


def parts_of_dict(data: Mapping[str, Any]) -> Parts:
    """Return the parts that `parts_to_dict` described, or raise an `InvalidParameterError`."""
    if not isinstance(data, Mapping):
        raise InvalidParameterError(f"from_dict takes a dict made by to_dict, not a {type(data).__name__}.")
    if set(data) != set(_NAMES):
        odd = ", ".join(sorted(map(str, set(_NAMES) ^ set(data)))[:10])[:200]
        raise InvalidParameterError(f"this dict was not made by KernelDensity.to_dict: it lacks or adds {odd}.")
    if data["format"] != FORMAT:
        raise InvalidParameterError(f"the dict is not in format {FORMAT}, the only one that this version reads.")
    try:
        parts = _read(data)
        check_parts(parts)
    except AmortizedKdeError as error:
        raise InvalidParameterError(f"the dict does not describe a valid density: {str(error).rstrip('.')}.") from None
    return parts


def _read(data: Mapping[str, Any]) -> Parts:
    bounds, background = read_bounds(data["bounds"]), data["background"]
    return Parts(
        points=read_numbers(data["points"], "points"),
        weights=read_numbers(data["weights"], "weights"),
        bandwidths=read_numbers(data["bandwidths"], "bandwidths"),
        shares=None if data["shares"] is None else read_numbers(data["shares"], "shares"),
        epsilon=float(_numbers(data["epsilon"], "epsilon", ())),
        background=None if background is None else Background(*bounds, *_numbers(background, "background", (2,))),
        bounds=bounds,
        domain=None if data["domain"] is None else Bounds(*_numbers(data["domain"], "domain", (2,)).tolist()),
        method=_text(data["method"], "method"),
        anchors=None if data["anchors"] is None else _ranks(data["anchors"]),
        name=_text(data["name"], "name"),
    )


def _numbers(value: Any, what: str, shape: tuple[int, ...]) -> Array:
    numbers = read_numbers(value, what)
    if numbers.shape != shape:
        raise InvalidParameterError(
            f"{what} must be {shape[0] if shape else 'one'} numbers, not of shape {numbers.shape}"
        )
    return numbers


def _ranks(value: Any) -> Index:
    numbers = read_numbers(value, "anchors")
    if not np.all((numbers == np.rint(numbers)) & (np.abs(numbers) < 2.0**53)):
        raise InvalidParameterError("anchors must be whole numbers")
    return numbers.astype(np.int64)


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        raise InvalidParameterError(f"{what} must be a text of at most {_LONGEST_TEXT} characters")
    return value
