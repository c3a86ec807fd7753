"""Edits, each counted once.

The same edit may be known twice, from the answer and from the editing history. The history is exact, so where a turn
has it for a file, the edits of its answer to that file are not counted as well.
"""

from __future__ import annotations

from copilog.analysis.selection import NO_TURN

COUNTED_EDITS = f"""
    WITH exact AS (
        SELECT DISTINCT f.conversation, coalesce(f.turn, {NO_TURN}) AS turn, coalesce(f.path, '') AS path
        FROM temp.chosen AS v CROSS JOIN file_edit AS f ON f.conversation = v.conversation
        WHERE f.origin = 'snapshot'
    )
    SELECT f.conversation, f.path, f.added, f.removed, f.fate, f.language
    FROM temp.chosen AS v CROSS JOIN file_edit AS f ON f.conversation = v.conversation
    CROSS JOIN temp.chosen_turn AS c ON c.conversation = f.conversation AND c.turn = coalesce(f.turn, {NO_TURN})
    LEFT JOIN exact AS x ON x.conversation = f.conversation AND x.turn = c.turn AND x.path = coalesce(f.path, '')
    WHERE f.origin = 'snapshot' OR x.conversation IS NULL
"""  # noqa: S608 - names of our own
