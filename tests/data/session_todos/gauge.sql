-- What an agent noted for itself: things to do, and a table that it made with its own SQL.
CREATE TABLE todos (id TEXT PRIMARY KEY, title TEXT NOT NULL, description TEXT, status TEXT DEFAULT 'pending' CHECK (status IN ('pending', 'in_progress', 'done', 'blocked')), created_at TEXT DEFAULT (datetime('now')), updated_at TEXT DEFAULT (datetime('now')));
INSERT INTO todos VALUES ('fix-gauge', 'Fix the gauge', 'Round to centimetres', 'done', '2026-07-01 08:01:00', '2026-07-01 08:10:00');
INSERT INTO todos VALUES ('test-gauge', 'Test the gauge', NULL, 'in_progress', '2026-07-01 08:01:01', '2026-07-01 08:11:00');
INSERT INTO todos VALUES ('ask-ana', 'Ask Ana about feet', NULL, 'blocked', '2026-07-01 08:01:02', '2026-07-01 08:12:00');
CREATE TABLE todo_deps (todo_id TEXT NOT NULL, depends_on TEXT NOT NULL, PRIMARY KEY (todo_id, depends_on));
INSERT INTO todo_deps VALUES ('test-gauge', 'fix-gauge');
INSERT INTO todo_deps VALUES ('gone', 'fix-gauge');
CREATE TABLE inbox_entries (id TEXT PRIMARY KEY, recipient_session_id TEXT, sender_id TEXT, sender_name TEXT, sender_type TEXT, interaction_id TEXT, sequence INTEGER, summary TEXT, content TEXT, unread INTEGER, sent_at TEXT, read_at TEXT, notified_at TEXT);
INSERT INTO inbox_entries (id, sender_name, sequence, summary, content, unread) VALUES ('i1', 'explore', 1, 'Found it', 'The gauge is in gauge.py.', 0);
CREATE TABLE measurements (place TEXT, metres REAL);
INSERT INTO measurements VALUES ('Büsum', 3.25);
