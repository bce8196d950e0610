"""How the page looks: every width, light and dark, a phone, paper, assistive technology, and without its server."""

import re

import numpy as np
import pytest
from browsing import lines, paste, picture, says, until

from amortized_kde.app.page import TABS
from conftest import Server

Axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe

pytestmark = pytest.mark.xdist_group("page")

# What sticks out of the window, or of the element around it, and cannot be scrolled to.
CLIPPED = """
() => [...document.querySelectorAll(".stMainBlockContainer *")].filter(e => {
  const box = e.getBoundingClientRect(), style = getComputedStyle(e);
  if (box.width === 0 || box.height === 0 || style.position === "absolute") return false;
  if (e.closest("svg, canvas, [type=range], [aria-hidden=true]")) return false;
  if (box.right > window.innerWidth + 1 || box.left < -1) return !e.closest("pre, [data-testid=stDataFrame]");
  const cut = ["hidden", "clip"].includes(style.overflowX) && e.scrollWidth > e.clientWidth + 1;
  const hidden = style.clipPath !== "none" || e.clientWidth <= 1 || e.closest("[data-testid=stDataFrame]");
  return cut && !hidden && style.textOverflow !== "ellipsis";
}).map(e => e.outerHTML.slice(0, 160))
"""


def open_tab(page, tab):
    if tab != "One sample":
        page.get_by_role("tab", name=tab).click()
    if tab == "Two columns":
        says(page, "The 272 rows have two peaks")
        picture(page)
    else:
        if tab == "Ensembles":
            says(page, "Every ensemble")
        picture(page, "rect" if tab == "Ensembles" else "line")
        says(page, re.compile("lower is better"))
    page.get_by_test_id("stCode").first.wait_for()


@pytest.mark.parametrize("tab", TABS)
@pytest.mark.parametrize("width", [390, 768, 900, 1400])
def test_nothing_is_clipped(new_page, width, tab):
    page = new_page(width=width)
    open_tab(page, tab)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CLIPPED) == []


@pytest.mark.parametrize("tab", ["One sample", "Ensembles"])
def test_settings_stay_beside_long_results(new_page, tab):
    page = new_page(height=800)
    open_tab(page, tab)
    page.mouse.move(900, 500)
    page.mouse.wheel(0, 700)
    until(page, "document.querySelector('[data-testid=stMain]').scrollTop > 500")
    box = page.get_by_role("button", name="Undo").bounding_box()
    assert 0 <= box["y"] < 200


def test_on_a_phone_the_result_comes_into_view_after_pasting(new_page):
    page = new_page(width=390, height=844, touch=True)
    picture(page)
    assert page.get_by_role("heading", name="Old Faithful").bounding_box()["y"] > 500
    # Who is typing goes on seeing the field.
    field = page.get_by_role("textbox", name="Numbers")
    field.press_sequentially("1 2 4 7")
    says(page, "Density of 4 values")
    picture(page)
    assert field.bounding_box()["y"] > 0
    paste(page, lines(np.random.default_rng(1).normal(size=50)))
    says(page, "Density of 50 values")
    until(page, "document.querySelector('.st-key-result').getBoundingClientRect().top < 60")
    chart = picture(page).bounding_box()
    assert chart["y"] < 844 - 200


SERIOUS = ("serious", "critical")


def violations(page):
    # Streamlit fades what is being computed, and takes a second to show it again.
    page.wait_for_timeout(2000)
    found = Axe().run(page).response["violations"]
    return [(one["id"], node["html"][:200]) for one in found if one["impact"] in SERIOUS for node in one["nodes"]]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_axe_finds_no_serious_issue(new_page, width, dark):
    page = new_page(width=width, dark=dark)
    for tab in TABS:
        open_tab(page, tab)
        assert violations(page) == []
    wrong = new_page("?source=Upload&lower=zero", width=width, dark=dark)
    says(wrong, "Correct the field that is marked")
    assert violations(wrong) == []
    help_page = new_page("?help=1", width=width, dark=dark)
    says(help_page, "What you see")
    assert violations(help_page) == []


def luminance(colour):
    channels = np.array([float(part) for part in re.findall(r"[\d.]+", colour)[:3]]) / 255.0
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_letters_of_the_picture_have_contrast(new_page, dark):
    page = new_page(dark=dark)
    chart = picture(page)
    ground = luminance(page.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"))
    letters = chart.locator("svg text").evaluate_all("all => all.map(e => getComputedStyle(e).fill)")
    assert len(letters) > 5
    for colour in set(letters):
        light, deep = sorted((luminance(colour), ground), reverse=True)
        assert (light + 0.05) / (deep + 0.05) >= 4.5, colour


def test_on_paper_there_are_the_results_dark_on_white(new_page):
    page = new_page(dark=True)
    open_tab(page, "One sample")
    page.emulate_media(media="print")
    for shown in (
        page.get_by_role("heading", name="Old Faithful"),
        page.get_by_test_id("stTable").first,
        picture(page),
    ):
        assert shown.is_visible()
    for hidden in ("Undo", "Density (CSV)", "Axis limits"):
        assert not page.get_by_role("button", name=hidden, include_hidden=True).first.is_visible()
    assert not page.locator(".st-key-settings").is_visible()
    ground = page.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
    colours = (
        page.locator("h1, h2, p, td, svg text")
        .filter(visible=True)
        .evaluate_all("all => all.map(e => e.closest('svg') ? getComputedStyle(e).fill : getComputedStyle(e).color)")
    )
    assert max(map(luminance, colours)) < 0.1
    assert page.pdf().startswith(b"%PDF")


def test_a_sentence_of_its_own_when_the_server_stops(chromium, server, tmp_path):
    other = Server(tmp_path)
    other.wait()
    page = chromium.new_page()
    page.set_default_timeout(60_000)
    page.goto(other.address)
    picture(page)
    says(page, "lower is better")
    other.process.terminate()
    other.process.wait(timeout=30)
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    title, body = (
        dialog.locator(part).evaluate("e => getComputedStyle(e, '::after').content") for part in ("h2", "h2 + div")
    )
    assert title == '"The server has stopped"'
    assert "Start it again with the command “amortized-kde app”" in body
    assert not dialog.get_by_text("Streamlit").filter(visible=True).count()
    page.close()
