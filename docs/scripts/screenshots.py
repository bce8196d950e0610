"""Take the screenshots of the web page: `python docs/scripts/screenshots.py` writes docs/images/app_*.png.

The page is opened in the installed Chromium at an example: wide and light, narrow and dark.
"""

import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).parents[1] / "images"
QUERY = "?source=Example&lower=0&factor=0.5"


def wait_for(address: str) -> None:
    """Wait until the page answers."""
    for _ in range(300):
        try:
            with urlopen(f"{address}/_stcore/health", timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    sys.exit("the page did not start.")


def shoot(page: Page, address: str, name: str, *, top: str | None) -> None:
    """Open the example and take a screenshot, scrolled to the text `top` if it is given."""
    page.goto(f"{address}/{QUERY}")
    page.get_by_text("lower is better").wait_for(timeout=120_000)
    page.get_by_test_id("stVegaLiteChart").locator("svg .mark-line path").first.wait_for()
    if top is not None:
        page.get_by_text(top).first.evaluate("element => element.scrollIntoView()")
    for part in ("stTable", "stCode"):
        page.get_by_test_id(part).last.locator("tr, code").first.wait_for()
    # Wait for fonts and the picture to settle.
    page.wait_for_timeout(1500)
    page.screenshot(path=IMAGES / f"app_{name}.png")


def main() -> None:
    """Take both screenshots."""
    with socket.create_server(("localhost", 0)) as found:
        port = found.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-m", "amortized_kde.cli", "app", "--port", str(port), "--no-open"])
    try:
        wait_for(f"http://localhost:{port}")
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            wide = chromium.new_page(viewport={"width": 1400, "height": 1120})
            shoot(wide, f"http://localhost:{port}", "wide", top=None)
            phone = chromium.new_page(
                viewport={"width": 390, "height": 844}, device_scale_factor=2, color_scheme="dark"
            )
            shoot(phone, f"http://localhost:{port}", "phone", top="The 272 values")
            chromium.close()
    finally:
        server.terminate()


if __name__ == "__main__":
    main()
