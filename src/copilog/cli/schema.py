"""`copilog schema`"""

from __future__ import annotations

import click

from copilog.cli.json_output import print_json


@click.command(
    "schema",
    epilog="""\b
Examples:
  copilog schema > conversation.schema.json""",
)
def command() -> int:
    """Print the JSON Schema of a conversation, as `copilog show --json` prints it."""
    import msgspec

    from copilog.model import Conversation

    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "copilog conversation",
        **msgspec.json.schema(Conversation),
    }
    print_json(document)
    return 0
