"""Which sections the pages of a digest have, and whether their statements stand in the files that they are from.

    python -m benchmarks.bench_digest [--corpus DIR] [--seed N] [--statements N] [--json]

The corpus is a folder of other people's files (COPILOG_CORPUS). The first table counts the conversations with each
section. Then statements are drawn at random, and each is looked for in the files that its conversation names as its
traces. Those are read here with nothing of copilog: JSON, JSON lines, texts, and the values of SQLite tables. A
statement is found if one string of a file contains its text, without regard to space.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import yaml

from copilog import ingest
from copilog.derive import conclude
from copilog.digest import Digest, digest_of
from copilog.model import Conversation
from copilog.sample import home as sample_home

STATEMENTS = 50
LARGEST = 100 << 20
SECTIONS = (
    "overview", "work done", "technical details", "important files", "plan", "research", "memory", "history",
    "next steps",
)  # fmt: skip


class Statement(NamedTuple):
    """Something that a page says, as the texts that must stand in a file."""

    section: str
    conversation: str
    texts: tuple[str, ...]


def main() -> None:
    options = _parser().parse_args()
    folders = {"sample": sample_home()} | ({"corpus": options.corpus} if options.corpus is not None else {})
    results = {name: measured(folder, options.seed, options.statements) for name, folder in folders.items()}
    if options.json:
        print(json.dumps(results))
        return
    for name, result in results.items():
        _print(name, result)
    if options.corpus is None:
        print("no corpus: name one with --corpus or COPILOG_CORPUS")


def measured(folder: Path, seed: int, number: int) -> dict[str, Any]:
    """Return the share of each section, and which of some random statements were not found."""
    shares: Counter[str] = Counter()
    drawn: list[tuple[Statement, list[Path]]] = []
    pages = 0
    chance = random.Random(seed)
    seen = 0
    for conversation in _read(folder):
        digest = digest_of(conversation)
        if not digest.is_worth_a_page:
            continue
        pages += 1
        shares.update(_sections_of(digest))
        files = [Path(trace.path) for trace in conversation.provenance]
        for statement in _statements(digest):
            seen += 1
            if len(drawn) < number:
                drawn.append((statement, files))
            elif (place := chance.randrange(seen)) < number:
                drawn[place] = statement, files
    missing = [statement for statement, files in drawn if not _stands_in(statement, files)]
    return {
        "pages": pages,
        "sections": dict(shares),
        "statements": seen,
        "drawn": len(drawn),
        "missing": [statement._asdict() for statement in missing],
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given = os.environ.get("COPILOG_CORPUS")
    parser.add_argument("--corpus", type=Path, default=Path(given) if given else None)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--statements", type=int, default=STATEMENTS)
    parser.add_argument("--json", action="store_true")
    return parser


def _print(name: str, result: dict[str, Any]) -> None:
    pages, found = result["pages"], result["drawn"] - len(result["missing"])
    print(f"{name}: {pages} pages")
    for section, count in sorted(result["sections"].items(), key=lambda item: (-item[1], item[0])):
        print(f"  {section:<20} {count:>5} {100 * count / max(pages, 1):>4.0f} %")
    print(f"  {result['statements']} statements; of {result['drawn']} drawn at random, {found} stand in their files")
    for missing in result["missing"]:
        print(f"    not found: {missing['section']} of {missing['conversation']}: {str(missing['texts'])[:160]}")


def _read(folder: Path) -> Iterator[Conversation]:
    for found in ingest.discover([folder]):
        for conversation in ingest.read(found):
            conclude(conversation)
            yield conversation


# --- statements -----------------------------------------------------------------------------------------------------


def _sections_of(digest: Digest) -> Iterator[str]:
    having = {passage.section for passage in digest.passages}
    yield from (section for section in SECTIONS if section in having)
    for name, items in (
        ("to do", digest.tasks),
        ("files changed", digest.files),
        ("commits, PRs, issues", digest.references),
        ("commands", digest.commands),
        ("pitfalls", digest.pitfalls),
        ("prompts", [asked for asked in digest.prompts if asked.text]),
    ):
        if items:
            yield name
    if not digest.has_records:
        yield "(no record)"


def _statements(digest: Digest) -> Iterator[Statement]:
    def made(section: str, *texts: str) -> Statement:
        return Statement(section, digest.id, texts)

    for passage in digest.passages:
        yield made(passage.section, passage.text)
    for listed in digest.tasks:
        for task in listed.tasks:
            yield made("to do", task.title)
    for work in digest.files:
        yield made("files changed", work.path)
    for use in digest.commands:
        yield made("commands", use.command)
    for pitfall in digest.pitfalls:
        if pitfall.failed.is_command:
            yield made("pitfalls", pitfall.failed.text, pitfall.succeeded.text)
    for reference in digest.references:
        yield made("commits, PRs, issues", reference.name.rpartition("#")[2])
    for asked in digest.prompts:
        if asked.text:
            yield made("prompts", asked.text)


# --- files ----------------------------------------------------------------------------------------------------------


def _stands_in(statement: Statement, files: list[Path]) -> bool:
    strings = [string for file in files for string in _strings_of(file)]
    return all(any(form in string for string in strings for form in _forms(text)) for text in statement.texts)


def _forms(text: str) -> set[str]:
    """Return a text as files may have it: a path also as a URI, with its own separators."""
    flat = _flat(unquote(text.removeprefix("file://")) if text.startswith("file://") else text)
    slashes = flat.replace("\\", "/")
    return {flat, slashes, quote(slashes), slashes.lower()}


def _flat(text: str) -> str:
    return re.sub(r"\s+", "", text)


@cache
def _strings_of(path: Path) -> tuple[str, ...]:
    """Return all strings of a file, without space; of paths in URIs, also decoded."""
    if not path.is_file() or path.stat().st_size > LARGEST:
        return ()
    with path.open("rb") as file:
        head = file.read(16)
    strings = _of_database(path) if head.startswith(b"SQLite format 3") else _of_text(path)
    found: dict[str, None] = {}
    for string in strings:
        flat = _flat(string)
        found[flat] = None
        if "\\" in flat:
            found[flat.replace("\\", "/")] = None
            found[flat.replace("\\", "/").lower()] = None
        if "%" in flat:
            found[unquote(flat)] = None
            found[unquote(flat).lower()] = None
    return tuple(found)


def _of_text(path: Path) -> Iterator[str]:
    text = path.read_bytes().decode("utf-8-sig", "replace")
    yield text
    if path.suffix == ".yaml":
        with suppress(yaml.YAMLError):
            yield from _of_json(json.dumps(yaml.safe_load(text), default=str))
    yield from _of_json(text)
    for line in text.split("\n"):
        yield from _of_json(line)


def _of_json(text: str) -> Iterator[str]:
    if text.lstrip()[:1] not in ("{", "[", '"'):
        return
    try:
        waiting = [json.loads(text)]
    except (ValueError, RecursionError):
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
            yield from _of_json(value)
        elif isinstance(value, dict):
            waiting += value.keys()
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
            pieces = [piece for piece in value if isinstance(piece, str)]
            if len(pieces) > 1:
                yield "\n".join(pieces)


def _of_database(path: Path) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy.db")
        copy.write_bytes(path.read_bytes())
        connection = sqlite3.connect(copy)
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        try:
            tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in tables:
                quoted = table.replace('"', '""')
                for row in connection.execute(f'SELECT * FROM "{quoted}"'):
                    for value in row:
                        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
                        if isinstance(text, str):
                            yield text
                            yield from _of_json(text)
        except sqlite3.Error:
            return
        finally:
            connection.close()


if __name__ == "__main__":
    main()
