"""What VS Code itself writes about chat: sessions, exports, its key-value store, editing sessions.

A session is one JSON object, either as a document (`.json`, also an export) or as a log of changes (`.jsonl`) that is
replayed first. Below it is a list of requests:

    session                      conversation.py
      requests[]                 request.py      one turn each
        message, variableData    prompt.py, attachments.py
        response[]               response.py     parts in the order shown
          parts by `kind`        parts.py, question_parts.py, tool_calls.py, tool_data.py, edit_diffs.py
        result, followups, vote  feedback.py, usage.py

Format notes: docs/formats/vscode-chat.md and docs/formats/vscode-editing.md
"""
