"""Define the table of what agents and skills were told, which one migration makes: never change it once released.

Whoever only asks the table needs nothing else of `told_texts`.
"""

from __future__ import annotations

AGENT, SKILL = "agent", "skill"  # the kinds of texts
SHORTEST_SHARED = 40  # characters; a shorter text is in two agents by chance

TOLD_TABLES = """
    CREATE TABLE told_text (               -- the instructions of a custom agent or a skill, in a turn
        conversation INTEGER NOT NULL, position INTEGER NOT NULL,
        turn INTEGER,
        kind TEXT NOT NULL,                -- agent, skill
        name TEXT NOT NULL,
        digest TEXT NOT NULL,              -- of the text without regard to white space; the document has the text
        characters INTEGER NOT NULL,
        file TEXT, tools TEXT,             -- tools: JSON list
        PRIMARY KEY (conversation, position)
    ) WITHOUT ROWID;
    CREATE INDEX told_text_digest ON told_text (kind, digest, name);
    CREATE VIEW told_texts AS
        SELECT c.id AS conversation, t.position, t.turn, t.turn + 1 AS number, t.kind, t.name, t.digest, t.characters,
               t.file, t.tools, o.superseded
        FROM told_text AS t JOIN conversation AS c ON c.rowid = t.conversation
        LEFT JOIN turn AS o ON o.conversation = t.conversation AND o.position = t.turn;
    """
