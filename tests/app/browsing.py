"""What a person does on the page in a browser, and what is seen there."""

import re

import numpy as np


def paste(page, text):
    """Paste as with Ctrl-V, replacing what is there."""
    field = page.get_by_role("textbox", name="Numbers")
    field.click()
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    page.keyboard.press("Control+A")
    page.keyboard.press("Control+V")


def lines(values):
    return "\n".join(map(repr, np.asarray(values).tolist()))


def picture(page, mark="line", *, settled=True):
    """The picture, once its curves (or other marks) are drawn, and all that follows unless it is to be quick."""
    chart = page.get_by_test_id("stVegaLiteChart").filter(visible=True)
    chart.locator(f"svg .mark-{mark} path").first.wait_for()
    if settled:
        # Lists that are open while scores are still computed are then drawn anew.
        page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    return chart


def until(page, condition):
    """Wait until a condition in JavaScript holds; Playwright's own way needs eval, which the page forbids."""
    for _ in range(300):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(100)
    raise AssertionError(condition)


def says(page, text):
    page.get_by_text(text).first.wait_for()


def alert(page, text):
    page.get_by_role("alert").filter(has_text=text).first.wait_for()


def settled(page):
    """Wait until the server has nothing left to compute."""
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()


def choose_source(page, name):
    page.get_by_role("radio", name=name).click()


def upload(page, name, content):
    choose_source(page, "Upload")
    kind = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    page.get_by_test_id("stFileUploaderDropzoneInput").first.set_input_files(kind)


def pick(page, label, option):
    """Choose from a list by keyboard: Streamlit's may close again if it is clicked while the page is busy."""
    field = page.get_by_role("combobox", name=label).first
    # Scrolling would close the list.
    field.scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    field.fill(option)
    page.get_by_role("option", name=option, exact=True).wait_for()
    page.keyboard.press("Enter")


def table(page, number=0):
    """The cells of the table of methods, by row, once its scores are there."""
    says(page, re.compile("(held-out|leave-one-out) score.*lower is better"))
    rows = page.get_by_test_id("stTable").nth(number).locator("tbody tr")
    rows.first.wait_for()
    return [row.locator("td").all_inner_texts() for row in rows.all()]


def downloaded(page, label):
    with page.expect_download() as waiting:
        page.get_by_role("button", name=label).click()
    return waiting.value.path().read_bytes()
