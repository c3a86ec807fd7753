"""Files that copilog writes for itself: conversations as its model has them.

    recorded.py     a conversation from such a file, which is not trusted more than any other
    json_file.py    one conversation as a JSON document, or several as JSON lines
    bundle.py       conversations with their files and records, in a .zip file

Format notes: docs/formats/own-files.md
"""
