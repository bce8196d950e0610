"""What all tests share: hypothesis without a clock, pictures without a screen, R's answers."""

import csv
import io
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "Agg")

_QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# The same examples in every run; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("repeatable", derandomize=True, max_examples=30, **_QUIET)
settings.register_profile("explore", max_examples=500, **_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session", autouse=True)
def one_path():
    """Let small samples run compiled from the first test on: results that change path differ in the last bits."""
    from amortized_kde.numerics import workload

    workload._work.values = 10**9


def pytest_terminal_summary(terminalreporter):
    """Print what tests have measured, whichever process ran them."""
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, value in report.user_properties:
            if name == "measured" and report.when == "call":
                terminalreporter.write_line(value)


def read_r_rows(path):
    """Case, sample and R's bandwidths of each row, at 17 digits."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        row["values"] = np.array([float(number) for number in row["values"].split()])
        assert row["values"].size == int(row["n"])
    return rows


@pytest.fixture(scope="session")
def r_rows():
    """Samples of every case of the golden file, with what R 4.2.2 returns for them."""
    return read_r_rows(ROOT / "tests" / "fixtures" / "r_bandwidths.tsv")


@pytest.fixture(scope="session")
def all_r_rows():
    """The whole golden file, where it lies beside the repository."""
    path = ROOT.parent / "shared" / "golden" / "r_bandwidths.tsv"
    if not path.exists():
        pytest.skip("the golden file of 480 samples is not beside the repository; the subset in tests/fixtures ran")
    return read_r_rows(path)


@pytest.fixture(scope="session")
def rscript():
    """Where R is."""
    found = shutil.which("Rscript")
    if found is None:
        pytest.skip("Rscript is not installed; the recorded answers of R in tests/fixtures ran")
    return found


@pytest.fixture(scope="session")
def workbook():
    """Return the bytes of a workbook with these sheets, each a list of rows."""
    openpyxl = pytest.importorskip("openpyxl")

    def make(**sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets.items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        file = io.BytesIO()
        book.save(file)
        return file.getvalue()

    return make
