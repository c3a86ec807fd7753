"""Whatever a conversation has is in an exported file, or in the list of what the format does not carry."""

from __future__ import annotations

import csv
import html
import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet
import pytest

from copilog.chat_json.sessions import is_own
from copilog.derive import superseded_indexes
from copilog.exports.details import OF_VSCODE, OWN, accounted_by, kind_of
from copilog.exports.writing import NothingToWrite
from copilog.model import Conversation, MemoryDocument, Part, PlanDocument, Terminal, Title, ToolResult, parts_of
from tests.exports.carried import FILE, FORMATS, Case, cases, is_quiet, measured, text_of, written
from tests.exports.conversations import (
    a_conversation,
    corpus_conversations,
    exported,
    format_of,
    left_out_of,
    sample_conversations,
    with_subagent,
)

RECORDS = {"Message", "Turn", "Conversation"}
# Fields of the values that `Conversation.queued` and `draft` may have; tried as parts of messages.
PARTS_INSIDE = ("Conversation.queued.message.parts.", "Conversation.draft.attachments.")
SAME_LOCATION = ".uri"  # is shown by its path


@cache
def all_cases() -> tuple[Case, ...]:
    return tuple(case for case in cases() if not is_quiet(case.path))


@pytest.mark.parametrize("name", FORMATS)
def test_a_field_is_in_the_file_or_listed(name: str) -> None:
    assert [case.path for case in all_cases() if not is_counted_above(case.path, name) and vanishes(case, name)] == []


def is_counted_above(path: str, name: str) -> bool:
    """Return whether a value that the field is in is counted itself."""
    names = path.split(".")
    above = (".".join(names[:number]) for number in range(1, len(names)))
    return any(each not in RECORDS and each not in accounted_by(name).carried for each in above)


def vanishes(case: Case, name: str) -> bool:
    if case.path.endswith(SAME_LOCATION) or case.path.startswith(PARTS_INSIDE):
        return False
    pairs = [pair for pair in case.pairs if pair[0] != pair[1]]  # a value may be the default
    made = ([written(name, each, with_details=True) for each in pair] for pair in pairs)
    return bool(pairs) and all(one == other for one, other in made)


def test_the_measured_fields_are_those_of_the_formats(updates_golden: bool) -> None:
    found = text_of(measured())
    if updates_golden:
        FILE.write_bytes(found)
    assert msgspec.json.decode(FILE.read_bytes()) == msgspec.json.decode(found)


# --- texts of real conversations ----------------------------------------------------------------------------------

SHORTEST = 12
# Formats whose files are texts of the model, unchanged; pages and VS Code's own forms write them in another form.
UNCHANGED = ("trajectory", "openai", "sharegpt", "atif", "otlp", "copilot-cli")
UNDONE_IN_PART = "turns that were undone in part"
# Lines of the list that say why a text of such a field is not there.
REASONS = {
    "Attachment": ("details of attachments", "contents of attachments", "attachments that were switched off"),
    "Prompt": ("prompts", "system prompts", UNDONE_IN_PART),
    "Text": (
        "details of texts",
        "texts beside tool calls",
        "prompts without an answer",
        "messages of sub-agents",
        "answers before",
        "tool calls",
    ),
    "Notice": ("texts beside tool calls", "prompts without an answer"),
    "ToolCall": ("messages of sub-agents", "tool calls", "prompts without an answer"),
    "ToolResult": ("messages of sub-agents", "tool calls", "results of tools", "prompts without an answer"),
    "Message": ("messages of sub-agents", "details of tool calls"),
}
# The same in other words: another field that is written says it.
SAME = ("Conversation.assistant", "Conversation.workspace", "Message.model", "Turn.model.resolved")


@pytest.mark.parametrize("name", UNCHANGED)
def test_every_text_of_the_sample_is_in_the_file_or_listed(name: str, tmp_path: Path) -> None:
    assert [*vanished(sample_conversations(), name, tmp_path)] == []


@pytest.mark.parametrize("name", UNCHANGED)
def test_every_text_of_real_conversations_is_in_the_file_or_listed(name: str, tmp_path: Path) -> None:
    if "COPILOG_CORPUS" not in os.environ:
        pytest.skip("COPILOG_CORPUS names no folder")
    whole = corpus_conversations(Path(os.environ["COPILOG_CORPUS"]))
    assert [*vanished(list(whole), name, tmp_path)] == []


def vanished(conversations: list[Conversation], name: str, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield texts that neither the file of their conversation has, nor a line of its list covers."""
    for number, whole in enumerate(conversations):
        output = folder / f"{name}-{number}"
        try:
            done = exported([whole], name, output)
        except NothingToWrite:
            continue
        listed = left_out_of(done, with_details=True)
        content = squashed(" ".join(text for path in done.paths for text in texts_in(path, name)))
        for path, text in texts_of(whole):
            if is_counted_above(path + ".", name) or is_quiet(path) or path.startswith(SAME):
                continue
            reasons = REASONS.get(re.split(r"[.[]", path)[0], ())
            if squashed(text) not in content and not any(line.startswith(reasons) for line in listed):
                yield whole.id, path, text[:80]


# --- formats that write texts in another form -------------------------------------------------------------------------

# What a rendered format shows in other words, or a format of VS Code writes as its own fields: edits for diffs, ids
# for kinds, links for locations. The formats' own tests compare these.
IN_OTHER_WORDS = {
    "html": ("Turn.details", "ToolResult.items.mime_type"),
    "markdown": ("Turn.details", "ToolResult.items.mime_type"),
    "chat": ("FileEdit.diff", "Reference.text", "Text.vulnerabilities", "Confirmation[questions].questions.answer"),
    "parquet": (),
    "csv": (),
}
IN_OTHER_WORDS["vscode"] = IN_OTHER_WORDS["chat"]
KINDS_AND_LABELS = (".uri", "_uri", ".type", ".topic", ".flags", ".notes", ".extra", ".passed_on")
# Lines of the list, and words of the program, that say why a text of such a field is not there.
WHY = {
    "Attachment": ("files and skills that the program loaded",),
    "Notice": ("texts that later ones replaced", "messages outside of turns", "notices"),
    "ToolResult": ("results of sub-agents", "texts that the model got in place"),
}
# A name that is shown anyway, a switch that is shown if it is on, a reason in the program's words.
SHOWN_OTHERWISE = re.compile(r'Using "[^"]*"|(?:Ran|Running) `[^`]*`|isBackground$|Response cleared due to ')
_STYLED = re.compile(r"\x1b\[[0-9;:?]*[a-zA-Z]")
_LINK_TARGET = re.compile(r"\]\([^)]*\)")
_OF_DIFF = re.compile(r"(?:@@|diff --git|index |[-+]{3} )")
_NUMBER_OF_ITEM = re.compile(r"^\s*\d+\.")


@pytest.mark.parametrize("name", ["chat", "vscode"])
def test_a_result_that_is_written_as_it_was_shown_is_listed(name: str, tmp_path: Path) -> None:
    whole = with_subagent()
    result = next(part for part in parts_of(whole) if isinstance(part, ToolResult) and part.call_id == "call-3")
    result.display = "twelve lines"
    whole.source = "cli-events"
    listed = left_out_of(exported([whole], name, tmp_path / "out"))
    assert listed["results of sub-agents as the model received them"] == 1


@pytest.mark.parametrize("name", ["chat", "vscode"])
def test_an_output_that_the_user_saw_is_listed_if_the_model_got_another_one(name: str, tmp_path: Path) -> None:
    whole = a_conversation()
    whole.source = "cli-events"
    whole.messages[2].parts.append(Terminal(call_id="call-1", command="wc -l tides.csv", output="12 lines"))
    result = whole.messages[3].parts[0]
    assert isinstance(result, ToolResult)
    result.display = "12 lines"
    assert "results as the user saw them" not in left_out_of(exported([whole], name, tmp_path / "same"))
    result.display = "12 lines, and all that was before them"
    assert left_out_of(exported([whole], name, tmp_path / "more"))["results as the user saw them"] == 1


def test_the_title_of_a_chat_is_listed_once(tmp_path: Path) -> None:
    whole = a_conversation()
    whole.titles = [Title(text="Tide file", origin="custom")]
    done = exported([whole], "chat", tmp_path / "out")
    assert sum("title" in (*each.details, *each.what.split()) for each in done.left_out) == 1


@pytest.mark.parametrize("name", FORMATS)
def test_documents_are_listed_by_kind(name: str, tmp_path: Path) -> None:
    whole = a_conversation()
    whole.documents = [MemoryDocument(text="Low"), MemoryDocument(text="High"), PlanDocument(text="Measure")]
    listed = left_out_of(exported([whole], name, tmp_path / "out"))
    found = {what: number for what, number in listed.items() if what.startswith("documents")}
    is_carried = "Conversation.documents" in accounted_by(name).carried
    assert found == ({} if is_carried else {"documents of the kind memory": 2, "documents of the kind plan": 1})


@pytest.mark.parametrize("name", IN_OTHER_WORDS)
def test_every_line_of_the_sample_is_in_the_file_or_listed(name: str, tmp_path: Path) -> None:
    assert [*vanished_lines(sample_conversations(), name, tmp_path)] == []


def vanished_lines(conversations: list[Conversation], name: str, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield lines of texts in fields that the format has, which are neither in the file nor listed."""
    for number, whole in enumerate(conversations):
        try:
            done = exported([whole], name, folder / f"{name}-{number}")
        except NothingToWrite:
            continue
        accounted = name + OWN if name in OF_VSCODE and is_own(whole) else name
        content = squashed(_STYLED.sub("", " ".join(text for path in done.paths for text in drawn_in(path))))
        listed = left_out_of(done, with_details=True)
        home = whole.workspace.folder if whole.workspace is not None and whole.workspace.folder else ""
        for path, text in texts_of(whole):
            is_exempt = path.startswith((*IN_OTHER_WORDS[name], *SAME)) or path.endswith(KINDS_AND_LABELS)
            is_exempt = is_exempt or is_quiet(path) or is_counted_above(path + ".", accounted)
            is_own_wording = name in OF_VSCODE and path.endswith(".message")
            reasons = WHY.get(re.split(r"[.[]", path)[0])
            if is_exempt or is_own_wording or (reasons and any(line.startswith(reasons) for line in listed)):
                continue
            for line in text.splitlines():
                if not SHOWN_OTHERWISE.match(line) and not is_drawn(line, content, home):
                    yield whole.id, path, line[:80]


def is_drawn(line: str, content: str, home: str) -> bool:
    """Return whether a line is in a file: as it is, without marks, or with paths below the folder."""
    if _OF_DIFF.match(line):
        return True
    line = _NUMBER_OF_ITEM.sub("", _STYLED.sub("", line))
    lines = (line, _LINK_TARGET.sub("", line), re.sub(r"<[^>]*>", "", line))
    forms = [squashed(form) for each in lines for form in (each, each.replace(home, ""))]
    return min(map(len, forms)) < SHORTEST or any(form in content for form in forms)


def drawn_in(path: Path) -> Iterator[str]:
    """Yield the texts of a file of any format, as a reader sees them."""
    if path.name == "copilog-export.json":
        return
    if path.suffix == ".parquet":
        for row in pyarrow.parquet.ParquetFile(path).read().to_pylist():
            yield from strings_in(row)
        return
    text = path.read_text("utf-8")
    if path.suffix == ".html":
        drawn = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
        yield from (html.unescape(re.sub(r"<[^>]*>", "", drawn)), *map(html.unescape, re.findall(r'="([^"]*)"', drawn)))
    elif path.suffix == ".csv":
        yield from (each for row in csv.reader(text.splitlines()) for cell in row for each in strings_in(cell))
    elif path.suffix in (".json", ".jsonl"):
        for document in [text] if path.suffix == ".json" else text.splitlines():
            yield from strings_in(json.loads(document))
    else:
        yield html.unescape(text)


def texts_in(path: Path, name: str) -> Iterator[str]:
    if path.name == "copilog-export.json":
        return
    text = path.read_text("utf-8")
    for document in [text] if format_of(name).ending.endswith(".json") else text.splitlines():
        yield from strings_in(json.loads(document))


def strings_in(value: Any) -> Iterator[str]:
    """Yield all texts of decoded JSON, also those of JSON within them."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from (key, *strings_in(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from strings_in(inner)
    elif isinstance(value, str):
        inside = decoded(value)
        yield from [value] if inside is None else strings_in(inside)


def decoded(text: str) -> Any:
    try:
        found = json.loads(text) if text.lstrip()[:1] in ("{", "[") else None
    except ValueError:
        return None
    return found


def texts_of(whole: Conversation) -> Iterator[tuple[str, str]]:
    """Yield every text of the turns that count, with its field."""
    superseded = superseded_indexes(whole)
    values: list[Any] = [msgspec.structs.replace(whole, turns=[], messages=[])]
    values += [turn for turn in whole.turns if turn.index not in superseded]
    values += [message for message in whole.messages if message.turn not in superseded]
    for value in values:
        for path, text in leaves_of(value, type(value).__name__):
            if len(squashed(text)) >= SHORTEST:
                yield path, text


def leaves_of(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, msgspec.Struct):
        if isinstance(value, Part) and path == "Message.parts":
            path = kind_of(value)
        for name in value.__struct_fields__:
            yield from leaves_of(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, list):
        for each in value:
            yield from leaves_of(each, path)
    elif isinstance(value, dict | str):
        yield from ((path, text) for text in strings_in(value))


def squashed(text: str) -> str:
    return re.sub(r"[\W_]+", "", text)
