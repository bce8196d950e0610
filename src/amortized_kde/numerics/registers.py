"""Numbers of SIMD loops: formulas with them become LLVM's instructions.

A register has eight lanes; LLVM splits it where the processor's are shorter.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar

from amortized_kde.numerics.jit import cgutils, ir

LANES = 8
_ALIGN = 8
# A product and a sum may become one instruction; nothing is reordered.
_FUSED = ("contract",)


class Kinds(NamedTuple):
    """LLVM's types: float64, int64, int32, and a register of float64."""

    number: Any
    index: Any
    word: Any
    vector: Any


@cache
def kinds() -> Kinds:
    """Return LLVM's types; a function, so that importing this module imports no compiler."""
    return Kinds(ir.DoubleType(), ir.IntType(64), ir.IntType(32), ir.VectorType(ir.DoubleType(), LANES))


def _shuffled(builder: Any, first: Any, second: Any, lanes: Sequence[int]) -> Any:
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(kinds().word, LANES), list(lanes)))


@dataclass(frozen=True, eq=False)
class Whole:
    """An int64."""

    builder: Any
    value: Any

    def _with(self, other: "Whole | int") -> Any:
        return other.value if isinstance(other, Whole) else ir.Constant(kinds().index, other)

    def __add__(self, other: "Whole | int") -> "Whole":
        return Whole(self.builder, self.builder.add(self.value, self._with(other)))

    def __sub__(self, other: "Whole | int") -> "Whole":
        return Whole(self.builder, self.builder.sub(self.value, self._with(other)))

    def __mul__(self, other: "Whole | int") -> "Whole":
        return Whole(self.builder, self.builder.mul(self.value, self._with(other)))

    def __and__(self, other: "Whole | int") -> "Whole":
        return Whole(self.builder, self.builder.and_(self.value, self._with(other)))

    def __or__(self, other: "Whole | int") -> "Whole":
        return Whole(self.builder, self.builder.or_(self.value, self._with(other)))

    def __lshift__(self, other: "Whole | int") -> "Whole":
        return Whole(self.builder, self.builder.shl(self.value, self._with(other)))

    def __rshift__(self, other: "Whole | int") -> "Whole":
        return Whole(self.builder, self.builder.lshr(self.value, self._with(other)))

    def ones(self) -> "Whole":
        """Return the number of bits that are 1."""
        return Whole(self.builder, self.builder.ctpop(self.value))

    def lowest_one(self) -> "Whole":
        """Return the place of the lowest bit that is 1."""
        return Whole(self.builder, self.builder.cttz(self.value, ir.Constant(ir.IntType(1), 0)))

    def at_most(self, other: "Whole | int") -> "Whole":
        """Return the smaller of the two."""
        last = self._with(other)
        return Whole(
            self.builder, self.builder.select(self.builder.icmp_signed("<", self.value, last), self.value, last)
        )

    def full(self) -> "Whole":
        """Return the largest multiple of `LANES` that is not larger."""
        return self & -LANES

    def lanes(self) -> "Real":
        """Return the number as float64 in all lanes."""
        return Real(self.builder, self.builder.sitofp(self.value, kinds().number)).repeated()


@dataclass(frozen=True, eq=False)
class Mask:
    """Whether something holds, in each lane."""

    builder: Any
    value: Any

    def __or__(self, other: "Mask") -> "Mask":
        return Mask(self.builder, self.builder.or_(self.value, other.value))

    def __and__(self, other: "Mask") -> "Mask":
        return Mask(self.builder, self.builder.and_(self.value, other.value))

    def choose(self, yes: "Real | float", no: "Real | float") -> "Real":
        """Return `yes` where it holds, otherwise `no`; one of them is not a constant."""
        one = yes if isinstance(yes, Real) else no
        assert isinstance(one, Real)
        chosen = (part.value if isinstance(part, Real) else one.constant(part) for part in (yes, no))
        return Real(self.builder, self.builder.select(self.value, *chosen))

    def bits(self) -> Whole:
        """Return an integer with the bits of the lanes where it holds."""
        return Whole(
            self.builder, self.builder.zext(self.builder.bitcast(self.value, ir.IntType(LANES)), kinds().index)
        )


@dataclass(frozen=True, eq=False)
class Real:
    """One float64, or one in each lane."""

    builder: Any
    value: Any

    def constant(self, number: float) -> Any:
        """Return a constant as LLVM has it, with as many lanes."""
        kind = self.value.type
        return ir.Constant(kind, [number] * LANES if kind == kinds().vector else number)

    def _with(self, other: "Real | float") -> Any:
        return other.value if isinstance(other, Real) else self.constant(other)

    def __add__(self, other: "Real | float") -> "Real":
        return Real(self.builder, self.builder.fadd(self.value, self._with(other), flags=_FUSED))

    def __sub__(self, other: "Real | float") -> "Real":
        return Real(self.builder, self.builder.fsub(self.value, self._with(other), flags=_FUSED))

    def __rsub__(self, other: float) -> "Real":
        return Real(self.builder, self.builder.fsub(self.constant(other), self.value, flags=_FUSED))

    def __mul__(self, other: "Real | float") -> "Real":
        return Real(self.builder, self.builder.fmul(self.value, self._with(other), flags=_FUSED))

    def __truediv__(self, other: "Real | float") -> "Real":
        return Real(self.builder, self.builder.fdiv(self.value, self._with(other)))

    def __rtruediv__(self, other: float) -> "Real":
        return Real(self.builder, self.builder.fdiv(self.constant(other), self.value))

    def __neg__(self) -> "Real":
        return Real(self.builder, self.builder.fneg(self.value))

    def __lt__(self, other: "Real | float") -> "Mask":
        return Mask(self.builder, self.builder.fcmp_ordered("<", self.value, self._with(other)))

    def __gt__(self, other: "Real | float") -> "Mask":
        return Mask(self.builder, self.builder.fcmp_ordered(">", self.value, self._with(other)))

    def is_nonzero(self) -> "Mask":
        """Return whether it is not 0; NaN is not."""
        return Mask(self.builder, self.builder.fcmp_unordered("!=", self.value, self.constant(0.0)))

    def magnitude(self) -> "Real":
        """Return the absolute value."""
        return (self < 0.0).choose(-self, self)

    def square_root(self) -> "Real":
        """Return the square roots of all lanes."""
        kind = ir.FunctionType(kinds().vector, [kinds().vector])
        root = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.sqrt.v{LANES}f64")
        return Real(self.builder, self.builder.call(root, [self.value]))

    def repeated(self) -> "Real":
        """Return a single number in all lanes."""
        if self.value.type == kinds().vector:
            return self
        one = self.builder.insert_element(
            ir.Constant(kinds().vector, ir.Undefined), self.value, ir.Constant(kinds().index, 0)
        )
        return Real(self.builder, _shuffled(self.builder, one, one, [0] * LANES))

    def first(self) -> "Real":
        """Return the number in the first lane."""
        return Real(self.builder, self.builder.extract_element(self.value, ir.Constant(kinds().index, 0)))

    def over_lanes(self, combine: Callable[["Real", "Real"], "Real"]) -> "Real":
        """Return the lanes combined to one number, in all lanes."""
        found = self
        for by in (4, 2, 1):
            turned = _shuffled(self.builder, found.value, found.value, [(lane + by) % LANES for lane in range(LANES)])
            found = combine(found, Real(self.builder, turned))
        return found

    def bits(self) -> tuple[Any, Callable[[int], Any]]:
        """Return the bits as integers of as many lanes, and a function that returns such constants."""
        kind = ir.VectorType(kinds().index, LANES) if self.value.type == kinds().vector else kinds().index

        def constant(number: int) -> Any:
            return ir.Constant(kind, [number] * LANES if self.value.type == kinds().vector else number)

        return self.builder.bitcast(self.value, kind), constant

    def of_bits(self, bits: Any) -> "Real":
        """Return the number, with as many lanes as this one, that has these bits."""
        return Real(self.builder, self.builder.bitcast(bits, self.value.type))


def interleaved(a: Real, b: Real) -> tuple[Real, Real]:
    """Return a0 b0 a1 b1 a2 b2 a3 b3, and a4 b4 a5 b5 a6 b6 a7 b7."""
    order = [lane // 2 + LANES * (lane % 2) for lane in range(2 * LANES)]
    halves = order[:LANES], order[LANES:]
    first, second = (Real(a.builder, _shuffled(a.builder, a.value, b.value, half)) for half in halves)
    return first, second


_Number = TypeVar("_Number", Whole, Real)


class Variable(Generic[_Number]):
    """A number that changes in a loop; it lives in a register."""

    def __init__(self, number: _Number) -> None:
        self._kind: type[_Number] = type(number)
        self._builder = number.builder
        self._place = cgutils.alloca_once(number.builder, number.value.type)
        self.set(number)

    def get(self) -> _Number:
        """Return its present value."""
        return self._kind(self._builder, self._builder.load(self._place))

    def set(self, number: _Number) -> None:
        """Give it a new value."""
        self._builder.store(number.value, self._place)


@dataclass(frozen=True, eq=False)
class Memory:
    """The elements of a contiguous array, as if it had one dimension."""

    builder: Any
    data: Any

    def _place(self, at: Whole | int, kind: Any = None) -> Any:
        index = at.value if isinstance(at, Whole) else ir.Constant(kinds().index, at)
        place = self.builder.gep(self.data, [index])
        return place if kind is None else self.builder.bitcast(place, kind.as_pointer())

    def lanes(self, at: Whole | int) -> Real:
        """Return the `LANES` numbers from there on."""
        return Real(self.builder, self.builder.load(self._place(at, kinds().vector), align=_ALIGN))

    def number(self, at: Whole | int) -> Real:
        """Return one number."""
        return Real(self.builder, self.builder.load(self._place(at)))

    def whole(self, at: Whole | int) -> Whole:
        """Return one integer, of an array of integers."""
        return Whole(self.builder, self.builder.load(self._place(at)))

    def put(self, at: Whole | int, number: Real | Whole) -> None:
        """Write one number, or those of all lanes from there on."""
        wide = number.value.type == kinds().vector
        self.builder.store(number.value, self._place(at, kinds().vector if wide else None), align=_ALIGN)
