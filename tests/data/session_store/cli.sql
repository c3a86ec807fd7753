-- A store of Copilot CLI with all the tables that were met so far.
CREATE TABLE schema_version (version INTEGER NOT NULL);
INSERT INTO schema_version VALUES (8);
CREATE TABLE sessions (id TEXT PRIMARY KEY, cwd TEXT, repository TEXT, host_type TEXT, branch TEXT, summary TEXT, created_at TEXT DEFAULT (datetime('now')), updated_at TEXT DEFAULT (datetime('now')));
INSERT INTO sessions VALUES ('5a3e0c11-0000-4000-8000-000000000001', '/home/ana/tides', 'ana/tides', 'github', 'fix/gauge', 'Round the gauge
to centimetres', '2026-07-01T08:00:00.120Z', '2026-07-01T09:30:00.500Z');
INSERT INTO sessions (id, created_at, updated_at) VALUES ('user-7-task-3', '2026-07-02 10:00:00', '2026-07-02 10:00:05');
CREATE TABLE turns (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id), turn_index INTEGER NOT NULL, user_message TEXT, assistant_response TEXT, timestamp TEXT DEFAULT (datetime('now')), UNIQUE(session_id, turn_index));
INSERT INTO turns VALUES (1, '5a3e0c11-0000-4000-8000-000000000001', 0, 'Why is the gauge off by one?', 'It rounds up. I changed it.', '2026-07-01T08:00:05.000Z');
INSERT INTO turns VALUES (2, '5a3e0c11-0000-4000-8000-000000000001', 1, 'Thanks, and the test?', NULL, '2026-07-01 09:29:00');
CREATE TABLE checkpoints (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id), checkpoint_number INTEGER NOT NULL, title TEXT, overview TEXT, history TEXT, work_done TEXT, technical_details TEXT, important_files TEXT, next_steps TEXT, created_at TEXT, UNIQUE(session_id, checkpoint_number));
INSERT INTO checkpoints VALUES (1, '5a3e0c11-0000-4000-8000-000000000001', 1, 'Gauge fixed', 'The gauge rounds up.', NULL, 'Changed gauge.py.', 'Uses Decimal.', 'gauge.py', 'Write a test.', '2026-07-01T08:30:00.000Z');
CREATE TABLE session_files (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id), file_path TEXT NOT NULL, tool_name TEXT, turn_index INTEGER, first_seen_at TEXT, UNIQUE(session_id, file_path));
INSERT INTO session_files VALUES (1, '5a3e0c11-0000-4000-8000-000000000001', '/home/ana/tides/gauge.py', 'edit', 0, '2026-07-01 08:00:20');
CREATE TABLE session_refs (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id), ref_type TEXT NOT NULL, ref_value TEXT NOT NULL, turn_index INTEGER, created_at TEXT, UNIQUE(session_id, ref_type, ref_value));
INSERT INTO session_refs VALUES (1, '5a3e0c11-0000-4000-8000-000000000001', 'pr', '17', 1, '2026-07-01 08:10:00');
INSERT INTO session_refs VALUES (2, '5a3e0c11-0000-4000-8000-000000000001', 'commit', 'a1b2c3d4e5', NULL, '2026-07-01 08:11:00');
INSERT INTO session_refs VALUES (3, '5a3e0c11-0000-4000-8000-000000000001', 'commit', 'fix/gauge', NULL, '2026-07-01 08:12:00');
CREATE TABLE assistant_usage_events (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, turn_index INTEGER, agent_id TEXT, parent_tool_call_id TEXT, model TEXT NOT NULL, copilot_usage_model TEXT, input_tokens INTEGER, output_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER, reasoning_tokens INTEGER, total_nano_aiu INTEGER, request_multiplier REAL, duration_ms INTEGER, time_to_first_token_ms INTEGER, output_ttft_ms INTEGER, inter_token_latency_ms INTEGER, initiator TEXT, api_endpoint TEXT, reasoning_effort TEXT, finish_reason TEXT, content_filter_triggered INTEGER, token_details_json TEXT, created_at TEXT);
INSERT INTO assistant_usage_events (session_id, turn_index, agent_id, parent_tool_call_id, model, input_tokens, output_tokens, initiator, created_at) VALUES ('5a3e0c11-0000-4000-8000-000000000001', 0, 'explore-1', 'call_1', 'small-model', 900, 40, 'sub-agent', '2026-07-01T08:00:09.000Z');
INSERT INTO assistant_usage_events (session_id, turn_index, model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, total_nano_aiu, request_multiplier, duration_ms, time_to_first_token_ms, initiator, api_endpoint, token_details_json, created_at) VALUES ('5a3e0c11-0000-4000-8000-000000000001', 0, 'large-model', 12000, 800, 9000, 2000, 300, 2500000000, 1.0, 4200, 812.5, 'user', '/v1/messages', '[{"tokenType": "input", "tokenCount": 1000, "batchSize": 1000, "costPerBatch": 500000000}]', '2026-07-01T08:00:15.000Z');
CREATE VIRTUAL TABLE search_index USING fts5(content, session_id UNINDEXED, source_type UNINDEXED, source_id UNINDEXED);
INSERT INTO search_index VALUES ('Why is the gauge off by one?
It rounds up. I changed it.', '5a3e0c11-0000-4000-8000-000000000001', 'turn', '5a3e0c11-0000-4000-8000-000000000001:turn:0');
INSERT INTO search_index VALUES ('The gauge rounds up.', '5a3e0c11-0000-4000-8000-000000000001', 'checkpoint_overview', '5a3e0c11-0000-4000-8000-000000000001:ckpt:1:checkpoint_overview');
INSERT INTO search_index VALUES ('# Plan: fix, then test', '5a3e0c11-0000-4000-8000-000000000001', 'workspace_artifact', '5a3e0c11-0000-4000-8000-000000000001:workspace:plan.md');
INSERT INTO search_index VALUES ('A turn that was taken back', '5a3e0c11-0000-4000-8000-000000000001', 'turn', '5a3e0c11-0000-4000-8000-000000000001:turn:7');
CREATE TABLE dynamic_context_items (repository TEXT, branch TEXT, src TEXT, name TEXT, description TEXT, content TEXT, read_count INTEGER, count INTEGER, PRIMARY KEY (repository, branch, src, name));
INSERT INTO dynamic_context_items VALUES ('ana/tides', 'main', 'docs', 'gauge', 'How the gauge works', 'It floats.', 2, 1);
CREATE TABLE forge_trajectory_events (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, tool_call_id TEXT, turn_index INTEGER, event_type TEXT, command TEXT, output TEXT, exit_code INTEGER, event_key TEXT, event_value TEXT, created_at TEXT);
INSERT INTO forge_trajectory_events (session_id, turn_index, event_type, command, exit_code) VALUES ('5a3e0c11-0000-4000-8000-000000000001', 0, 'command', 'pytest -q', 0);
CREATE TABLE forge_skill_proposals (id TEXT PRIMARY KEY, repo_owner TEXT, repo_name TEXT, status TEXT);
INSERT INTO forge_skill_proposals VALUES ('p1', 'ana', 'tides', 'draft');
