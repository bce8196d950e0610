"""What a visitor's page has computed, kept while the page is open and no longer."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar, cast

import streamlit as st

Answer = TypeVar("Answer")

_KEY = "computed"
# Densities of a million values take a hundred megabytes each.
_MOST, _MOST_LARGE, _LARGE = 60, 8, 100_000


def remembered(key: Hashable, compute: Callable[[], Answer], *, size: int = 0) -> Answer:
    """Compute once for each key, of which the last ones are kept; `size` is how many values the sample has.

    Streamlit's own caches are shared by all visitors, outlive them, and take two large arrays for the same if a part of
    their values agrees.
    """
    kept = cast("OrderedDict[Hashable, object]", st.session_state.setdefault(_KEY, OrderedDict()))
    if key not in kept:
        kept[key] = compute()
    kept.move_to_end(key)
    while len(kept) > (_MOST_LARGE if size > _LARGE else _MOST):
        kept.popitem(last=False)
    return cast(Answer, kept[key])


def forget() -> None:
    """Drop everything, for instance because there is another sample."""
    st.session_state.pop(_KEY, None)
