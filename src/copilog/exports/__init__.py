"""Export conversations as files that others can read without copilog.

    formats.py         the list of formats: a new one is a module and a line
    writing.py         the files: which ones, complete or not at all, an index for a folder
    options.py         what a user can choose, and which format has a use for it
    left_out.py        what the files do not contain, counted
    html.py            one page that holds everything: the templates of the viewer, styles, pictures; no scripts
    markdown.py        one Markdown document
    chat.py            a chat.json that VS Code imports
    vscode_session.py  sessions for VS Code's own folders, with their entries of its index
    file_names.py      names for files, safe on every system

    write(chosen, format_named("markdown"), Path("notes"), Making("copilog 1.0"))    files
    html_page(conversation, made_by="copilog 1.0")                                  a text

Documents list at their end what they do not contain; for every format, `Exported.left_out` has it.
"""
