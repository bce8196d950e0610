"""Exceptions and warnings.

Every exception also derives from the built-in that a caller would expect. A message says what is wrong, where, and what
to do.
"""

import os
import sys
import warnings

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
    "PrecisionError",
    "SlowStartWarning",
    "UnlikeTrainingWarning",
    "UnreadableFileError",
    "UnwritableFileError",
    "warn_caller",
]


class AmortizedKdeError(Exception):
    """Base of all exceptions of this package."""


class InvalidSampleError(AmortizedKdeError, ValueError):
    """A sample, its weights or outcomes are empty, missing, infinite, not numeric or of the wrong shape."""


class InvalidBoundsError(AmortizedKdeError, ValueError):
    """The bounds are not an interval, or the sample does not lie inside them."""


class InvalidParameterError(AmortizedKdeError, ValueError):
    """An option is outside its range, or no method has the given name."""


class DegenerateSampleError(AmortizedKdeError, ValueError):
    """The sample has no scale from which to choose a bandwidth: a single value, or all values equal."""


class UnreadableFileError(AmortizedKdeError, OSError):
    """A file cannot be read, or does not hold what it should."""


class UnwritableFileError(AmortizedKdeError, OSError):
    """A file cannot be written; what was there before is unchanged."""


class PrecisionError(AmortizedKdeError, ArithmeticError):
    """A result has no accurate digit in float64, or would take more work than is reasonable."""


class MissingExtraError(AmortizedKdeError, ImportError):
    """An optional library is not installed."""


class AmortizedKdeWarning(UserWarning):
    """Base of all warnings of this package."""


class FallbackWarning(AmortizedKdeWarning):
    """A selector could not be applied as defined and used its documented fallback."""


class BadRowsWarning(AmortizedKdeWarning):
    """Some samples of a batch have no result; theirs is NaN."""


class UnlikeTrainingWarning(AmortizedKdeWarning):
    """A sample is unlike the training data of a model; its result is valid, but its accuracy is unknown."""


class SlowStartWarning(AmortizedKdeWarning):
    """Compiled code cannot be kept on disk; the first calls are slow in every process."""


_PACKAGE = os.path.dirname(__file__) + os.sep


def warn_caller(message: str, category: type[Warning], *, through: tuple[str, ...] = ()) -> None:
    """Warn with the line of the nearest caller outside of this package, which is the one that a reader can change.

    Folders of other libraries in `through` are not outside.
    """
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_PACKAGE, *through)):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
