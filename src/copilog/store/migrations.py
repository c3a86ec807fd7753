"""Make the tables and views of the archive, as numbered migrations; `schema` describes how they are named."""

from __future__ import annotations

from copilog.store.checksum_tables import CHECKSUM_TABLES
from copilog.store.document_tables import DOCUMENT_TABLES
from copilog.store.numbered_views import NUMBERED_VIEWS
from copilog.store.told_tables import TOLD_TABLES
from copilog.store.touched_tables import TOUCHED_TABLES

# Each migration is applied once, in order, in a transaction. Never change a released one.
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE conversation (
        rowid INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,          -- "vscode:<native id>"
        native_id TEXT,
        source TEXT NOT NULL,             -- of the trace that leads
        title TEXT NOT NULL,              -- as shown in lists
        assistant TEXT,
        application TEXT,
        location TEXT,
        workspace TEXT,                   -- the folder
        repository TEXT,
        branch TEXT,
        started_at TEXT,                  -- ISO 8601, UTC, with milliseconds and Z: texts compare as times
        updated_at TEXT,
        turns INTEGER NOT NULL,
        messages INTEGER NOT NULL,
        tool_calls INTEGER NOT NULL,
        edits INTEGER NOT NULL,
        errors INTEGER NOT NULL,          -- turns that failed, and calls that did
        models TEXT NOT NULL,             -- JSON lists of names
        modes TEXT NOT NULL,
        agents TEXT NOT NULL,
        skills TEXT NOT NULL,             -- those that were loaded
        marks TEXT NOT NULL,
        is_empty INTEGER NOT NULL,
        digest BLOB NOT NULL,             -- of the document: what is equal is not written again
        signature TEXT NOT NULL,          -- of the files it was read from: what is equal is not read again
        text_bytes INTEGER NOT NULL,      -- of what is searched
        indexed INTEGER NOT NULL DEFAULT 0,      -- how many of its messages, from the first, are in the full-text index
        is_indexed INTEGER NOT NULL DEFAULT 0,   -- whether all of them are
        stored_at TEXT NOT NULL,
        gone_at TEXT                      -- when none of its files was there any more
    );
    CREATE INDEX conversation_touched ON conversation (coalesce(updated_at, started_at));
    CREATE INDEX conversation_native ON conversation (native_id);
    CREATE INDEX conversation_pending ON conversation (is_indexed) WHERE NOT is_indexed;

    CREATE TABLE document (                -- the whole model, as JSON, packed with zstd
        conversation INTEGER PRIMARY KEY REFERENCES conversation (rowid) ON DELETE CASCADE,
        data BLOB NOT NULL
    );

    CREATE TABLE message (                 -- also the content of the full-text index
        rowid INTEGER PRIMARY KEY,
        conversation INTEGER NOT NULL,
        position INTEGER NOT NULL,         -- in the conversation's list; the title's row comes after the last message
        role TEXT NOT NULL,                -- system, user, assistant, tool; "title" for the row that holds the title
        turn INTEGER,
        created_at TEXT,
        mode TEXT,
        model TEXT,
        parent_call_id TEXT,
        title TEXT, user TEXT, answer TEXT, thinking TEXT, arguments TEXT, result TEXT, paths TEXT
    );

    CREATE TABLE turn (
        conversation INTEGER NOT NULL, position INTEGER NOT NULL,
        request_id TEXT, status TEXT, agent TEXT, custom_agent TEXT, command TEXT, mode TEXT, model TEXT,
        resolved_model TEXT, started_at TEXT, elapsed_ms REAL, first_progress_ms REAL, waited_ms REAL, error TEXT,
        vote INTEGER,
        PRIMARY KEY (conversation, position)
    ) WITHOUT ROWID;

    CREATE TABLE tool_call (
        conversation INTEGER NOT NULL, message INTEGER NOT NULL, position INTEGER NOT NULL,  -- part of the message
        turn INTEGER, call_id TEXT, name TEXT NOT NULL, status TEXT, origin TEXT, server TEXT, is_error INTEGER,
        started_at TEXT, arguments_bytes INTEGER, result_bytes INTEGER,
        PRIMARY KEY (conversation, message, position)
    ) WITHOUT ROWID;

    CREATE TABLE file_edit (
        conversation INTEGER NOT NULL, position INTEGER NOT NULL,
        message INTEGER, turn INTEGER, path TEXT, action TEXT, added INTEGER, removed INTEGER, is_undone INTEGER,
        origin TEXT NOT NULL,              -- "answer" (a part of the answer) or "snapshot" (the editing history)
        PRIMARY KEY (conversation, position)
    ) WITHOUT ROWID;

    CREATE TABLE token_usage (
        conversation INTEGER NOT NULL, position INTEGER NOT NULL,
        turn INTEGER, scope TEXT, source TEXT, model TEXT, input INTEGER, output INTEGER, cache_read INTEGER,
        cache_write INTEGER, reasoning INTEGER, last_prompt INTEGER, premium_requests REAL, credits REAL,
        is_estimated INTEGER NOT NULL,
        PRIMARY KEY (conversation, position)
    ) WITHOUT ROWID;

    CREATE TABLE skill (
        conversation INTEGER NOT NULL, position INTEGER NOT NULL,
        turn INTEGER, name TEXT NOT NULL, file TEXT, is_loaded INTEGER NOT NULL, evidence TEXT,
        PRIMARY KEY (conversation, position)
    ) WITHOUT ROWID;

    CREATE TABLE trace (                   -- every file that a conversation was read from
        conversation INTEGER NOT NULL, position INTEGER NOT NULL,
        source TEXT NOT NULL, path TEXT NOT NULL, role TEXT, place TEXT,  -- pointer, or table and row
        PRIMARY KEY (conversation, position)
    ) WITHOUT ROWID;
    CREATE INDEX trace_path ON trace (path);

    CREATE TABLE file (                    -- every file that a scan looked at
        path TEXT PRIMARY KEY,
        source TEXT, size INTEGER NOT NULL, modified_ns INTEGER NOT NULL,
        root TEXT NOT NULL,                -- the scan's root or path it was found under
        ledger TEXT,                       -- JSON: seen, used, ignored, bad, unknown, parts
        scanned_at TEXT NOT NULL,
        gone_at TEXT
    ) WITHOUT ROWID;

    CREATE TABLE problem (                 -- diagnostics of files
        path TEXT NOT NULL, position INTEGER NOT NULL,
        source TEXT, level TEXT NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL, place TEXT,
        PRIMARY KEY (path, position)
    ) WITHOUT ROWID;

    CREATE TABLE annotation (              -- what a person added; kept whatever happens to the conversation
        id TEXT PRIMARY KEY,               -- the conversation's id
        is_starred INTEGER NOT NULL DEFAULT 0,
        note TEXT,
        changed_at TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE label (id TEXT NOT NULL, label TEXT NOT NULL, PRIMARY KEY (id, label)) WITHOUT ROWID;
    CREATE TABLE tombstone (id TEXT PRIMARY KEY, removed_at TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE unit (                    -- what a scan reads as one: all traces of a conversation, or a file of many
        key TEXT NOT NULL, root TEXT NOT NULL, signature TEXT NOT NULL, ids TEXT NOT NULL,  -- ids: JSON list
        PRIMARY KEY (root, key)
    ) WITHOUT ROWID;
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;

    CREATE VIRTUAL TABLE words USING fts5 (
        title, user, answer, thinking, arguments, result, paths,
        content='message', content_rowid='rowid', tokenize="unicode61 remove_diacritics 2"
    );
    CREATE VIRTUAL TABLE term USING fts5vocab (words, row);
    -- Substrings are looked up among the words that occur, not among all texts: a hundred times less to index.
    CREATE VIRTUAL TABLE word_part USING fts5 (word, content='', tokenize='trigram', detail='none');
    CREATE TABLE word (rowid INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE);

    CREATE VIEW conversations AS
        SELECT c.id, c.native_id, c.title, c.source, c.application, c.assistant, c.location, c.workspace, c.repository,
               c.branch, c.started_at, c.updated_at, c.turns, c.messages, c.tool_calls, c.edits, c.errors, c.models,
               c.modes, c.agents, c.skills, c.marks, c.is_empty, coalesce(a.is_starred, 0) AS is_starred, a.note,
               (SELECT json_group_array(label) FROM label WHERE label.id = c.id) AS labels,
               (SELECT json_group_array(path) FROM trace WHERE trace.conversation = c.rowid) AS paths,
               c.stored_at, c.gone_at
        FROM conversation AS c LEFT JOIN annotation AS a ON a.id = c.id;
    CREATE VIEW messages AS
        SELECT c.id AS conversation, m.position, m.role, m.turn, m.created_at, m.mode, m.model, m.parent_call_id,
               m.user, m.answer, m.thinking, m.arguments, m.result, m.paths
        FROM message AS m JOIN conversation AS c ON c.rowid = m.conversation WHERE m.role <> 'title';
    CREATE VIEW turns AS
        SELECT c.id AS conversation, t.position, t.request_id, t.status, t.agent, t.custom_agent, t.command, t.mode,
               t.model, t.resolved_model, t.started_at, t.elapsed_ms, t.first_progress_ms, t.waited_ms, t.error, t.vote
        FROM turn AS t JOIN conversation AS c ON c.rowid = t.conversation;
    CREATE VIEW tool_calls AS
        SELECT c.id AS conversation, t.message, t.position, t.turn, t.call_id, t.name, t.status, t.origin, t.server,
               t.is_error, t.started_at, t.arguments_bytes, t.result_bytes
        FROM tool_call AS t JOIN conversation AS c ON c.rowid = t.conversation;
    CREATE VIEW file_edits AS
        SELECT c.id AS conversation, e.position, e.message, e.turn, e.path, e.action, e.added, e.removed, e.is_undone,
               e.origin
        FROM file_edit AS e JOIN conversation AS c ON c.rowid = e.conversation;
    CREATE VIEW usage AS
        SELECT c.id AS conversation, u.position, u.turn, u.scope, u.source, u.model, u.input, u.output, u.cache_read,
               u.cache_write, u.reasoning, u.last_prompt, u.premium_requests, u.credits, u.is_estimated
        FROM token_usage AS u JOIN conversation AS c ON c.rowid = u.conversation;
    CREATE VIEW skills AS
        SELECT c.id AS conversation, s.position, s.turn, s.name, s.file, s.is_loaded, s.evidence
        FROM skill AS s JOIN conversation AS c ON c.rowid = s.conversation;
    CREATE VIEW traces AS
        SELECT c.id AS conversation, t.position, t.source, t.path, t.role, t.place, f.gone_at
        FROM trace AS t JOIN conversation AS c ON c.rowid = t.conversation LEFT JOIN file AS f ON f.path = t.path;
    CREATE VIEW files AS SELECT * FROM file;
    CREATE VIEW problems AS SELECT * FROM problem;
    """,
    """
    ALTER TABLE conversation ADD COLUMN rows_version INTEGER NOT NULL DEFAULT 1;  -- ROWS_VERSION when it was stored
    CREATE INDEX conversation_rows_version ON conversation (rows_version);

    ALTER TABLE turn ADD COLUMN completed_at TEXT;
    ALTER TABLE turn ADD COLUMN details TEXT;             -- the line under the answer
    ALTER TABLE turn ADD COLUMN vote_reason TEXT;
    ALTER TABLE turn ADD COLUMN error_code TEXT;
    ALTER TABLE turn ADD COLUMN agent_evidence TEXT;      -- how we know of the custom agent
    ALTER TABLE turn ADD COLUMN is_retry INTEGER;         -- the same prompt as that of the turn before
    ALTER TABLE turn ADD COLUMN is_system INTEGER;        -- begun by the product, not by a person
    CREATE INDEX turn_request ON turn (request_id);

    ALTER TABLE tool_call ADD COLUMN elapsed_ms REAL;
    ALTER TABLE tool_call ADD COLUMN approval TEXT;  -- denied, not-needed, setting, granted, user, skipped, unknown
    ALTER TABLE tool_call ADD COLUMN approval_detail TEXT;
    ALTER TABLE tool_call ADD COLUMN agent TEXT;          -- who called: a sub-agent, a custom agent, a participant
    ALTER TABLE tool_call ADD COLUMN subagent TEXT;       -- whom the call started
    ALTER TABLE tool_call ADD COLUMN parent_call_id TEXT; -- the call whose sub-agent called
    ALTER TABLE tool_call ADD COLUMN programs TEXT;       -- JSON list: ["git commit", "pytest"]
    ALTER TABLE tool_call ADD COLUMN exit_code INTEGER;   -- of a command in a terminal

    ALTER TABLE file_edit ADD COLUMN call_id TEXT;
    ALTER TABLE file_edit ADD COLUMN fate TEXT;           -- kept, undone, changed, pending
    ALTER TABLE file_edit ADD COLUMN language TEXT;
    ALTER TABLE file_edit ADD COLUMN created_at TEXT;
    CREATE INDEX file_edit_path ON file_edit (path);

    ALTER TABLE token_usage ADD COLUMN session_credits REAL;
    ALTER TABLE token_usage ADD COLUMN parent_call_id TEXT;

    CREATE TABLE spend (                   -- what was used, each token once: any rows may be added up
        conversation INTEGER NOT NULL, position INTEGER NOT NULL,
        turn INTEGER, at TEXT, model TEXT, agent TEXT, subagent TEXT, parent_call_id TEXT,
        input INTEGER, output INTEGER, cache_read INTEGER, cache_write INTEGER, reasoning INTEGER,
        premium_requests REAL, credits REAL,
        source TEXT NOT NULL,              -- where the numbers stood
        method TEXT NOT NULL,              -- recorded, spread (recorded for the whole session), estimated
        PRIMARY KEY (conversation, position)
    ) WITHOUT ROWID;

    CREATE TABLE prompt_share (
        conversation INTEGER NOT NULL, position INTEGER NOT NULL,
        turn INTEGER, category TEXT NOT NULL, label TEXT, percent REAL,
        PRIMARY KEY (conversation, position)
    ) WITHOUT ROWID;

    CREATE TABLE relation (
        conversation INTEGER NOT NULL, position INTEGER NOT NULL,
        kind TEXT NOT NULL, other_id TEXT NOT NULL, reason TEXT,
        PRIMARY KEY (conversation, position)
    ) WITHOUT ROWID;

    DROP VIEW turns;
    CREATE VIEW turns AS
        SELECT c.id AS conversation, t.position, t.request_id, t.status, t.agent, t.custom_agent, t.command, t.mode,
               t.model, t.resolved_model, t.started_at, t.completed_at, t.elapsed_ms, t.first_progress_ms, t.waited_ms,
               t.error, t.error_code, t.vote, t.vote_reason, t.details, t.agent_evidence, t.is_retry, t.is_system
        FROM turn AS t JOIN conversation AS c ON c.rowid = t.conversation;
    DROP VIEW tool_calls;
    CREATE VIEW tool_calls AS
        SELECT c.id AS conversation, t.message, t.position, t.turn, t.call_id, t.parent_call_id, t.name, t.status,
               t.origin, t.server, t.agent, t.subagent, t.is_error, t.approval, t.approval_detail, t.programs,
               t.exit_code, t.started_at, t.elapsed_ms, t.arguments_bytes, t.result_bytes
        FROM tool_call AS t JOIN conversation AS c ON c.rowid = t.conversation;
    DROP VIEW file_edits;
    CREATE VIEW file_edits AS
        SELECT c.id AS conversation, e.position, e.message, e.turn, e.call_id, e.created_at, e.path, e.language,
               e.action, e.added, e.removed, e.is_undone, e.fate, e.origin
        FROM file_edit AS e JOIN conversation AS c ON c.rowid = e.conversation;
    DROP VIEW usage;
    CREATE VIEW usage AS
        SELECT c.id AS conversation, u.position, u.turn, u.parent_call_id, u.scope, u.source, u.model, u.input,
               u.output, u.cache_read, u.cache_write, u.reasoning, u.last_prompt, u.premium_requests, u.credits,
               u.session_credits, u.is_estimated
        FROM token_usage AS u JOIN conversation AS c ON c.rowid = u.conversation;
    CREATE VIEW spending AS
        SELECT c.id AS conversation, s.position, s.turn, s.at, s.model, s.agent, s.subagent, s.parent_call_id, s.input,
               s.output, s.cache_read, s.cache_write, s.reasoning, s.premium_requests, s.credits, s.source, s.method
        FROM spend AS s JOIN conversation AS c ON c.rowid = s.conversation;
    CREATE VIEW prompt_shares AS
        SELECT c.id AS conversation, p.position, p.turn, p.category, p.label, p.percent
        FROM prompt_share AS p JOIN conversation AS c ON c.rowid = p.conversation;
    CREATE VIEW relations AS
        SELECT c.id AS conversation, r.position, r.kind, r.other_id, r.reason
        FROM relation AS r JOIN conversation AS c ON c.rowid = r.conversation;
    """,
    """
    CREATE TABLE chapter (                 -- earlier messages of a long conversation: what the document begins after
        conversation INTEGER NOT NULL, position INTEGER NOT NULL,
        digest BLOB NOT NULL,              -- of the data: what is equal is not written again
        data BLOB NOT NULL,                -- a list of messages, as JSON, packed with zstd
        PRIMARY KEY (conversation, position)
    );
    -- Words that were too long for the index: what stood beyond their first 32,768 bytes is not in it.
    CREATE INDEX word_cut ON word (rowid) WHERE length(CAST(word AS BLOB)) >= 32768;
    """,
    """
    -- Whether it was compared, since it was stored, with conversations that do not say which they are.
    ALTER TABLE conversation ADD COLUMN is_compared INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE part (                    -- of what conversations were made that an export has joined
        id TEXT PRIMARY KEY,               -- of the part; the whole's own id for what was read under that
        whole TEXT NOT NULL,               -- the conversation's id
        signature TEXT NOT NULL,           -- of the files it was read from
        data BLOB NOT NULL                 -- the document and its chapters; empty when the whole was removed
    );
    CREATE INDEX part_whole ON part (whole);
    """,
    """
    ALTER TABLE turn ADD COLUMN superseded TEXT;          -- why the turn no longer counts; NULL for those that do
    ALTER TABLE turn ADD COLUMN branch_from INTEGER;      -- the turn that its branch leaves from
    ALTER TABLE turn ADD COLUMN branch_trace TEXT;        -- the trace that has the branch; NULL for the trunk
    ALTER TABLE turn ADD COLUMN only_trace TEXT;          -- the trace that alone has the turn, of several
    ALTER TABLE turn ADD COLUMN working_ms REAL;          -- elapsed_ms without waited_ms
    ALTER TABLE turn ADD COLUMN traces INTEGER;           -- how many have the turn
    ALTER TABLE trace ADD COLUMN marks TEXT;              -- of the trace alone: torn, damaged, transcript, ...
    ALTER TABLE turn ADD COLUMN prompt INTEGER;           -- key of what the user typed: the same for the same words
    CREATE INDEX turn_prompt ON turn (prompt);
    CREATE TABLE queued_prompt (           -- what waits to be sent, by the same key
        conversation INTEGER NOT NULL, position INTEGER NOT NULL, prompt INTEGER NOT NULL,
        PRIMARY KEY (conversation, position)
    ) WITHOUT ROWID;
    CREATE INDEX queued_prompt_key ON queued_prompt (prompt);
    CREATE INDEX relation_prompts ON relation (other_id) WHERE kind = 'prompts-of';

    ALTER TABLE conversation ADD COLUMN title_origin TEXT;  -- where the title is from
    CREATE INDEX turn_superseded ON turn (conversation, position) WHERE superseded IS NOT NULL;

    ALTER TABLE token_usage ADD COLUMN helper TEXT;       -- the helper that used it, such as the making of a title

    DROP VIEW tool_calls;
    ALTER TABLE tool_call DROP COLUMN status;
    ALTER TABLE tool_call DROP COLUMN is_error;
    ALTER TABLE tool_call ADD COLUMN outcome TEXT;        -- of the call; exit_code is that of its command
    ALTER TABLE tool_call ADD COLUMN outcome_reason TEXT;
    ALTER TABLE file_edit ADD COLUMN is_counted INTEGER NOT NULL DEFAULT 1;  -- 0: the editing history tells it again
    CREATE INDEX tool_call_running ON tool_call (conversation) WHERE outcome = 'running';
    ALTER TABLE conversation ADD COLUMN failed_calls INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE conversation ADD COLUMN command_errors INTEGER NOT NULL DEFAULT 0;  -- exit codes other than 0

    DROP VIEW conversations;
    CREATE VIEW conversations AS
        SELECT c.id, c.native_id, c.title, c.title_origin, c.source, c.application, c.assistant, c.location,
               c.workspace, c.repository, c.branch, c.started_at, c.updated_at, c.turns, c.messages, c.tool_calls,
               c.edits, c.errors, c.failed_calls, c.command_errors, c.models, c.modes, c.agents, c.skills, c.marks,
               c.is_empty, coalesce(a.is_starred, 0) AS is_starred, a.note,
               (SELECT json_group_array(label) FROM label WHERE label.id = c.id) AS labels,
               (SELECT json_group_array(path) FROM trace WHERE trace.conversation = c.rowid) AS paths,
               c.stored_at, c.gone_at
        FROM conversation AS c LEFT JOIN annotation AS a ON a.id = c.id;
    DROP VIEW turns;
    CREATE VIEW turns AS
        SELECT c.id AS conversation, t.position, t.request_id, t.status, t.agent, t.custom_agent, t.command, t.mode,
               t.model, t.resolved_model, t.started_at, t.completed_at, t.elapsed_ms, t.first_progress_ms, t.waited_ms,
               t.working_ms, t.error, t.error_code, t.vote, t.vote_reason, t.details, t.agent_evidence, t.is_retry,
               t.is_system, t.superseded, t.branch_from, t.branch_trace, t.only_trace
        FROM turn AS t JOIN conversation AS c ON c.rowid = t.conversation;
    CREATE VIEW tool_calls AS
        SELECT c.id AS conversation, t.message, t.position, t.turn, t.call_id, t.parent_call_id, t.name, t.outcome,
               t.outcome_reason, t.exit_code, t.origin, t.server, t.agent, t.subagent, t.approval, t.approval_detail,
               t.programs, t.started_at, t.elapsed_ms, t.arguments_bytes, t.result_bytes, o.superseded
        FROM tool_call AS t JOIN conversation AS c ON c.rowid = t.conversation
        LEFT JOIN turn AS o ON o.conversation = t.conversation AND o.position = t.turn;
    DROP VIEW messages;
    CREATE VIEW messages AS
        SELECT c.id AS conversation, m.position, m.role, m.turn, m.created_at, m.mode, m.model, m.parent_call_id,
               m.user, m.answer, m.thinking, m.arguments, m.result, m.paths, o.superseded
        FROM message AS m JOIN conversation AS c ON c.rowid = m.conversation
        LEFT JOIN turn AS o ON o.conversation = m.conversation AND o.position = m.turn WHERE m.role <> 'title';
    DROP VIEW file_edits;
    CREATE VIEW file_edits AS
        SELECT c.id AS conversation, e.position, e.message, e.turn, e.call_id, e.created_at, e.path, e.language,
               e.action, e.added, e.removed, e.is_undone, e.fate, e.origin, e.is_counted, o.superseded
        FROM file_edit AS e JOIN conversation AS c ON c.rowid = e.conversation
        LEFT JOIN turn AS o ON o.conversation = e.conversation AND o.position = e.turn;
    DROP VIEW usage;
    CREATE VIEW usage AS
        SELECT c.id AS conversation, u.position, u.turn, u.parent_call_id, u.scope, u.source, u.model, u.input,
               u.output, u.cache_read, u.cache_write, u.reasoning, u.last_prompt, u.premium_requests, u.credits,
               u.session_credits, u.is_estimated, u.helper, o.superseded
        FROM token_usage AS u JOIN conversation AS c ON c.rowid = u.conversation
        LEFT JOIN turn AS o ON o.conversation = u.conversation AND o.position = u.turn;
    DROP VIEW spending;
    CREATE VIEW spending AS
        SELECT c.id AS conversation, s.position, s.turn, s.at, s.model, s.agent, s.subagent, s.parent_call_id, s.input,
               s.output, s.cache_read, s.cache_write, s.reasoning, s.premium_requests, s.credits, s.source, s.method,
               o.superseded
        FROM spend AS s JOIN conversation AS c ON c.rowid = s.conversation
        LEFT JOIN turn AS o ON o.conversation = s.conversation AND o.position = s.turn;
    DROP VIEW prompt_shares;
    CREATE VIEW prompt_shares AS
        SELECT c.id AS conversation, p.position, p.turn, p.category, p.label, p.percent, o.superseded
        FROM prompt_share AS p JOIN conversation AS c ON c.rowid = p.conversation
        LEFT JOIN turn AS o ON o.conversation = p.conversation AND o.position = p.turn;
    DROP VIEW skills;
    CREATE VIEW skills AS
        SELECT c.id AS conversation, s.position, s.turn, s.name, s.file, s.is_loaded, s.evidence, o.superseded
        FROM skill AS s JOIN conversation AS c ON c.rowid = s.conversation
        LEFT JOIN turn AS o ON o.conversation = s.conversation AND o.position = s.turn;
    """,
    """
    CREATE TABLE origin (                  -- what the archive is made from, and is updated from
        name TEXT PRIMARY KEY,             -- of the scope, as in file and unit
        kind TEXT NOT NULL,                -- machine, roots, path; named: an earlier version did not say which
        home TEXT                          -- of a machine: the home folder that it was scanned from
    ) WITHOUT ROWID;
    INSERT OR IGNORE INTO origin (name, kind)
        SELECT root, CASE root WHEN 'this machine' THEN 'machine' ELSE 'named' END
        FROM (SELECT DISTINCT root FROM unit);
    CREATE INDEX conversation_empty ON conversation (is_empty) WHERE is_empty;
    """,
    """
    ALTER TABLE turn ADD COLUMN copied_from TEXT;         -- id of the conversation that a fork has the turn from
    CREATE INDEX turn_copied ON turn (conversation, position) WHERE copied_from IS NOT NULL;
    DROP VIEW turns;
    CREATE VIEW turns AS
        SELECT c.id AS conversation, t.position, t.request_id, t.status, t.agent, t.custom_agent, t.command, t.mode,
               t.model, t.resolved_model, t.started_at, t.completed_at, t.elapsed_ms, t.first_progress_ms, t.waited_ms,
               t.working_ms, t.error, t.error_code, t.vote, t.vote_reason, t.details, t.agent_evidence, t.is_retry,
               t.is_system, t.superseded, t.branch_from, t.branch_trace, t.only_trace, t.copied_from
        FROM turn AS t JOIN conversation AS c ON c.rowid = t.conversation;
    """,
    """
    ALTER TABLE spend ADD COLUMN payer TEXT NOT NULL DEFAULT 'copilot';      -- copilot, own key, unknown
    ALTER TABLE spend ADD COLUMN billing TEXT;            -- what the record names: requests, credits
    ALTER TABLE spend ADD COLUMN has_credits INTEGER NOT NULL DEFAULT 0;     -- whether the turn records credits
    ALTER TABLE spend ADD COLUMN calls INTEGER;           -- of the model
    DROP VIEW spending;
    CREATE VIEW spending AS
        SELECT c.id AS conversation, s.position, s.turn, s.at, s.model, s.agent, s.subagent, s.parent_call_id, s.input,
               s.output, s.cache_read, s.cache_write, s.reasoning, s.calls, s.premium_requests, s.credits, s.payer,
               s.billing, s.has_credits, s.source, s.method, t.superseded
        FROM spend AS s JOIN conversation AS c ON c.rowid = s.conversation
        LEFT JOIN turn AS t ON t.conversation = s.conversation AND t.position = s.turn;
    """,
    """
    CREATE TABLE survival (                -- what is left of what a conversation wrote; kept by the conversation's id
        repository TEXT NOT NULL, id TEXT NOT NULL,
        added INTEGER,                     -- lines
        still_there INTEGER NOT NULL, files INTEGER NOT NULL,
        measured_at TEXT NOT NULL,
        files_compared INTEGER NOT NULL, files_known INTEGER NOT NULL,  -- of the whole repository
        PRIMARY KEY (repository, id)
    ) WITHOUT ROWID;
    """,
    """
    ALTER TABLE spend ADD COLUMN input_at_least INTEGER;   -- of an estimate, whose input and output are likely ones
    ALTER TABLE spend ADD COLUMN output_at_least INTEGER;
    DROP VIEW spending;
    CREATE VIEW spending AS
        SELECT c.id AS conversation, s.position, s.turn, s.at, s.model, s.agent, s.subagent, s.parent_call_id, s.input,
               s.output, s.cache_read, s.cache_write, s.reasoning, s.calls, s.premium_requests, s.credits,
               s.input_at_least, s.output_at_least, s.payer, s.billing, s.has_credits, s.source, s.method, t.superseded
        FROM spend AS s JOIN conversation AS c ON c.rowid = s.conversation
        LEFT JOIN turn AS t ON t.conversation = s.conversation AND t.position = s.turn;
    """,
    """
    ALTER TABLE turn ADD COLUMN answer_models TEXT;        -- JSON list: the models of its answers, not of sub-agents
    """,
    """
    ALTER TABLE spend ADD COLUMN prompts TEXT;             -- JSON: [input, output, cache_read, cache_write] by call
    ALTER TABLE spend ADD COLUMN credits_within REAL;      -- recorded credits of sub-agents that used a part of it
    ALTER TABLE spend ADD COLUMN input_at_most INTEGER;    -- of an estimate
    ALTER TABLE spend ADD COLUMN output_at_most INTEGER;
    ALTER TABLE spend ADD COLUMN replay TEXT;              -- JSON: the calls that an estimate replays
    ALTER TABLE spend ADD COLUMN is_calibrated INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX spend_uncalibrated ON spend (conversation) WHERE replay IS NOT NULL AND NOT is_calibrated;
    CREATE TABLE estimate_sample (         -- what a conversation records of its tokens: estimates are calibrated by it
        conversation INTEGER NOT NULL, position INTEGER NOT NULL, sample TEXT NOT NULL,  -- JSON
        PRIMARY KEY (conversation, position)
    ) WITHOUT ROWID;
    CREATE TRIGGER sample_added AFTER INSERT ON estimate_sample
        BEGIN INSERT OR IGNORE INTO meta VALUES ('calibration is stale', ''); END;
    CREATE TRIGGER sample_removed AFTER DELETE ON estimate_sample
        BEGIN INSERT OR IGNORE INTO meta VALUES ('calibration is stale', ''); END;
    CREATE TABLE calibration (             -- the parameters of estimates
        name TEXT PRIMARY KEY, low REAL NOT NULL, likely REAL NOT NULL, high REAL NOT NULL,
        conversations INTEGER NOT NULL     -- of the user that it is calculated from; 0: a default
    ) WITHOUT ROWID;
    DROP VIEW spending;
    CREATE VIEW spending AS
        SELECT c.id AS conversation, s.position, s.turn, s.at, s.model, s.agent, s.subagent, s.parent_call_id, s.input,
               s.output, s.cache_read, s.cache_write, s.reasoning, s.calls, s.premium_requests, s.credits,
               s.credits_within, s.input_at_least, s.input_at_most, s.output_at_least, s.output_at_most, s.payer,
               s.billing, s.has_credits, s.source, s.method, t.superseded
        FROM spend AS s JOIN conversation AS c ON c.rowid = s.conversation
        LEFT JOIN turn AS t ON t.conversation = s.conversation AND t.position = s.turn;
    """,
    TOUCHED_TABLES,
    TOLD_TABLES,
    """
    ALTER TABLE turn ADD COLUMN git_repository TEXT;      -- if it is another than the conversation's; empty: none
    ALTER TABLE turn ADD COLUMN git_branch TEXT;
    CREATE INDEX turn_elsewhere ON turn (conversation, position) WHERE git_branch IS NOT NULL;
    CREATE INDEX turn_original ON turn (copied_from) WHERE copied_from IS NOT NULL;
    DROP VIEW turns;
    CREATE VIEW turns AS
        SELECT c.id AS conversation, t.position, t.request_id, t.status, t.agent, t.custom_agent, t.command, t.mode,
               t.model, t.resolved_model, t.started_at, t.completed_at, t.elapsed_ms, t.first_progress_ms, t.waited_ms,
               t.working_ms, t.error, t.error_code, t.vote, t.vote_reason, t.details, t.agent_evidence, t.is_retry,
               t.is_system, t.superseded, t.branch_from, t.branch_trace, t.only_trace, t.copied_from,
               nullif(coalesce(t.git_repository, c.repository), '') AS git_repository,
               nullif(coalesce(t.git_branch, c.branch), '') AS git_branch
        FROM turn AS t JOIN conversation AS c ON c.rowid = t.conversation;
    """,
    DOCUMENT_TABLES,
    NUMBERED_VIEWS,
    CHECKSUM_TABLES,
)
