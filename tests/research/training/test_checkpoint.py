"""Folders of trainings: what is refused, and what --resume and --overwrite allow."""

import pytest

pytest.importorskip("safetensors")

from amortized_kde.errors import InvalidParameterError
from amortized_kde.research.training.checkpoint import CARD, CHECKPOINT, RUN_FILES, check_folder


def test_a_new_folder_and_one_with_other_files_are_fine(tmp_path):
    (tmp_path / "notes.txt").touch()
    for folder in (tmp_path, tmp_path / "new"):
        for resume in (False, True):
            check_folder(folder, RUN_FILES, overwrite=False, resume=resume)


def test_a_run_is_continued_or_replaced_only_if_asked(tmp_path):
    (tmp_path / CHECKPOINT).touch()
    with pytest.raises(InvalidParameterError, match=r"has checkpoint.safetensors already; .* --resume to continue, or"):
        check_folder(tmp_path, RUN_FILES, overwrite=False)
    check_folder(tmp_path, RUN_FILES, overwrite=False, resume=True)
    check_folder(tmp_path, RUN_FILES, overwrite=True)


def test_a_model_without_a_checkpoint_is_not_resumed_into(tmp_path):
    (tmp_path / CARD).touch()
    for resume in (False, True):
        with pytest.raises(InvalidParameterError, match=r"has card.json already; give another --out, or --overwrite"):
            check_folder(tmp_path, RUN_FILES, overwrite=False, resume=resume)


def test_what_is_read_is_not_written_to(tmp_path):
    (tmp_path / "a.zarr").mkdir()
    with pytest.raises(InvalidParameterError, match="is also an input"):
        check_folder(tmp_path / "a.zarr", RUN_FILES, overwrite=True, sources=[None, f"{tmp_path}/./a.zarr"])


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "a").touch()
    with pytest.raises(InvalidParameterError, match="is a file; give a folder"):
        check_folder(tmp_path / "a", RUN_FILES, overwrite=True)
