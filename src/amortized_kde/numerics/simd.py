"""SIMD loops, written as formulas that become LLVM's instructions, where its vectoriser leaves sums in memory.

A function under `@instructions` is called when a compiled loop that uses it is compiled. Its arguments are the loop's:
arrays as `Memory`, integers as `Whole`, float64 as `Real` in all lanes. What it computes with them is written into the
loop. Such code is compiled many times faster than the same statements in Python.

The loops are compiled by `entry_in_order`, because other entries let the compiler reorder sums.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any

from amortized_kde.numerics.jit import cgutils, intrinsic, ir, types
from amortized_kde.numerics.registers import LANES, Mask, Memory, Real, Variable, Whole, kinds

# Flags that are gathered in one integer.
WORD = 64


@dataclass(frozen=True, eq=False)
class Code:
    """The place where instructions are written."""

    builder: Any

    def whole(self, number: int) -> Whole:
        """Return a constant."""
        return Whole(self.builder, ir.Constant(kinds().index, number))

    def lanes(self, number: float) -> Real:
        """Return a constant in all lanes."""
        return Real(self.builder, ir.Constant(kinds().vector, [number] * LANES))

    def lane_numbers(self) -> Real:
        """Return 0.0, 1.0, ... in the lanes."""
        return Real(self.builder, ir.Constant(kinds().vector, [float(lane) for lane in range(LANES)]))

    @contextmanager
    def loop(self, stop: Whole | int, start: Whole | int = 0, step: int = 1) -> Iterator[Whole]:
        """Write what follows into a loop, and yield its index."""
        ends = [end.value if isinstance(end, Whole) else ir.Constant(kinds().index, end) for end in (start, stop, step)]
        with cgutils.for_range_slice(self.builder, *ends) as (index, _):
            yield Whole(self.builder, index)
            last = self.builder.basic_block
        self._keep_as_written(last)

    def _keep_as_written(self, last: Any) -> None:
        """Forbid LLVM to unroll or vectorise the loop with this last block, which would only take time to compile."""
        module = self.builder.module
        # A loop is identified by a node that refers to itself.
        node = ir.values.MDValue(module, [], name=str(len(module.metadata)))
        no = ir.Constant(ir.IntType(1), 0)
        wishes = ["llvm.loop.unroll.disable"], ["llvm.loop.vectorize.enable", no]
        node.operands = (node, *(module.add_metadata(wish) for wish in wishes))
        last.terminator.set_metadata("llvm.loop", node)

    @contextmanager
    def ones(self, bits: Whole) -> Iterator[tuple[Whole, Whole]]:
        """Write what follows into a loop over the bits that are 1; yield their number so far, and the bit's place."""
        rest = Variable(bits)
        with self.loop(bits.ones()) as count:
            yield count, rest.get().lowest_one()
            rest.set(rest.get() & (rest.get() - 1))

    def each(self, width: Whole, write: Callable[[Whole, Callable[[Memory, Whole], Real]], None]) -> None:
        """Call ``write(index, load)`` for all lanes at once as far as `width` goes, and for what is left one by one."""
        with self.loop(width.full(), 0, LANES) as index:
            write(index, Memory.lanes)
        with self.loop(width, width.full()) as index:
            write(index, Memory.number)


def nonzero_bits(code: Code, rows: Sequence[tuple[Memory, Whole]], left: Whole) -> Whole:
    """Return the bits of those of `WORD` numbers that are not 0 in some row; only `left` of them count."""
    found = code.whole(0)
    for block in range(0, WORD, LANES):
        counted = [memory.lanes(first + block).is_nonzero() for memory, first in rows]
        found |= reduce(Mask.__or__, counted).bits() << block
    unused = code.whole(WORD) - left.at_most(WORD)
    return (found << unused) >> unused


def instructions(write: Callable[..., None]) -> Any:
    """Make a function for compiled loops, which `write` writes: its arguments are a `Code`, and the loop's."""

    def signature(_: Any, *given: Any) -> Any:
        return types.void(*(_plain(kind) for kind in given)), generate

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        made = [_argument(context, builder, kind, value) for kind, value in zip(signature.args, values, strict=True)]
        write(Code(builder), *made)
        return context.get_dummy_value()

    # Numba reads the names of the arguments from here; the first, which is its own, is left out.
    signature.__signature__ = inspect.signature(write)  # type: ignore[attr-defined]
    signature.__name__, signature.__doc__ = write.__name__, write.__doc__
    return intrinsic(signature)


def _plain(kind: Any) -> Any:
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, (types.Integer, types.Boolean)) else kind


def _argument(context: Any, builder: Any, kind: Any, value: Any) -> Memory | Whole | Real:
    if isinstance(kind, types.Array):
        return Memory(builder, context.make_array(kind)(context, builder, value).data)
    return Whole(builder, value) if kind == types.int64 else Real(builder, value).repeated()


@instructions
def copy_row(code: Code, source: Memory, first: Whole, width: Whole, out: Memory, at: Whole) -> None:
    """Write source[first:][:width] to out[at:]."""
    code.each(width, lambda k, load: out.put(at + k, load(source, first + k)))
