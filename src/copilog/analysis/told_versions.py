"""The instructions that an agent or a skill had over time: each distinct text once, with what changed.

Rows of the archive say when each text was used; a text itself is read from one conversation that recorded it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from copilog.analysis.agent_figures import TextVersion
from copilog.analysis.selection import NO_TURN, Chosen
from copilog.definitions import Definition
from copilog.store.archive import Archive
from copilog.store.told_texts import body_of, digest_of, text_with_digest
from copilog.textdiff import unified_diff

MOST_VERSIONS = 30  # whose texts are read
MOST_TRIED = 3  # conversations in which a text is looked for

_ROWS = f"""
    SELECT t.digest, t.name, k.id, c.at, c.conversation, c.turn, t.characters, t.tools, t.turn IS NOT NULL
    FROM temp.chosen AS k CROSS JOIN told_text AS t ON t.conversation = k.conversation
    CROSS JOIN temp.chosen_turn AS c ON c.conversation = t.conversation AND c.turn = coalesce(t.turn, {NO_TURN})
    WHERE t.kind = ? AND t.name IN (SELECT value FROM json_each(?))
    ORDER BY c.at, k.id, t.position
"""  # noqa: S608 - a constant


class Versions(NamedTuple):
    rows: list[TextVersion]  # the newest first
    left_out: int


class _Uses:
    """The uses of one text."""

    def __init__(self, characters: int = 0) -> None:
        self.characters = characters
        self.names: dict[str, None] = {}
        self.times: list[str] = []
        self.turns: set[tuple[int, int]] = set()
        self.ids: dict[str, None] = {}
        self.tools: list[str] = []


def versions_of(
    chosen: Chosen, archive: Archive, kind: str, names: Collection[str], defined: Sequence[Definition]
) -> Versions:
    """Return the instructions that these names had, and those of the definitions, the newest first."""
    uses: dict[str, _Uses] = {}
    for digest, name, id_, at, conversation, turn, characters, tools, is_of_turn in chosen.connection.execute(
        _ROWS, (kind, json.dumps(list(names)))
    ):
        use = uses.setdefault(digest, _Uses(characters))
        use.names[name] = None
        use.ids[id_] = None
        if at is not None:
            use.times.append(at)
        if is_of_turn:
            use.turns.add((conversation, turn))
        use.tools = json.loads(tools) if tools else use.tools
    files: dict[str, list[Definition]] = {}
    for made in defined:
        text = body_of(made.body)
        if text:
            files.setdefault(digest_of(text), []).append(made)
    ordered = sorted(uses, key=lambda digest: (max(uses[digest].times, default=""), digest), reverse=True)
    # A text that only files have is what comes next.
    ordered = [*(digest for digest in files if digest not in uses), *ordered]
    rows = [_version(digest, uses.get(digest), files.get(digest, ())) for digest in ordered[:MOST_VERSIONS]]
    for row in rows:
        row.text = row.text if row.text is not None else _text_of(archive, uses[row.digest].ids, row.digest)
    for row, before in pairwise(rows):
        if row.text is not None and before.text is not None:
            row.diff = unified_diff(f"{before.text}\n", f"{row.text}\n", "instructions") or None
    return Versions(rows, max(0, len(ordered) - MOST_VERSIONS))


def _version(digest: str, use: _Uses | None, files: Iterable[Definition]) -> TextVersion:
    made = list(files)
    use = use or _Uses(len(body_of(made[0].body)))
    return TextVersion(
        digest=digest,
        names=list(use.names) or [one.name for one in made],
        first_at=min(use.times, default=None),
        last_at=max(use.times, default=None),
        turns=len(use.turns),
        conversations=len(use.ids),
        characters=use.characters,
        paths=[one.path for one in made],
        text=body_of(made[0].body) if made else None,
        tools=use.tools or (made[0].tools if made else []),
    )


def _text_of(archive: Archive, ids: Iterable[str], digest: str) -> str | None:
    """Return the text from the last conversation that has it."""
    for id_ in list(ids)[: -MOST_TRIED - 1 : -1]:
        told = text_with_digest(archive.get(id_), digest)
        if told is not None:
            return told.text
    return None
