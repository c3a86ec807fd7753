"""Debug exports of the Copilot extension ("chat replay"), as JSON or Markdown, and agent trajectories (ATIF).

An export has groups, one for each prompt; a group has log entries: requests to a model, and tool calls.

    chat_replay.py, copilot_markdown.py    the sources: groups and their entries
    groups.py                              the entries of each prompt, by their purpose
    entries.py, markdown_entries.py        one entry
    runs.py                                the requests of one run of an agent, joined: each repeats the history
    turns.py, conversations.py             groups to turns, turns to conversations

Format notes: docs/formats/chat-replay.md and docs/formats/atif.md
"""
