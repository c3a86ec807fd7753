"""Export conversations as files that others can read without copilog.

    formats.py         the list of formats: a new one is a module and a line
    html.py            one page that holds everything: the templates of the viewer, styles, pictures; no scripts
    markdown.py        one Markdown document
    file_names.py      names for files, safe on every system

    html_page(conversation, made_by="copilog 1.0")     a text
    html_pieces(conversations, index, made_by=...)     the same for many, piece by piece, with an index on top

A file lists at its end what it does not contain.
"""
