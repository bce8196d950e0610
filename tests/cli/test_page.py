"""The command that starts the page: with which options, and what it says if it cannot."""

import socket
import sys
import threading

import pytest

from amortized_kde.cli import main, page


@pytest.fixture
def run(capsys, monkeypatch):
    """Exit status, output, errors, and with which options the page was served."""
    called = []
    pytest.importorskip("streamlit")
    from amortized_kde.app import server

    monkeypatch.setattr(server, "serve", called.append)
    monkeypatch.setattr(page, "_prepare", lambda url: called.append(url))

    def call(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(["app", *map(str, arguments)])
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err, called

    return call


@pytest.fixture
def port():
    with socket.create_server(("localhost", 0)) as found:
        return found.getsockname()[1]


def test_it_stays_on_this_machine_and_sends_nothing(run, port):
    status, out, _, called = run("--port", port, "--no-open")
    assert (status, out) == (0, f"The page is at http://localhost:{port} (stop it with Ctrl-C)\n")
    (options,) = [entry for entry in called if isinstance(entry, dict)]
    assert (
        options.items()
        >= {
            "browser.gatherUsageStats": False,
            "client.showErrorDetails": "none",
            "server.address": "localhost",
            "server.headless": True,
            "server.port": port,
            "server.maxUploadSize": 100,
        }.items()
    )
    parsers = pytest.importorskip("starlette.formparsers")
    assert parsers.MultiPartParser.spool_max_size > 101 * 2**20


def test_a_port_is_found(run):
    with socket.create_server(("localhost", 0)) as taken:
        port = taken.getsockname()[1]
        status, out, err, called = run("--port", port)
        assert (status, out, called) == (2, "", [])
        assert f"port {port} of localhost cannot be used" in err
        assert err.count("\n") == 1
    assert "http://localhost:85" in run("--no-open")[1]


@pytest.mark.parametrize("option", ["--open", "--no-open"])
def test_a_browser_is_opened_if_asked_for(run, port, option):
    _, _, _, called = run("--port", port, option)
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and thread.daemon:
            thread.join(timeout=0.5)
    assert (f"http://localhost:{port}" in called) is (option == "--open")


def test_what_is_missing_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "amortized_kde.app.server", None)
    with pytest.raises(SystemExit) as ended:
        main(["app"])
    assert ended.value.code == 2
    assert "install it with: pip install 'amortized-kde[app]'" in capsys.readouterr().err
