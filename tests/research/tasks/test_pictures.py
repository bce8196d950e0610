"""The picture of the broad world."""

from amortized_kde.research.tasks import draw_broad


def test_the_picture_is_the_same_bytes_again(tmp_path):
    for name in ("one.png", "two.png"):
        draw_broad(tmp_path / name)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    draw_broad(tmp_path / "other.png", seed=1)
    assert (tmp_path / "one.png").read_bytes() != (tmp_path / "other.png").read_bytes()
