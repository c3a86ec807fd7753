"""What Copilot CLI writes: event logs with the files beside them, early sessions, typed prompts, snapshots.

A session is a folder, `session-state/<id>/`. Its log has one event on each line (`type`, `id`, `timestamp`, `data`):

    events.py        the source: finds the log and the files beside it
    event.py         one event, and the types that exist
    dispatch.py      the loop over all events, and the handler of each type
    reader.py        the state while a log is read: turns.py, tool_calls.py, confirmations.py, streamed.py, usage.py
    handlers         lifecycle.py, user_messages.py, answers.py, tool_events.py, confirmation_events.py, enclosures.py
    conversation.py  turns, and what companions.py read from the other files

Format notes: docs/formats/copilot-cli.md
"""
