"""Compare a session that was placed with VS Code's own export of it, both as copilog reads them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from conformance.scenario import version_key
from copilog.ingest import read

# An export has no positions of a session's file, and no identity; its parts are counted anew where VS Code drops some.
NOT_COMPARED = frozenset({"position", "pointer", "traces", "external", "fsPath", "_sep"})
LOST = re.compile("became None$")
NOTHING = re.compile("^None became")
UNMARKED = "without the editing state beside a session, VS Code takes the mark from a turn that was undone"
NEWER = "the release does not know the field"
COMPUTED = "VS Code computes it from times that it has"
ANSWERED = "VS Code may answer a last prompt that has no answer when it opens the session, with a text of its own"
RENAMED = "VS Code completes participants and attachments of early releases"
UNKNOWN = "VS Code drops fields that it does not know"


class Known(NamedTuple):
    """What VS Code itself changes: a session that another VS Code wrote would come back so, too."""

    reason: str
    fields: re.Pattern[str]
    change: re.Pattern[str] = re.compile("")
    until: str | None = None  # the last version that does so


KNOWN = (
    Known(COMPUTED, re.compile(r"turns\.(duration|timing\.(generated_ms|responded_at|completed_at)).*")),
    Known(COMPUTED, re.compile(r"(messages\.(created_at|parts<terminal>\.started_at))|turns\.timing\.\w+"), NOTHING),
    Known(UNMARKED, re.compile(r"turns\.(is_undone|superseded|undone_from|extra\.shouldBeRemovedOnSend)")),
    Known(UNMARKED, re.compile(r"turns\.extra"), re.compile("shouldBe")),
    Known("VS Code has no reasons for votes any more", re.compile(r"turns\.vote\.reason")),
    Known("VS Code names thinking that has no name", re.compile(r"messages\.parts<thinking>\.id"), NOTHING),
    Known("questions of a session that was closed cannot be answered", re.compile(r".*<confirmation>\.extra\.isUsed")),
    Known("a turn that was running counts as cancelled", re.compile(r"turns\.status"), re.compile("^pending")),
    Known(ANSWERED, re.compile(r"turns\.response_id"), NOTHING),
    Known(ANSWERED, re.compile(r"messages"), re.compile(r": (.*user\(text\)) became \1, assistant\(text\)$")),
    Known("VS Code sums the totals of the models", re.compile(r"turns\.usage\.output")),
    Known(RENAMED, re.compile(r"turns\.agent.*|messages\.parts<attachment>\.(extra\.values|native|text)")),
    Known(RENAMED, re.compile(r"messages\.parts<text>\.(native|extra\.content)"), re.compile("markdown|isTrusted")),
    Known(UNKNOWN, re.compile(r"turns\.extra"), re.compile("provider|responseErrorDetails")),
    Known(
        NEWER, re.compile(r"turns\.(extra|mode|usage|ran_model|custom_agent|is_|system_label).*"), LOST, until="1.110.0"
    ),
    Known(NEWER, re.compile(r"turns\.(mode|ran_model)\..*|messages\.mode"), until="1.110.0"),
    Known(NEWER, re.compile(r"messages\.(created_at|parts<mention>\.(notes|extra)).*"), LOST, until="1.110.0"),
)
FILTERED = "voiceProgress"  # VS Code leaves such parts out
OF_READING = ("written", "responseMarkdownInfo")  # what an export's reader keeps, what VS Code computes


class Difference(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A field that VS Code's export has otherwise, with the first example."""

    field: str
    example: str
    count: int = 0
    reason: str | None = None  # why, if VS Code itself changes it


def differences_of(session: Path, exported: str, version: str) -> list[Difference]:
    """Return the fields of turns and messages that differ."""
    (before,) = read(session)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "chat.json")
        path.write_text(exported, encoding="utf-8")
        (after,) = read(path)
    found: dict[tuple[str, str | None], Difference] = {}
    for name in ("turns", "messages"):
        old, new = (_compared(getattr(each, name)) for each in (before, after))
        for field, example in _differences(old, new, name):
            reason = reason_for(field, example, version)
            found.setdefault((field, reason), Difference(field=field, example=example, reason=reason)).count += 1
    return list(found.values())


def reason_for(field: str, example: str, version: str) -> str | None:
    """Return why VS Code itself changes a field, if it is known to."""
    for known in KNOWN:
        applies = known.until is None or version_key(version) <= version_key(known.until)
        if applies and known.fields.fullmatch(field) and known.change.search(example):
            return known.reason
    return None


def _compared(values: Any) -> Any:
    made = msgspec.to_builtins(values)
    for each in made:
        if "parts" in each:
            each["parts"] = [part for part in each["parts"] if part.get("native") != FILTERED]
        extra = {key: value for key, value in each.pop("extra", {}).items() if key not in OF_READING}
        each |= {"extra": extra} if extra else {}
    return made


def _differences(old: Any, new: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(old, dict) and isinstance(new, dict):
        here = f"{path}<{old['kind']}>" if "kind" in old and path.endswith("parts") else path
        for key in sorted((old.keys() | new.keys()) - NOT_COMPARED):
            yield from _differences(old.get(key), new.get(key), f"{here}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for one, other in zip(old, new, strict=True):
            yield from _differences(one, other, path)
    elif isinstance(old, list) and isinstance(new, list):
        yield path, f"{len(old)} became {len(new)}: {_kinds(old)} became {_kinds(new)}"
    elif old != new and (old or new):
        yield path, f"{_short(old)} became {_short(new)}"


def _kinds(values: list[Any]) -> str:
    """Return what is in a list: the roles of messages with the kinds of their parts, else the kinds."""
    told = [
        f"{each.get('role', each.get('kind', each.get('request_id', '')))}"
        + (f"({', '.join(part['kind'] for part in each['parts'])})" if "parts" in each else "")
        for each in values
        if isinstance(each, dict)
    ]
    return ", ".join(told)[:300]


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
