"""What a person does step by step in a browser: zoom, switch curves, undo, weigh, choose members."""

import re

import numpy as np
import pytest
from browsing import alert, choose_source, lines, paste, pick, picture, says, settled, until, upload

import amortized_kde as akde
from amortized_kde.app.ensembles import verify
from amortized_kde.app.examples import EXAMPLES, example_ensembles

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = pytest.mark.xdist_group("page")


def drag(page, chart, start, end):
    """Drag with the mouse over a part of the picture, with a pause in which the button stays down."""
    box = chart.bounding_box()
    middle = box["y"] + 0.4 * box["height"]
    page.mouse.move(box["x"] + start * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * (start + end) * box["width"], middle, steps=4)
    page.wait_for_timeout(500)
    assert "left=" not in page.url
    page.mouse.move(box["x"] + end * box["width"], middle, steps=4)
    page.mouse.up()


def test_the_page_opens_with_an_example_and_what_it_is(page):
    says(page, re.compile("Paste numbers and see their probability density"))
    says(page, "Everything is computed on the machine running this page")
    says(page, EXAMPLES["eruptions"].title)
    picture(page)
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Documentation").click()
    help_page = opened.value
    help_page.get_by_role("heading", name="What you see").wait_for()
    help_page.get_by_role("heading", name="Privacy").wait_for()


def test_brushing_zooms_and_axis_limits_say_where(page):
    chart = picture(page)
    before = chart.locator(".role-axis-label").first.text_content()
    drag(page, chart, 0.3, 0.6)
    page.wait_for_url(re.compile("left=.*right="))
    picture(page)
    assert chart.locator(".role-axis-label").first.text_content() != before
    page.get_by_role("button", name="Axis limits").click()
    left, right = (page.get_by_role("textbox", name=name, exact=True) for name in ("Left", "Right"))
    assert 1.5 < float(left.input_value()) < float(right.input_value()) < 5.0
    left.fill("2")
    left.press("Enter")
    page.wait_for_url(re.compile("left=2&"))
    top = page.get_by_role("textbox", name="Top", exact=True)
    top.fill("-1")
    top.press("Enter")
    alert(page, "The top must be positive.")
    top.fill("0.5")
    top.press("Enter")
    page.wait_for_url(re.compile("top=0.5"))
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Reset zoom").click()
    page.wait_for_url(re.compile("/$"))


def test_the_legend_switches_curves(page):
    chart = picture(page)
    curves = chart.locator("svg .mark-line path")
    assert curves.count() == 3
    button = page.locator(".st-key-legend").get_by_role("button", name="silverman")
    button.click()
    page.locator(".st-key-legend button[aria-pressed=false]").wait_for()
    picture(page)
    assert curves.count() == 2
    # It is still compared.
    assert page.get_by_test_id("stTable").first.get_by_text("silverman").count() == 1
    button.click()
    picture(page)
    until(page, "document.querySelectorAll('[data-testid=stVegaLiteChart] .mark-line path').length === 3")


def undo(page):
    page.get_by_role("button", name="Undo").click()


def test_undo_takes_back_texts_settings_and_zoom(page):
    assert page.get_by_role("button", name="Undo").is_disabled()
    paste(page, "1 2 4 7")
    says(page, "x = [1.0, 2.0, 4.0, 7.0]")
    paste(page, "5 6 9")
    says(page, "x = [5.0, 6.0, 9.0]")
    page.get_by_text("Logarithmic axis").click()
    page.wait_for_url(re.compile("log=1"))
    bound = page.get_by_role("textbox", name="Lower bound")
    bound.fill("0")
    bound.press("Enter")
    page.wait_for_url(re.compile("lower=0"))
    page.get_by_role("button", name="Clear", exact=True).click()
    says(page, "Showing an example until you enter numbers.")
    undo(page)
    says(page, "x = [5.0, 6.0, 9.0]")
    field = page.get_by_role("textbox", name="Numbers")
    expect(field).to_have_value("5 6 9", timeout=60_000)
    undo(page)
    page.wait_for_url(lambda url: "lower" not in url)
    expect(bound).to_have_value("", timeout=60_000)
    undo(page)
    page.wait_for_url(lambda url: "log" not in url)
    undo(page)
    says(page, "x = [1.0, 2.0, 4.0, 7.0]")
    expect(field).to_have_value("1 2 4 7", timeout=60_000)
    undo(page)
    says(page, "Showing an example until you enter numbers.")
    expect(page.get_by_role("button", name="Undo")).to_be_disabled(timeout=60_000)


def test_a_column_of_weights(page):
    x, w = np.random.default_rng(1).gamma(2.0, size=(2, 40)).round(3)
    upload(page, "a.csv", ("x,w\n" + "\n".join(f"{a},{b}" for a, b in zip(x, w, strict=True))).encode())
    says(page, "Read 40 rows")
    pick(page, "Weights", "w")
    says(page, "With these weights the effective sample size is")
    says(page, "weights=w")
    says(page, "--column x --weights weight")
    page.get_by_test_id("stTable").first.get_by_text(f"{akde.fit(x, weights=w).bandwidth:.4g}").wait_for()
    upload(page, "a.csv", b"x,w\n1,2\n2,-1\n5,1\n")
    says(page, "x = [1.0, 2.0, 5.0]")
    pick(page, "Weights", "w")
    alert(page, "Weights must be finite and not negative; -1.0 is not.")


def test_units_are_understood_and_named_on_the_axis(page):
    paste(page, "12 kg, 13 kg, 17.5 kg")
    says(page, "Read 3 numbers, separated by commas; in kg.")
    says(page, "x = [12.0, 13.0, 17.5]")
    assert picture(page).locator("svg").get_by_text("value (kg)").count() == 1
    paste(page, "12 kg, 13 g")
    alert(page, "The numbers have different units, 'kg' and 'g'; convert them to one unit.")


def test_members_are_chosen_and_one_ensemble_is_shown(page):
    page.get_by_role("tab", name="Ensembles").click()
    says(page, "400 ensembles of 21 members")
    members, observed = example_ensembles()
    found = verify(members, observed, method="amortized", bounds=(None, None))
    row = page.get_by_role("spinbutton", name="Row")
    row.fill("3")
    row.press("Enter")
    says(page, "members[2]")
    says(page, f"{found.mean_score:.4f}")
    text = "station,lead,m1,m2,m3,obs\n7,24,1,2,4,2.5\n7,48,2,3,7,4\n8,24,3,5,6,5\n"
    kind = {"name": "e.csv", "mimeType": "text/csv", "buffer": text.encode()}
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(kind)
    says(page, "3 members; not used: station, lead.")
    page.get_by_role("button", name=re.compile("m2")).click()
    says(page, "2 members; not used: station, lead, m2.")
    page.get_by_role("button", name=re.compile("m1")).click()
    alert(page, "An ensemble needs at least two columns of numbers; choose them as members.")


def test_another_example_brings_its_bounds_and_a_new_picture(page):
    picture(page)
    choose_source(page, "Example")
    pick(page, "Example", EXAMPLES["fractions"].title)
    says(page, "Working domain: 0 to 1")
    assert picture(page).locator("svg").get_by_text("fraction", exact=True).count() == 1


def test_far_values_are_left_out_at_first(page):
    paste(page, lines([*np.random.default_rng(1).normal(size=50), 1e9]))
    says(page, "Density of 51 values")
    settled(page)
    assert page.get_by_role("radio", name="Without extremes").is_checked()
