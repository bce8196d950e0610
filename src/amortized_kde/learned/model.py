"""A trained model, and the record that an architecture of networks is described by."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from amortized_kde._outcome import Selection
from amortized_kde._types import Array
from amortized_kde.data.sample import Samples
from amortized_kde.data.support import Bounds

Arrays = Mapping[str, Array]


class SelectByModel(Protocol):
    """How a model selects bandwidths for many samples."""

    def __call__(
        self,
        model: "Model",
        samples: Samples,
        bounds: Bounds,
        frame: Bounds | None = None,
        *,
        threads: int | None = None,
    ) -> Selection:
        """Return one bandwidth per sample; `frame` is the working domain where that differs from the bounds."""
        ...


@dataclass(frozen=True)
class Architecture:
    """A kind of network: how to read it and how it selects bandwidths. `store.ARCHITECTURES` lists all.

    Attributes
    ----------
    shapes : callable
        Returns the shapes of all arrays, by name, given the network in a model's card.
    network : callable
        Converts a model's arrays to what its forward pass takes.
    select : callable
        Selects one bandwidth per sample.
    own_frame : bool
        True if it reads samples in the frame of their own location and scale. Otherwise it reads moments in a working
        domain.
    adaptive : bool
        True if it predicts a density with many bandwidths (`adaptive.prediction.smooth`).
    """

    shapes: Callable[[Mapping[str, Any]], dict[str, tuple[int, ...]]]
    network: Callable[[Arrays], Any]
    select: SelectByModel
    own_frame: bool = False
    adaptive: bool = False


@dataclass(frozen=True, eq=False)
class Model:
    """A trained network: its name, its architecture, its arrays and its card."""

    name: str
    architecture: Architecture
    arrays: Arrays = field(repr=False)
    card: dict[str, Any] = field(repr=False)

    @cached_property
    def network(self) -> Any:
        """The network as its forward pass takes it."""
        return self.architecture.network(self.arrays)
