"""Which time steps are learned from, which choose the kept step, and which are kept for the report.

Neighbouring days are alike, so a shuffled split would let a model see what it is judged on. Time is cut into blocks of
equal length instead. Of every five in a row three are for training, one is for validation and one is held out, and
which of the five moves on from one group to the next, so that no season is always on the same side.
"""

from dataclasses import dataclass

import numpy as np

from amortized_kde._types import Index
from amortized_kde.errors import InvalidSampleError

TRAINING, VALIDATION, HELD_OUT = range(3)
# Twelve groups of five are enough for every season of a year or of ten; shorter blocks than five steps would leak.
_GROUP, _MOST_GROUPS, _FEWEST_GROUPS, _SHORTEST = 5, 12, 2, 5
# A bootstrap of fewer pieces of time would hardly know its own spread.
_PIECES = 20


@dataclass(frozen=True, eq=False)
class Split:
    """The block (steps,) of each time step, and the part (blocks,) that each block belongs to."""

    blocks: Index
    parts: Index

    def part_of(self, times: Index) -> Index:
        """Say to which part time steps belong."""
        return self.parts[self.blocks[times]]

    @property
    def length(self) -> int:
        """Time steps of a block, at least."""
        return int(np.bincount(self.blocks).min())

    @property
    def piece_length(self) -> int:
        """Time steps of the pieces that are drawn in a bootstrap of the held-out blocks."""
        held_out = int(np.sum(self.parts == HELD_OUT))
        return max(1, self.length // -(-_PIECES // held_out))

    def pieces_of(self, times: Index) -> Index:
        """Number the pieces that time steps fall into, from 0 in the order of time; no piece crosses a block."""
        first = np.searchsorted(self.blocks, self.blocks[times])
        within = np.minimum((times - first) // self.piece_length, self.length // self.piece_length - 1)
        return np.unique(self.blocks[times] * len(self.blocks) + within, return_inverse=True)[1].reshape(times.shape)


def split_time(steps: int) -> Split:
    """Cut time steps 0 .. steps - 1 into blocks, and say what each is for.

    Raises
    ------
    InvalidSampleError
        If there are too few.

    Examples
    --------
    >>> split = split_time(1095)
    >>> split.parts[:10], split.length, split.piece_length
    (array([0, 1, 0, 2, 0, 2, 0, 0, 1, 0]), 18, 9)
    """
    groups = min(_MOST_GROUPS, steps // (_GROUP * _SHORTEST))
    if groups < _FEWEST_GROUPS:
        raise InvalidSampleError(
            f"the archive has {steps} time steps, too few to hold blocks of time out: at least "
            f"{_FEWEST_GROUPS * _GROUP * _SHORTEST} are needed."
        )
    number = groups * _GROUP
    parts = np.full(number, TRAINING)
    first = np.arange(groups)
    # Positions 1 and 3 of the first group, then two further on in each; 2 and 5 have no common divisor.
    parts[_GROUP * first + (1 + 2 * first) % _GROUP] = VALIDATION
    parts[_GROUP * first + (3 + 2 * first) % _GROUP] = HELD_OUT
    return Split(np.arange(steps) * number // steps, parts)
