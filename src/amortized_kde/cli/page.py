"""The command that starts the web page on this machine."""

import os
import socket
import sys
import threading
from contextlib import suppress
from typing import Annotated

import typer

from amortized_kde.errors import InvalidParameterError, MissingExtraError

_FIRST_PORT = 8501
_MOST_MEGABYTES = 100
# Streamlit's options: send nothing, write nothing to the home folder, show no data in errors.
_OPTIONS = {
    "browser.gatherUsageStats": False,
    "client.showErrorDetails": "none",
    "client.toolbarMode": "minimal",
    "runner.magicEnabled": False,
    "server.fileWatcherType": "none",
    # Otherwise Streamlit asks for an e-mail address when it first starts.
    "server.headless": True,
    "server.maxUploadSize": _MOST_MEGABYTES,
    "logger.level": "error",
    # Fields have their settings both as state and as default (app/state.py).
    "global.disableWidgetStateDuplicationWarning": True,
    # Blue: the default red looks like an error.
    "theme.light.primaryColor": "#0072B2",
    "theme.dark.primaryColor": "#56B4E9",
}


def app(
    port: Annotated[
        int | None,
        typer.Option(
            "--port", metavar="N", min=1, max=65535, help="Port to listen on; default: the first free one from 8501."
        ),
    ] = None,
    address: Annotated[
        str,
        typer.Option(
            "--address", metavar="HOST", help="Address to listen on; by default only this machine can connect."
        ),
    ] = "localhost",
    show: Annotated[
        bool | None, typer.Option("--open/--no-open", help="Open a browser; by default if there is a display.")
    ] = None,
) -> None:
    """Start the web page: paste a sample, see its density."""
    try:
        import altair  # noqa: F401
        import openpyxl  # noqa: F401
        from starlette.formparsers import MultiPartParser

        from amortized_kde.app.server import serve
    except ImportError as error:
        raise MissingExtraError(
            f"the web page needs {error.name}; install it with: pip install 'amortized-kde[app]'"
        ) from None
    # By default the server writes uploads of more than a megabyte to disk.
    MultiPartParser.spool_max_size = 2 * _MOST_MEGABYTES * 2**20
    free = _free_port(address, port)
    url = f"http://{address}:{free}"
    typer.echo(f"The page is at {url} (stop it with Ctrl-C)")
    # Compiling and loading takes seconds, which the first visitor need not wait for.
    threading.Thread(target=_prepare, args=(url if _wants_browser(show) else None,), daemon=True).start()
    serve({**_OPTIONS, "server.address": address, "server.port": free})


def _free_port(address: str, port: int | None) -> int:
    candidates = range(_FIRST_PORT, _FIRST_PORT + 100) if port is None else [port]
    for candidate in candidates:
        try:
            with socket.create_server((address, candidate)):
                return candidate
        except OSError as error:
            reason = error.strerror or str(error)
    raise InvalidParameterError(f"port {candidates[-1]} of {address} cannot be used ({reason}); give another --port.")


def _wants_browser(show: bool | None) -> bool:
    if show is not None:
        return show
    return sys.platform in ("win32", "darwin") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))


def _prepare(url: str | None) -> None:
    """Open a browser, and compile or load everything the first visitor needs."""
    if url is not None:
        import webbrowser

        webbrowser.open(url)
    from amortized_kde.app.comparing import warm_up
    from amortized_kde.app.work import WORKER

    # No thread can be started any more if the page is stopped in the meantime.
    with suppress(RuntimeError):
        WORKER.start()
        warm_up()
