"""Round trips and published checks over what real programs wrote, where COPILOG_REALTRACES names a folder of it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from copilog.exports.writing import NothingToWrite
from tests.exports import test_atif_export, test_otlp_export, test_trajectory_export
from tests.exports.conversations import corpus_conversations, exported
from tests.exports.training_checks import check_openai, check_sharegpt, lines_of

FOLDER = os.environ.get("COPILOG_REALTRACES")
FOLDERS = sorted(path.parent for path in Path(FOLDER).glob("*/truth.json")) if FOLDER else []
pytestmark = pytest.mark.skipif(not FOLDERS, reason="COPILOG_REALTRACES names no folder")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_all_formats_carry_what_real_programs_wrote(folder: Path, tmp_path: Path) -> None:
    copied = tmp_path / "home"
    shutil.copytree(folder, copied)  # databases are not opened where others keep them
    for whole in corpus_conversations(copied):
        test_otlp_export.check_round_trip(whole, tmp_path)
        test_atif_export.check_round_trip(whole, tmp_path)
        if test_trajectory_export.has_messages(whole):
            test_trajectory_export.check_round_trip(whole, tmp_path)
        for kind, check in (("openai", check_openai), ("sharegpt", check_sharegpt)):
            try:
                exported([whole], kind, tmp_path / "lines.jsonl")
            except NothingToWrite:
                continue
            for line in lines_of(tmp_path / "lines.jsonl"):
                check(line)
