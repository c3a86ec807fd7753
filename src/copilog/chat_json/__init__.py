"""The model as VS Code's own chat JSON: the way back into VS Code, from any source.

    values.py        URIs, locations, times, offsets
    prompts.py       a request's message and its attachments
    parts.py         the parts of a response, except tool calls
    calls.py         tool calls, with their terminals, to-do lists, sub-agents and results
    records.py       what Copilot Chat records beside a response: rounds, results for the model, prompts, usage
    requests.py      one request: its fields, and all of the above
    sessions.py      the root of an export and of a session file, and the entry of VS Code's index
    differences.py   what a request as it was read has more than the request that is made of its turn

Reading takes requests apart; these modules put them together again. A part that was read from VS Code has its unknown
fields in `extra`, and gets them back. Parts of other programs become the nearest kind that VS Code shows. What has no
place is counted by name in a `Counter`. The formats are described in docs/formats/vscode-chat.md.
"""
