"""Define the views with the number of a turn, which one migration makes: never change it once released.

`number` counts from 1, as every surface does; `turn`, and `position` in `turns`, count from 0.
"""

from __future__ import annotations

NUMBERED_VIEWS = """
    DROP VIEW messages;
    CREATE VIEW messages AS
        SELECT c.id AS conversation, m.position, m.role, m.turn, m.turn + 1 AS number, m.created_at, m.mode, m.model,
               m.parent_call_id, m.user, m.answer, m.thinking, m.arguments, m.result, m.paths, o.superseded
        FROM message AS m JOIN conversation AS c ON c.rowid = m.conversation
        LEFT JOIN turn AS o ON o.conversation = m.conversation AND o.position = m.turn
        WHERE m.role NOT IN ('title', 'document');
    DROP VIEW turns;
    CREATE VIEW turns AS
        SELECT c.id AS conversation, t.position, t.position + 1 AS number, t.request_id, t.status, t.agent,
               t.custom_agent, t.command, t.mode, t.model, t.resolved_model, t.started_at, t.completed_at, t.elapsed_ms,
               t.first_progress_ms, t.waited_ms, t.working_ms, t.error, t.error_code, t.vote, t.vote_reason, t.details,
               t.agent_evidence, t.is_retry, t.is_system, t.superseded, t.branch_from, t.branch_trace, t.only_trace,
               t.copied_from, nullif(coalesce(t.git_repository, c.repository), '') AS git_repository,
               nullif(coalesce(t.git_branch, c.branch), '') AS git_branch
        FROM turn AS t JOIN conversation AS c ON c.rowid = t.conversation;
    DROP VIEW tool_calls;
    CREATE VIEW tool_calls AS
        SELECT c.id AS conversation, t.message, t.position, t.turn, t.turn + 1 AS number, t.call_id, t.parent_call_id,
               t.name, t.outcome, t.outcome_reason, t.exit_code, t.origin, t.server, t.agent, t.subagent, t.approval,
               t.approval_detail, t.programs, t.started_at, t.elapsed_ms, t.arguments_bytes, t.result_bytes,
               o.superseded
        FROM tool_call AS t JOIN conversation AS c ON c.rowid = t.conversation
        LEFT JOIN turn AS o ON o.conversation = t.conversation AND o.position = t.turn;
    DROP VIEW file_edits;
    CREATE VIEW file_edits AS
        SELECT c.id AS conversation, e.position, e.message, e.turn, e.turn + 1 AS number, e.call_id, e.created_at,
               e.path, e.language, e.action, e.added, e.removed, e.is_undone, e.fate, e.origin, e.is_counted,
               o.superseded
        FROM file_edit AS e JOIN conversation AS c ON c.rowid = e.conversation
        LEFT JOIN turn AS o ON o.conversation = e.conversation AND o.position = e.turn;
    DROP VIEW usage;
    CREATE VIEW usage AS
        SELECT c.id AS conversation, u.position, u.turn, u.turn + 1 AS number, u.parent_call_id, u.scope, u.source,
               u.model, u.input, u.output, u.cache_read, u.cache_write, u.reasoning, u.last_prompt, u.premium_requests,
               u.credits, u.session_credits, u.is_estimated, u.helper, o.superseded
        FROM token_usage AS u JOIN conversation AS c ON c.rowid = u.conversation
        LEFT JOIN turn AS o ON o.conversation = u.conversation AND o.position = u.turn;
    DROP VIEW spending;
    CREATE VIEW spending AS
        SELECT c.id AS conversation, s.position, s.turn, s.turn + 1 AS number, s.at, s.model, s.agent, s.subagent,
               s.parent_call_id, s.input, s.output, s.cache_read, s.cache_write, s.reasoning, s.calls,
               s.premium_requests, s.credits, s.credits_within, s.input_at_least, s.input_at_most, s.output_at_least,
               s.output_at_most, s.payer, s.billing, s.has_credits, s.source, s.method, t.superseded
        FROM spend AS s JOIN conversation AS c ON c.rowid = s.conversation
        LEFT JOIN turn AS t ON t.conversation = s.conversation AND t.position = s.turn;
    DROP VIEW prompt_shares;
    CREATE VIEW prompt_shares AS
        SELECT c.id AS conversation, p.position, p.turn, p.turn + 1 AS number, p.category, p.label, p.percent,
               o.superseded
        FROM prompt_share AS p JOIN conversation AS c ON c.rowid = p.conversation
        LEFT JOIN turn AS o ON o.conversation = p.conversation AND o.position = p.turn;
    DROP VIEW skills;
    CREATE VIEW skills AS
        SELECT c.id AS conversation, s.position, s.turn, s.turn + 1 AS number, s.name, s.file, s.is_loaded, s.evidence,
               o.superseded
        FROM skill AS s JOIN conversation AS c ON c.rowid = s.conversation
        LEFT JOIN turn AS o ON o.conversation = s.conversation AND o.position = s.turn;
    DROP VIEW commands;
    CREATE VIEW commands AS
        SELECT c.id AS conversation, r.position, r.message, r.turn, r.turn + 1 AS number, r.call_id, r.tool, r.origin,
               r.command, r.requested, r.edited_by, r.directory, r.language, r.started_at, r.elapsed_ms, r.exit_code,
               r.outcome, r.approval, r.approval_detail, o.superseded
        FROM command AS r JOIN conversation AS c ON c.rowid = r.conversation
        LEFT JOIN turn AS o ON o.conversation = r.conversation AND o.position = r.turn;
    DROP VIEW file_touches;
    CREATE VIEW file_touches AS
        SELECT c.id AS conversation, f.position, f.message, f.turn, f.turn + 1 AS number, f.call_id, f.path, f.action,
               f.tool, f.first_line, f.last_line, f.outcome, o.superseded
        FROM file_touch AS f JOIN conversation AS c ON c.rowid = f.conversation
        LEFT JOIN turn AS o ON o.conversation = f.conversation AND o.position = f.turn;
    """
