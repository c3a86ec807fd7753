"""The schema of events that the Copilot CLI has in its package, compared with the events that copilog knows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from conformance.programs import UnavailableError, cache_folder, prepare, unpacked_folder
from copilog.sources.cli.event import is_known

SCHEMA = "schemas/session-events.schema.json"
Json = dict[str, Any]


def print_difference(version: str, file: TextIO) -> int:
    """Print the events of a version that copilog does not know. Return 1 if any of them is written to disk."""
    with schema_path(version).open(encoding="utf-8") as schema:
        events = dict(events_of(json.load(schema)))
    unknown = {name: is_persisted for name, is_persisted in events.items() if not is_known(name)}
    persisted = sum(events.values())
    print(f"Copilot CLI {version}: {len(events)} events, {persisted} of them written to disk", file=file)
    for name, is_persisted in sorted(unknown.items(), key=lambda item: (not item[1], item[0])):
        print(f"  unknown: {name} ({'written to disk' if is_persisted else 'only streamed'})", file=file)
    if not unknown:
        print("  copilog knows all of them", file=file)
    return 1 if any(unknown.values()) else 0


def events_of(schema: Json) -> Iterator[tuple[str, bool]]:
    """Yield the name of each event of a schema, and whether it is written to disk."""
    definitions = schema["definitions"]
    for choice in definitions["SessionEvent"]["anyOf"]:
        event = definitions[choice["$ref"].rpartition("/")[2]] if "$ref" in choice else choice
        properties = event["properties"]
        yield properties["type"]["const"], properties.get("ephemeral", {}).get("const") is not True


def has_schema(version: str) -> bool:
    """Return whether a version has a schema of its events, which the oldest ones do not."""
    try:
        return schema_path(version).exists()
    except UnavailableError:
        return False


def schema_path(version: str) -> Path:
    """Return where the schema of a version is. Newer ones unpack it when they start."""
    prepare(version)
    package = cache_folder() / "cli" / version / "node_modules" / "@github" / "copilot" / SCHEMA
    if package.exists():
        return package
    for path in unpacked_folder().glob(f"**/{version}/{SCHEMA}"):
        return path
    raise UnavailableError(f"Copilot CLI {version} has no schema of its events")
