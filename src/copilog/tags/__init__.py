"""Prompt tags: what in a message the user typed, and what Copilot wrapped around it.

Copilot renders prompts as `<name a="x">` blocks and escapes nothing inside them, so a block is a guess that any file
or user can upset. The names are data (context_tags.json); the rules are explained in docs/tags.md.
All of it takes time linear in the length of the text, as a conversation may hold any text.
"""

from copilog.tags.catalogue import (
    INJECTED_ALONE,
    OLDER_REQUEST_NAMES,
    REQUEST_NAMES,
    Catalogue,
    Origin,
    Role,
    Tag,
    is_html_name,
    load_catalogue,
)
from copilog.tags.matching import (
    Block,
    Mark,
    Span,
    attributes_of,
    blocks,
    fences_in,
    gaps_between,
    is_inside,
    marks,
    request_block,
    request_mark,
)
from copilog.tags.user_text import (
    Offered,
    Segment,
    agent_mentions,
    begins_with_summary,
    is_injected,
    mode_name,
    offered,
    segments,
    user_text,
)

__all__ = [
    "INJECTED_ALONE",
    "OLDER_REQUEST_NAMES",
    "REQUEST_NAMES",
    "Block",
    "Catalogue",
    "Mark",
    "Offered",
    "Origin",
    "Role",
    "Segment",
    "Span",
    "Tag",
    "agent_mentions",
    "attributes_of",
    "begins_with_summary",
    "blocks",
    "fences_in",
    "gaps_between",
    "is_html_name",
    "is_injected",
    "is_inside",
    "load_catalogue",
    "marks",
    "mode_name",
    "offered",
    "request_block",
    "request_mark",
    "segments",
    "user_text",
]
