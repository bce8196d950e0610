"""The exceptions and warnings that this package raises.

Every exception is also the built-in kind that a caller would expect to catch.
Each message is one sentence: what was wrong, where, and what to do.
"""

__all__ = [
    "AmortizedKdeError",
    "AmortizedKdeWarning",
    "BadRowsWarning",
    "DegenerateSampleError",
    "FallbackWarning",
    "InvalidBoundsError",
    "InvalidParameterError",
    "InvalidSampleError",
    "MissingExtraError",
    "UnlikeTrainingWarning",
    "UnreadableFileError",
]


class AmortizedKdeError(Exception):
    """Whatever this package raises on purpose."""


class InvalidSampleError(AmortizedKdeError, ValueError):
    """A sample, its weights or its outcomes cannot be used: empty, missing, infinite, not numbers, wrong shape."""


class InvalidBoundsError(AmortizedKdeError, ValueError):
    """The bounds are not an interval, or the sample does not lie inside them."""


class InvalidParameterError(AmortizedKdeError, ValueError):
    """An option is outside its range, or a method has no such name."""


class DegenerateSampleError(AmortizedKdeError, ValueError):
    """The sample is well formed, but carries no scale from which a bandwidth could follow."""


class UnreadableFileError(AmortizedKdeError, OSError):
    """A file cannot be read, or does not hold what was asked of it."""


class MissingExtraError(AmortizedKdeError, ImportError):
    """An optional library is not installed."""


class AmortizedKdeWarning(UserWarning):
    """Whatever this package warns of."""


class FallbackWarning(AmortizedKdeWarning):
    """A selector could not answer in its own way and took the documented other one."""


class BadRowsWarning(AmortizedKdeWarning):
    """Some samples of a batch have no answer; theirs is NaN."""


class UnlikeTrainingWarning(AmortizedKdeWarning):
    """A sample is unlike all that a model was trained on; its answer is sound, but not known to be good."""
