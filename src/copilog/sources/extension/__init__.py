"""What the Copilot Chat extension writes: transcripts, debug logs, spans, the session store, memories.

Transcripts and the session store have forms of their own. Debug logs, agent traces and OpenTelemetry files are spans
in different containers; all become `spans.Span` first:

    spans.py -> span_trees.py -> span_messages.py -> span_turns.py -> span_conversations.py

Structures of the extension that other families contain, too, are read by `tool_rounds.py` and `tool_results.py` of
`sources`.

Format notes: docs/formats/copilot-chat-extension.md and docs/formats/session-store.md
"""
