"""Serve the archive to coding agents: read-only tools over the Model Context Protocol. Reference: docs/mcp.md

`server` and what it imports need the official SDK (`pip install 'copilog[mcp]'`); the rest of the package does not.
"""
