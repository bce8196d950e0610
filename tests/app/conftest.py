"""A real browser and a real server for the tests of the page."""

import os
import shutil
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

# Set where these tests must run, as in continuous integration.
REQUIRED = os.environ.get("AMORTIZED_KDE_BROWSER") == "required"


def give_up(reason):
    if REQUIRED:
        pytest.fail(f"the page was not tested: {reason}")
    pytest.skip(f"the page is not tested: {reason}")


@pytest.fixture(scope="session")
def chromium():
    """The installed browser, without a window."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        give_up("playwright is not installed")
    if find_spec("streamlit") is None:
        give_up("streamlit is not installed")
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        give_up("there is no chromium (Debian: apt install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


class Server:
    """The page as `amortized-kde app` starts it, in an empty home."""

    def __init__(self, folder):
        self.home, self.log = folder / "home", folder / "log.txt"
        self.home.mkdir()
        with socket.create_server(("localhost", 0)) as found:
            port = found.getsockname()[1]
        self.address = f"http://localhost:{port}"
        environment = os.environ | {"HOME": str(self.home), "MPLCONFIGDIR": str(folder / "matplotlib")}
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "amortized_kde.cli", "app", "--port", str(port), "--no-open"],
                stdout=log,
                stderr=log,
                cwd=self.home,
                env=environment,
            )

    def wait(self, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with urlopen(f"{self.address}/_stcore/health", timeout=5):
                    return
            except (URLError, OSError):
                time.sleep(0.2)
        pytest.fail(f"the page did not start:\n{self.log.read_text()}")

    def bytes_written(self):
        """What the process has written to files so far; what goes to sockets is not counted."""
        counts = Path(f"/proc/{self.process.pid}/io")
        if not counts.exists():
            pytest.skip("this system does not count what a process writes")
        return int(dict(line.split(": ") for line in counts.read_text().splitlines())["wchar"])

    def written(self):
        return [path for path in Path(self.home).rglob("*") if path.is_file()]


@pytest.fixture(scope="session")
def server(chromium, tmp_path_factory):
    """A running page."""
    started = Server(tmp_path_factory.mktemp("page"))
    started.wait()
    # Where nothing was compiled yet, that takes the first visitor half a minute, and no test is about it.
    first = chromium.new_page()
    first.goto(f"{started.address}/?source=Example")
    first.get_by_text("lower is better").wait_for(timeout=300_000)
    first.close()
    yield started
    started.process.terminate()
    started.process.wait(timeout=30)


@pytest.fixture
def new_page(chromium, server):
    """Open the page at a size, in light or dark; afterwards it must have asked nobody else for anything."""
    contexts, asked = [], []

    def open_page(query="", *, width=1400, height=1000, dark=False, touch=False):
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", has_touch=touch
        )
        context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.address)
        context.set_default_timeout(60_000)
        contexts.append(context)
        context.on("request", lambda request: asked.append(request.url))
        page = context.new_page()
        page.goto(f"{server.address}/{query}")
        page.get_by_role("heading", name="amortized-kde").wait_for()
        return page

    yield open_page
    for context in contexts:
        context.close()
    strangers = [url for url in asked if not url.startswith((server.address, "data:", "blob:"))]
    assert strangers == []


@pytest.fixture
def page(new_page):
    return new_page()
