"""Bandwidth selectors: classical rules, learned models, and the registry of their names.

A selector takes many samples at once; one sample is a batch of one. The classical selectors ignore the bounds, as in
the paper (Appendix A.4), except for ``lcv``.
"""

from amortized_kde._outcome import FAILURES, FALLBACKS, OK, UNLIKE_TRAINING, Selection
from amortized_kde.learned.adaptive.prediction import Smoothing, ladder_at_anchors, ladder_of_one, smooth, ways_unlike
from amortized_kde.selection.registry import SELECTORS, Selector, find_selector, selector_of

__all__ = [
    "FAILURES",
    "FALLBACKS",
    "OK",
    "SELECTORS",
    "UNLIKE_TRAINING",
    "Selection",
    "Selector",
    "Smoothing",
    "find_selector",
    "ladder_at_anchors",
    "ladder_of_one",
    "selector_of",
    "smooth",
    "ways_unlike",
]
