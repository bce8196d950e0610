"""The command line.

Bad input, and files that cannot be read or written, get one sentence on standard error and exit status 2; an
interruption (Ctrl-C) ends with 130, and a reader of the output that has gone with 1. Commands import heavy libraries
themselves.
"""

import contextlib
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from amortized_kde.cli import densities, ensembles, page, reproduction, research, warming
from amortized_kde.cli.interruption import interruptible
from amortized_kde.errors import AmortizedKdeError, AmortizedKdeWarning

__all__ = ["app", "main"]

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)
for command in (
    densities.fit,
    densities.compare,
    densities.score,
    ensembles.ensemble,
    research.models,
    research.train,
    reproduction.reproduce,
    page.app,
    warming.warm,
):
    app.command()(interruptible(command))


def _print_version(wanted: bool) -> None:
    if wanted:
        from amortized_kde import __version__

        typer.echo(f"amortized-kde {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Probability densities from samples, judged by the logarithmic score."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit, with status 0, or 2 and one sentence on standard error."""
    _open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            # A terminal that cannot show ± shows a question mark.
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", AmortizedKdeWarning)
            warnings.showwarning = _printer(warnings.showwarning)
            app(args=arguments, prog_name="amortized-kde")
    except AmortizedKdeError as error:
        _fail(str(error))
    except OSError as error:
        # Files have sentences of their own; what is left is the output, above all on a full disk.
        what = f"{error.filename!r} cannot be used" if error.filename else "standard output cannot be written"
        _fail(f"{what} ({error.strerror or error}).")
    except MemoryError:
        _fail("not enough memory; use less data.")


def _fail(sentence: str) -> None:
    print(f"error: {sentence}", file=sys.stderr)
    try:
        sys.stdout.flush()
    except OSError:
        # Python would try again at the end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(2)


def _open_missing_streams() -> None:
    """Open streams that the caller closed, so that no file gets their numbers; refuse if results cannot be printed."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        _fail("standard output is closed; direct it to a file, or to /dev/null.")


def _printer(usual: Any) -> Any:
    """Return a function that prints each of our warnings once, in one line, and passes others on."""
    printed: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *details: Any, **more: Any) -> None:
        if not issubclass(category, AmortizedKdeWarning):
            usual(message, category, *details, **more)
        elif str(message) not in printed:
            printed.add(str(message))
            print(f"warning: {message}", file=sys.stderr)

    return show
