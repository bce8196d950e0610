"""The command that compiles all loops."""

import importlib
import pkgutil

import amortized_kde
from amortized_kde.numerics.jit import Loop

# Optional libraries, the page, and what trains models; loops of the last are compiled by their commands.
LEFT_OUT = ("amortized_kde.app", "amortized_kde.integrations", "amortized_kde.research", "amortized_kde.__main__")
LEFT_OUT += ("amortized_kde.cli", "amortized_kde.density.scipy_distribution")


def loops_of_the_library():
    found = {}
    for module in pkgutil.walk_packages(amortized_kde.__path__, "amortized_kde."):
        if not module.name.startswith(LEFT_OUT):
            members = vars(importlib.import_module(module.name)).values()
            found |= {loop.__qualname__: loop for loop in members if isinstance(loop, Loop)}
    return found


def test_every_loop_of_the_library_is_compiled(run):
    status, printed, progress = run("warm")
    assert (status, printed.count("\n")) == (0, 1), progress
    assert printed.startswith("all loops are compiled")
    loops = loops_of_the_library()
    assert len(loops) > 20
    assert [name for name, loop in loops.items() if not loop.compiled.signatures] == []
