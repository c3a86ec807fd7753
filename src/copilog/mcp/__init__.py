"""The archive for coding agents: read-only tools over the Model Context Protocol. What they give: docs/mcp.md

`server` and what it imports need the official SDK (`pip install 'copilog[mcp]'`); the rest of the room does not.
"""
