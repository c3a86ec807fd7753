"""`copilog schema`"""

from __future__ import annotations

import click


@click.command(
    "schema",
    epilog="""\b
Examples:
  copilog schema > conversation.schema.json""",
)
def command() -> int:
    """Print the JSON Schema of the model: what `copilog show --json` prints."""
    import msgspec

    from copilog.model import Conversation

    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "copilog conversation",
        **msgspec.json.schema(Conversation),
    }
    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2))
    return 0
