"""Texts before and after: apply edits to a text, and show two texts as a unified diff.

Edits name lines and columns as VS Code does: both start at 1, columns count UTF-16 units, and a line ends at
CR LF, LF or CR. A diff is what `git diff` would show: there a line ends at LF alone, and a CR is a character.
"""

from copilog.textdiff.diffs import Diff, count_changes, diff_of, unified_diff
from copilog.textdiff.edits import EditableText, apply_edits
from copilog.textdiff.patches import git_patch

__all__ = ["Diff", "EditableText", "apply_edits", "count_changes", "diff_of", "git_patch", "unified_diff"]
