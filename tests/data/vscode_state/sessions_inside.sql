PRAGMA user_version = 1;
CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
INSERT INTO ItemTable VALUES ('interactive.sessions', CAST('[{"requesterUsername": "ana", "responderUsername": "GitHub Copilot", "sessionId": "inside-1", "creationDate": 1690000000000, "requests": [{"message": "When is low water?", "response": ["At 8:15."]}]}, {"version": 2, "computedTitle": "Moon", "sessionId": "inside-2", "creationDate": 1700000000000, "requests": []}, null]' AS BLOB));
