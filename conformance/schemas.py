"""The schema of events that the Copilot CLI has in its package: what copilog knows of it, and what a version added."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from conformance.programs import VERSIONS, NoSuchVersionError, UnavailableError, cache_folder, prepare, unpacked_folder
from conformance.scenario import version_key
from copilog.sources.cli.event import is_known

SCHEMA = "schemas/session-events.schema.json"
Json = dict[str, Any]


def print_difference(version: str, file: TextIO) -> int:
    """Print the events of a version that copilog does not know. Return 1 if any of them is written to disk."""
    events = dict(events_of(_schema(version)))
    unknown = {name: is_persisted for name, is_persisted in events.items() if not is_known(name)}
    persisted = sum(events.values())
    print(f"Copilot CLI {version}: {len(events)} events, {persisted} of them written to disk", file=file)
    for name, is_persisted in sorted(unknown.items(), key=lambda item: (not item[1], item[0])):
        print(f"  unknown: {name} ({'written to disk' if is_persisted else 'only streamed'})", file=file)
    if not unknown:
        print("  copilog knows all of them", file=file)
    return 1 if any(unknown.values()) else 0


def print_additions(version: str, file: TextIO) -> None:
    """Print which events and fields a version's schema has and that of the pinned version before does not."""
    older = [one for one in reversed(VERSIONS) if version_key(one) < version_key(version)]
    base = next(filter(has_schema, older), None)
    if base is None:
        print("  no older pinned version has a schema of its events", file=file)
        return
    before, after = (set(fields_of(_schema(one))) for one in (base, version))
    for sign, said, names in (("+", "added", after - before), ("-", "no longer", before - after)):
        print(f"  {said} since {base}: {len(names) or 'nothing'}", file=file)
        for name in sorted(names):
            print(f"    {sign} {name}", file=file)


def fields_of(schema: Json) -> Iterator[str]:
    """Yield the name of each event, and of each field within it, after that name: "tool.execution_start data.model"."""
    definitions = schema["definitions"]
    for choice in definitions["SessionEvent"]["anyOf"]:
        event = _resolved(choice, definitions)
        name = event["properties"]["type"]["const"]
        yield name
        for field in dict.fromkeys(_fields(event, definitions, frozenset())):
            yield f"{name} {field}"


def _fields(value: Json, definitions: Json, seen: frozenset[str], path: str = "") -> Iterator[str]:
    """Yield the paths of all fields of a value's schema, but those of a type within itself."""
    reference = value.get("$ref", "")
    if reference in seen:
        return
    seen |= {reference} - {""}
    value = _resolved(value, definitions)
    for key in ("anyOf", "oneOf", "allOf"):
        for one in value.get(key, []):
            yield from _fields(one, definitions, seen, path)
    for key in ("items", "additionalProperties"):
        if isinstance(value.get(key), dict):
            yield from _fields(value[key], definitions, seen, path)
    for name, inner in value.get("properties", {}).items():
        yield f"{path}{name}"
        yield from _fields(inner, definitions, seen, f"{path}{name}.")


def _resolved(value: Json, definitions: Json) -> Json:
    return definitions[value["$ref"].rpartition("/")[2]] if "$ref" in value else value


def _schema(version: str) -> Json:
    with schema_path(version).open(encoding="utf-8") as file:
        return dict(json.load(file))


def events_of(schema: Json) -> Iterator[tuple[str, bool]]:
    """Yield the name of each event of a schema, and whether it is written to disk."""
    definitions = schema["definitions"]
    for choice in definitions["SessionEvent"]["anyOf"]:
        properties = _resolved(choice, definitions)["properties"]
        yield properties["type"]["const"], properties.get("ephemeral", {}).get("const") is not True


def has_schema(version: str) -> bool:
    """Return whether a version has a schema of its events, which the oldest ones do not."""
    try:
        return schema_path(version).exists()
    except NoSuchVersionError:
        raise
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
