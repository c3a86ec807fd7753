-- The tables as they are made, and a single thing to do.
CREATE TABLE todos (id TEXT PRIMARY KEY, title TEXT NOT NULL, description TEXT, status TEXT, created_at TEXT, updated_at TEXT);
CREATE TABLE todo_deps (todo_id TEXT NOT NULL, depends_on TEXT NOT NULL);
CREATE TABLE inbox_entries (id TEXT PRIMARY KEY, content TEXT);
INSERT INTO todos (id, title, status) VALUES ('moon', 'Look up the moon', 'pending');
