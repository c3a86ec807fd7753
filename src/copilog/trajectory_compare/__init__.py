"""Two files of trajectories, such as those of an older and a newer extraction, compared by conversation."""

from __future__ import annotations

from copilog.trajectory_compare.differences import (
    SECTIONS,
    Difference,
    compare_messages,
    compare_trajectories,
    text_diff,
)
from copilog.trajectory_compare.files import Comparison, Pair, Summary, compare_files
from copilog.trajectory_compare.line_reader import LinePosition, find_conversation, read_back, shown

__all__ = [
    "SECTIONS",
    "Comparison",
    "Difference",
    "LinePosition",
    "Pair",
    "Summary",
    "compare_files",
    "compare_messages",
    "compare_trajectories",
    "find_conversation",
    "read_back",
    "shown",
    "text_diff",
]
