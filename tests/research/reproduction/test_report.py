"""The report: complete, honest about losses, the same bytes from the same tables."""

import re

from amortized_kde.research.reproduction.claims import CLAIMS
from amortized_kde.research.reproduction.report import write_report

HEADINGS = ("How it was made", "In short", "Scores", "Every claim", "Cases we lose", "Tables", "Files")


def report(folder):
    return write_report(folder).read_text(encoding="utf-8")


def test_the_same_tables_give_the_same_bytes(make_results):
    one, two = make_results("one"), make_results("two")
    assert write_report(one) == one / "README.md"
    assert report(one) == report(two) == report(one)


def test_everything_is_there(make_results):
    text = report(make_results())
    for heading in HEADINGS:
        assert f"\n## {heading}\n" in text
    for claims in CLAIMS.values():
        for claim in claims:
            assert claim.words in text
            assert claim.criterion in text
    assert "amortized-kde reproduce all" in text
    assert "| gmm | 1.5 min | 2.5 min | 1000 | 2000-01-01T00:00:00 |" in text
    assert "10 of 100 tasks a size" in text
    assert "| Gaussian sampling | Silverman | 5 | 2 | 1236.5 | 2.0e-15 |" in text
    assert "+1.0e-03 (2.5e-01)" in text
    assert "| bounds | mixtures without | gmm32 | 1000 | 500 | 0.6000 ± 0.0010 | +1.000 |" in text
    assert "nan" not in text


def test_scores_are_the_tables_numbers(make_results):
    text = report(make_results(scores={("gmm", "lscv", 20): 123.456}))
    assert "| 123.0 [120.5, 125.4] |" in text
    assert re.search(r"\| LSCV \|.*\| 123\.5 \(6\.1728\) \|", text)
    # The oracle is lower, but only selectors of the paper are compared.
    assert re.search(r"\| amortized, GMM-trained, K = 32 \| \*\*0\.8000\*\* \(0\.4000\)", text)


def test_losses_are_told(make_results):
    quiet = report(make_results("quiet"))
    lost = report(make_results("lost", scores={("multifamily", "amortized:gmm8", 256): 0.5}))
    row = "| ten families | amortized, GMM-trained, K = 8 | Silverman | 256 | 256 | 0.4648 (n = 256) |"
    assert row not in quiet
    assert row in lost
    assert "**holds except at n = 256**" in lost


def test_a_loss_to_leave_one_out_likelihood_is_told(make_results):
    text = report(make_results(scores={("gaussian", "lcv", 20): 0.05}))
    names = "amortized, Gaussian-trained | leave-one-out likelihood (LCV)"
    assert f"| Gaussian sampling | {names} | 20 | 20 | 0.0500 (n = 20) |" in text


def test_a_lost_family_is_told(make_results):
    text = report(make_results(families={("beta", "lscv", n): 0.001 for n in (5, 10, 20, 50, 90, 256)}))
    assert "| beta | amortized, multi-family-trained | LSCV at n = 5 to 256 |" in text
    assert re.search(r"\| beta \|.*\*\*0\.0010\*\*", text)
    assert "lost: amortized, multi-family-trained in beta" in text


def test_figures_are_shown_if_drawn(make_results):
    folder = make_results()
    assert "![" not in report(folder)
    (folder / "figure3_gmm.png").touch()
    assert "![Figure 3: mixtures of 32 Gaussians on [−1, 1].](figure3_gmm.png)" in report(folder)


def test_an_empty_folder_gives_a_report_of_what_was_not_run(tmp_path):
    text = report(tmp_path)
    assert "there is no `run.json`" in text
    assert "not run" in text
    assert "\n## Scores\n" not in text
    assert "\n## Cases we lose\n" not in text
