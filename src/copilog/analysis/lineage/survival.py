"""How much of what conversations wrote is still in a repository: line by line, in the files as they are now.

Each file that a conversation edited is compared with it once, so this takes its time and is a command of its own. The
result states what it covers: files that are gone or cannot be read, and edits of which the lines are not known.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from copilog.analysis.lineage.blame import blame
from copilog.analysis.lineage.git import Repository
from copilog.analysis.selection import Chosen
from copilog.store.times import now

MOST_FILES = 500  # that are compared, those edited last first


class SurvivalRow(msgspec.Struct, kw_only=True):
    """What one conversation wrote in a repository, and what is left of it."""

    id: str
    title: str
    files: int = 0  # that it edited and that were compared
    added: int | None = None  # lines; None if that is not known
    still_there: int = 0  # those of them that are in the files now
    share: float | None = None


class Survival(msgspec.Struct, kw_only=True):
    """What is left in a repository of everything that conversations wrote."""

    repository: str
    measured_at: str
    rows: list[SurvivalRow]  # most lines first
    added: int = 0
    still_there: int = 0
    share: float | None = None
    files: int = 0  # that were compared
    files_gone: int = 0  # of these, what is not there any more: nothing of it is left
    files_known: int = 0  # that conversations edited in the repository
    files_without_lines: int = 0  # of those compared, edited in a way of which no lines are known


def survival(chosen: Chosen, folder: Path) -> Survival:
    """Compare the files of a repository with what the chosen conversations wrote into them."""
    top = Repository(folder).top
    paths = _edited_below(chosen, top)
    result = Survival(repository=str(top), measured_at=now(), rows=[], files_known=len(paths))
    rows: dict[str, SurvivalRow] = {}
    for path in paths[:MOST_FILES]:
        found = blame(chosen, path)
        result.files += 1
        result.files_gone += not found.exists
        written = [touch for touch in found.touches if touch.edits > touch.undone]
        result.files_without_lines += bool(written) and all(touch.added is None for touch in written)
        for touch in written:
            row = rows.setdefault(touch.conversation, SurvivalRow(id=touch.conversation, title=touch.title))
            row.files += 1
            if touch.added is not None:
                row.added = (row.added or 0) + touch.added
                row.still_there += min(touch.still_there, touch.added) if found.exists else 0
    for row in rows.values():
        row.share = _share(row.still_there, row.added)
        result.added += row.added or 0
        result.still_there += row.still_there
    result.share = _share(result.still_there, result.added)
    result.rows = sorted(rows.values(), key=lambda row: (-(row.added or 0), row.id))
    return result


def _edited_below(chosen: Chosen, top: Path) -> list[Path]:
    """Return the files below a folder that the chosen conversations edited and did not undo, the last first."""
    found = chosen.connection.execute(
        """
        SELECT f.path, max(t.at) AS at FROM temp.chosen_turn AS t
        JOIN file_edit AS f ON f.conversation = t.conversation AND f.turn = t.turn
        WHERE f.is_counted AND f.path IS NOT NULL AND f.fate IS NOT 'undone' GROUP BY f.path ORDER BY at DESC, f.path
        """
    )
    paths = [Path(path) for path, _ in found]
    return [path for path in paths if path.is_absolute() and path.is_relative_to(top)]


def _share(part: int, whole: int | None) -> float | None:
    return round(part / whole, 4) if whole else None
