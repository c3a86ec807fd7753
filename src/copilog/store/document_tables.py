"""Define the tables of documents, which one migration makes: never change it once released."""

from __future__ import annotations

DOCUMENT_TABLES = """
    CREATE TABLE conversation_document (   -- checkpoints, plans, memories and others; their texts are rows of message
        conversation INTEGER NOT NULL, position INTEGER NOT NULL,
        kind TEXT NOT NULL,                -- checkpoint, summary, plan, memory, research, artifact, todos, ...
        title TEXT, path TEXT, turn INTEGER,
        message INTEGER,                   -- position of the row that has its text
        number INTEGER,                    -- of a checkpoint
        scope TEXT,                        -- of a memory: user, repository, workspace, session
        type TEXT, value TEXT,             -- of a reference
        tool TEXT,                         -- of a session file
        items INTEGER, done INTEGER,       -- of a to-do list
        created_at TEXT, updated_at TEXT,
        characters INTEGER NOT NULL,       -- of its text
        trace TEXT,                        -- the first file that has it
        PRIMARY KEY (conversation, position)
    ) WITHOUT ROWID;
    CREATE INDEX conversation_document_kind ON conversation_document (kind);
    CREATE TABLE memory_use (              -- a memory that the tool touched, or that a prompt contained
        conversation INTEGER NOT NULL, position INTEGER NOT NULL,
        turn INTEGER, path TEXT NOT NULL, how TEXT NOT NULL,  -- tool, prompt
        PRIMARY KEY (conversation, position)
    ) WITHOUT ROWID;
    CREATE INDEX memory_use_path ON memory_use (path);
    CREATE VIEW documents AS
        SELECT c.id AS conversation, d.position, d.kind, d.title, d.path, d.turn, d.message, d.number, d.scope, d.type,
               d.value, d.tool, d.items, d.done, d.created_at, d.updated_at, d.characters, d.trace, o.superseded
        FROM conversation_document AS d JOIN conversation AS c ON c.rowid = d.conversation
        LEFT JOIN turn AS o ON o.conversation = d.conversation AND o.position = d.turn;
    CREATE VIEW memory_uses AS
        SELECT c.id AS conversation, u.turn, u.path, u.how
        FROM memory_use AS u JOIN conversation AS c ON c.rowid = u.conversation;
    DROP VIEW messages;
    CREATE VIEW messages AS
        SELECT c.id AS conversation, m.position, m.role, m.turn, m.created_at, m.mode, m.model, m.parent_call_id,
               m.user, m.answer, m.thinking, m.arguments, m.result, m.paths, o.superseded
        FROM message AS m JOIN conversation AS c ON c.rowid = m.conversation
        LEFT JOIN turn AS o ON o.conversation = m.conversation AND o.position = m.turn
        WHERE m.role NOT IN ('title', 'document');
    """
