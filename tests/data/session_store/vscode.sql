-- A store of the Copilot Chat extension, version 3: prompts are cut at 100 characters, and no folder is recorded.
CREATE TABLE schema_version (version INTEGER NOT NULL);
INSERT INTO schema_version VALUES (3);
CREATE TABLE sessions (id TEXT PRIMARY KEY, cwd TEXT, repository TEXT, host_type TEXT, branch TEXT, summary TEXT, agent_name TEXT, agent_description TEXT, created_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')), updated_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')));
INSERT INTO sessions VALUES ('0c5b1d22-0000-4000-8000-000000000002', NULL, 'https://github.example.com/ana/tides', 'vscode', 'main', 'Draw the tide of the last week as a curve, with the moon above it and the times of high water...', 'GitHub Copilot Chat', 'Agent mode', '2026-07-03T07:00:00.000Z', '2026-07-03T07:05:00.000Z');
CREATE TABLE turns (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id), turn_index INTEGER NOT NULL, user_message TEXT, assistant_response TEXT, timestamp TEXT, UNIQUE(session_id, turn_index));
INSERT INTO turns VALUES (1, '0c5b1d22-0000-4000-8000-000000000002', 0, 'Draw the tide of the last week as a curve, with the moon above it and the times of high water...', 'Here it is.
With the moon.', '2026-07-03T07:00:01.000Z');
CREATE TABLE checkpoints (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, checkpoint_number INTEGER NOT NULL, title TEXT, overview TEXT, history TEXT, work_done TEXT, technical_details TEXT, important_files TEXT, next_steps TEXT, created_at TEXT);
CREATE TABLE session_files (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, file_path TEXT NOT NULL, tool_name TEXT, turn_index INTEGER, first_seen_at TEXT);
INSERT INTO session_files VALUES (1, '0c5b1d22-0000-4000-8000-000000000002', '/home/ana/tides/curve.py', 'read_file', 0, '2026-07-03T07:00:10.000Z');
CREATE TABLE session_refs (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, ref_type TEXT NOT NULL, ref_value TEXT NOT NULL, turn_index INTEGER, created_at TEXT);
CREATE VIRTUAL TABLE search_index USING fts5(content, session_id UNINDEXED, source_type UNINDEXED, source_id UNINDEXED);
INSERT INTO search_index VALUES ('Draw the tide', '0c5b1d22-0000-4000-8000-000000000002', 'turn', '0c5b1d22-0000-4000-8000-000000000002:turn:0');
