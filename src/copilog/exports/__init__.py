"""Export conversations as files that others can read without copilog.

What every format has in common:

    formats.py         the list of formats: a new one is a module and a line
    chosen.py          which conversations: of an archive, at hand, or redacted
    writing.py         the files: which ones, complete or not at all, an index for a folder
    folder_index.py    which file of a folder is of which conversation
    options.py         what a user can choose, and which format has a use for it
    left_out.py        what the files do not contain, counted; uncarried.py counts it for formats of fields
    file_names.py      names for files, safe on every system
    zipped.py          a folder as one download

Documents:

    html.py            one page that holds everything: styles, pictures, and one script, which finds words
    markdown.py        one Markdown document

For programs that Copilot comes with:

    chat.py            a chat.json that VS Code imports
    vscode_session.py  sessions for VS Code's own folders, with their entries of its index
    copilot_cli.py     what Copilot CLI imports

For copilog itself, and other machines:

    json.py            the model
    bundle.py          conversations with their own files and records; bundle_content.py finds these

Data:

    trajectory.py      the lines of `copilog extract`
    openai.py, sharegpt.py    fine-tuning, made by training.py and paired_messages.py
    atif.py, otlp.py   trajectories and spans of agents, made by agent_runs.py with the tokens of recorded_usage.py
    parquet.py         a dataset: dataset_schema.py, dataset_rows.py, dataset_card.py
    csv_list.py        a list

    write(chosen, format_named("markdown"), Path("notes"), Making(by="copilog 1.0"))    files
    html_page(conversation, made_by="copilog 1.0")                                     a text

Documents list at their end what they do not contain; for every format, `Exported.left_out` has it.
"""
