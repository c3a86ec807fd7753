"""Define the tables of commands and of touched files, which one migration makes: never change it once released."""

from __future__ import annotations

TOUCHED_TABLES = """
    CREATE TABLE command (                 -- every command of a shell
        conversation INTEGER NOT NULL, position INTEGER NOT NULL,
        message INTEGER NOT NULL, turn INTEGER, call_id TEXT, tool TEXT, origin TEXT,
        command TEXT NOT NULL,             -- as executed, or as it would have been
        requested TEXT,                    -- as the model requested it, if it was edited
        edited_by TEXT,                    -- user, tool
        directory TEXT, language TEXT, started_at TEXT, elapsed_ms REAL,
        exit_code INTEGER,                 -- also if a later call reported it
        outcome TEXT, approval TEXT, approval_detail TEXT,
        PRIMARY KEY (conversation, position)
    ) WITHOUT ROWID;
    CREATE TABLE file_touch (              -- every file that a tool or an attachment touched
        conversation INTEGER NOT NULL, position INTEGER NOT NULL,
        message INTEGER, turn INTEGER, call_id TEXT,
        path TEXT NOT NULL,
        action TEXT NOT NULL,              -- read, viewed, searched, found, edited, created, deleted, ...
        tool TEXT, first_line INTEGER, last_line INTEGER, outcome TEXT,
        PRIMARY KEY (conversation, position)
    ) WITHOUT ROWID;
    CREATE INDEX file_touch_path ON file_touch (path);
    CREATE VIEW commands AS
        SELECT c.id AS conversation, r.position, r.message, r.turn, r.call_id, r.tool, r.origin, r.command, r.requested,
               r.edited_by, r.directory, r.language, r.started_at, r.elapsed_ms, r.exit_code, r.outcome, r.approval,
               r.approval_detail, o.superseded
        FROM command AS r JOIN conversation AS c ON c.rowid = r.conversation
        LEFT JOIN turn AS o ON o.conversation = r.conversation AND o.position = r.turn;
    CREATE VIEW file_touches AS
        SELECT c.id AS conversation, f.position, f.message, f.turn, f.call_id, f.path, f.action, f.tool, f.first_line,
               f.last_line, f.outcome, o.superseded
        FROM file_touch AS f JOIN conversation AS c ON c.rowid = f.conversation
        LEFT JOIN turn AS o ON o.conversation = f.conversation AND o.position = f.turn;
    """
