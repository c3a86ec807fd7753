PRAGMA user_version = 1;
CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
INSERT INTO ItemTable VALUES ('chat.ChatSessionStore.index', CAST('{"version": 1, "entries": {"streaming": {"sessionId": "streaming", "title": "High water in Büsum", "lastMessageDate": 1767600060000, "timing": {"created": 1767600000000, "lastRequestStarted": 1767600060000, "lastRequestEnded": 1767600065000}, "initialLocation": "panel", "hasPendingEdits": false, "isEmpty": false, "isExternal": false, "lastResponseState": 1}, "copilotcli:/7c1d": {"sessionId": "7c1d", "title": "Tidy the tables", "lastMessageDate": 1767600000000, "isExternal": true, "stats": {"fileCount": 1, "added": 4, "removed": 2}}}}' AS BLOB));
INSERT INTO ItemTable VALUES ('secret://{"extensionId":"example.login","key":"session"}', CAST('"never to be read"' AS BLOB));
INSERT INTO ItemTable VALUES ('workbench.panel.chat', CAST('{"numberOfVisibleViews": 1}' AS BLOB));
