"""What the training loop needs to know of a model: its network, its tasks and its loss."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from numpy.typing import NDArray

from amortized_kde._types import Array, Single
from amortized_kde.research.training.recipe import EarlyStop, Recipe

Outputs = tuple[Array, ...]
Slopes = tuple[Single, ...]
Forward = Callable[..., tuple[Any, ...]]


class Batch(Protocol):
    """Tasks made ready for a step."""

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The float32 arrays that the forward pass takes."""
        ...


class Problem(ABC):
    """A network, its tasks and its loss.

    The loop makes one step of Adam along the slopes of `score_and_slopes` for the tasks of each `step`, and scores the
    moving average of the weights on those of `validation`. What `step` returns may depend on the step's number, and on
    nothing else: a resumed run then ends with the same bits as an unbroken one.

    Attributes
    ----------
    recipe : Recipe
    every : int
        Steps from one validation to the next.
    forward : callable
        The forward pass in JAX, ``forward(network, *inputs)``; a tuple of outputs. Runs with the same function and
        options share its compiled code.
    final_rate : float, optional
        The learning rate at the last step relative to the first, reached along a cosine; default: constant.
    early_stop : EarlyStop, optional
    keeps_best : bool
        Keep the weights with the lowest validation score rather than the last.
    """

    recipe: Recipe
    every: int
    forward: Forward
    final_rate: float | None = None
    early_stop: EarlyStop | None = None
    keeps_best: ClassVar[bool] = True

    @abstractmethod
    def start(self) -> Any:
        """Return the network before the first step, a JAX tree of arrays."""

    @abstractmethod
    def step(self, step: int) -> Batch:
        """Return the tasks of a step."""

    @abstractmethod
    def validation(self) -> Batch:
        """Return the tasks on which validation scores are computed."""

    @abstractmethod
    def score(self, batch: Any, outputs: Outputs) -> float:
        """Return the mean score of a batch in bits, in full precision."""

    @abstractmethod
    def score_and_slopes(self, batch: Any, outputs: Outputs) -> tuple[float, Slopes]:
        """Return the mean score of a batch in bits and its derivative with respect to every output."""

    @abstractmethod
    def arrays(self, network: Any) -> dict[str, NDArray[Any]]:
        """Return the arrays of a model's file by name."""

    @abstractmethod
    def card(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """Return what a model's card says besides the entries common to all."""
