"""Log entries as Markdown: single files, folders, archives."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from copilog.errors import BadRecord
from copilog.model import Attachment, Conversation, Thinking, parts_of
from copilog.sources.base import Probe
from copilog.sources.replay import copilot_markdown
from copilog.sources.replay.copilot_markdown import CopilotMarkdown
from copilog.sources.replay.markdown_entries import entry_from_markdown, message_from, restored_json
from tests.sources.replay_builders import DATA, calls_in, read_file, results_in, turn_texts

SOURCE = CopilotMarkdown()
FOLDER = DATA / "copilot_markdown"
ENTRIES = ("older_request", "tool_call", "request")
WORDS = "list the seeds\n~~~\nfenced by hand\n~~~\nthanks"


def archive(path: Path, *members: tuple[str, bytes | None]) -> Path:
    """Write an archive; a member without content is a folder."""
    with tarfile.open(path, "w:gz") as made:
        for name, content in members:
            member = tarfile.TarInfo(name)
            if content is None:
                member.type = tarfile.DIRTYPE
                made.addfile(member)
            else:
                member.size = len(content)
                made.addfile(member, io.BytesIO(content))
    return path


def sample(name: str) -> bytes:
    return (FOLDER / f"{name}.copilotmd").read_bytes()


# --- which files ------------------------------------------------------------------------------------------------


def test_entries_are_recognized_by_suffix_or_content(tmp_path: Path) -> None:
    for name in ENTRIES:
        saved = tmp_path / f"{name}.md"
        saved.write_bytes(sample(name))
        assert SOURCE.claims(Probe(saved))
        assert SOURCE.claims(Probe(FOLDER / f"{name}.copilotmd"))
    assert SOURCE.claims(Probe(FOLDER))
    assert SOURCE.claims(Probe(archive(tmp_path / "a.tar.gz", ("any name", sample("tool_call")))))


def test_other_markdown_files_are_not_claimed(tmp_path: Path) -> None:
    readme, notes = tmp_path / "README.md", tmp_path / "notes.tar.gz"
    readme.write_text("# Garden - 0a0b0c0d\n\n## Metadata\n\nnothing\n")
    broken = tmp_path / "broken.tar.gz"
    broken.write_bytes(b"\x1f\x8b and nothing else")

    assert not SOURCE.claims(Probe(readme))
    assert not SOURCE.claims(Probe(archive(notes, ("README.md", b"# Garden"))))
    assert not SOURCE.claims(Probe(broken))
    assert not SOURCE.claims(Probe(tmp_path))


# --- one entry --------------------------------------------------------------------------------------------------


def test_a_single_request_is_a_conversation() -> None:
    (conversation,), ledger = read_file(SOURCE, FOLDER / "request.copilotmd")

    assert turn_texts(conversation) == [
        (0, "user", WORDS),
        (0, "assistant", "I will look."),
        (0, "assistant", "There are beans and peas."),
    ]
    assert (ledger.seen, ledger.used) == (1, 1)
    (turn,) = conversation.turns
    assert turn.model is not None
    assert (turn.model.name, turn.model.resolved) == ("auto", "gpt-5.1-2026-01-01")
    assert [(usage.input, usage.cache_read, usage.reasoning, usage.source) for usage in turn.usage] == [
        (200, 100, 6, "copilot-markdown")
    ]
    assert turn.response_id == "turn-1"
    assert (turn.extra or {})["tools"] == [{"name": "list_dir"}, {"name": "create_file"}]
    extra = turn.rounds[0].extra or {}
    assert extra["metadata"]["experiment"] == "garden-7"
    assert extra["metadata"]["lastResponseId"] == {"marker": "marker-one", "modelId": "gpt-5.1"}
    assert extra["requestMessages"] == {"prediction": {"content": "seeds.md"}}


def test_reasoning_images_and_calls_are_separated() -> None:
    (conversation,), _ = read_file(SOURCE, FOLDER / "request.copilotmd")

    (thought,) = (part for part in parts_of(conversation) if isinstance(part, Thinking))
    assert (thought.text, thought.extra) == ("**Looking**\n\nSeeds are in a folder.", {"encrypted_chars": 3500})
    (picture,) = (part for part in parts_of(conversation) if isinstance(part, Attachment))
    assert (picture.mime_type, picture.data) == ("image/png", b"\x89PNG")
    assert [(call.id, call.name, call.arguments) for call in calls_in(conversation)] == [
        ("call_a", "list_dir", '{"path":"/home/ana/seeds"}'),
        ("call_b", "create_file", '{"content":"first line\\nsecond \\"quoted\\" line\\twith a tab"}'),
        ("call_c", "read_file", '{"filePath":"/home/ana/seeds/beans.txt"}'),
    ]
    assert [(result.call_id, result.text) for result in results_in(conversation)] == [
        ("call_a", "beans.txt\npeas.txt"),
        ("call_b", "created"),
    ]


def test_the_older_layout_is_read_as_well() -> None:
    (conversation,), _ = read_file(SOURCE, FOLDER / "older_request.copilotmd")

    assert turn_texts(conversation) == [(0, "user", WORDS), (0, "assistant", "I will look.")]
    (turn,) = conversation.turns
    assert (turn.extra or {})["tools"] == [{"name": "list_dir"}]
    assert turn.usage == []
    assert turn.timing.elapsed_ms == 2500
    metadata = (turn.rounds[0].extra or {})["metadata"]
    assert metadata["postOptions"] == {"temperature": 0, "n": 1}
    assert metadata["url"] == "https://example.com/chat"


def test_a_tool_call_alone_is_a_turn_without_a_question() -> None:
    (conversation,), _ = read_file(SOURCE, FOLDER / "tool_call.copilotmd")

    (call,) = calls_in(conversation)
    assert (call.id, call.name, call.native_ids) == ("call_b", "create_file", ["call_b__vscode-1700000000001"])
    (result,) = results_in(conversation)
    assert (result.text, [item.data for item in result.items]) == ("created", [b"\x89PNG"])
    (thought,) = (part for part in parts_of(conversation) if isinstance(part, Thinking))
    assert (thought.id, thought.text) == ("think-2", "A file will do.")


@pytest.mark.parametrize(
    ("ending", "status", "message"),
    [
        ("## FAILED: the service\nwas busy", "failed", "the service\nwas busy"),
        ("## CANCELED", "cancelled", None),
        (
            "## Response (truncated)\n### Assistant\n```markdown\nI wi\n```\n",
            "failed",
            "the answer was cut off at its greatest length",
        ),
    ],
)
def test_failures_are_recorded_in_the_turn(ending: str, status: str, message: str | None, tmp_path: Path) -> None:
    head, _, _ = sample("older_request").decode().partition("## Response\n")
    path = tmp_path / "failed.copilotmd"
    path.write_text(f'{head}<a id="response"></a>\n{ending}\n\n<style>\n</style>\n')

    (conversation,), _ = read_file(SOURCE, path)

    (turn,) = conversation.turns
    assert turn.status == status
    assert (turn.error.message if turn.error else None) == message


def test_entries_without_a_conversation_yield_none(tmp_path: Path) -> None:
    path = tmp_path / "any.copilotmd"

    path.write_text("Not available")
    conversations, ledger = read_file(SOURCE, path)
    assert (conversations, ledger.ignored) == ([], {"not-available": 1})

    path.write_text("just a note")
    conversations, ledger = read_file(SOURCE, path)
    assert (conversations, [bad.code for bad in ledger.bad]) == ([], ["bad-record"])


def test_other_markdown_of_the_extension_is_a_document(tmp_path: Path) -> None:
    path = tmp_path / "any.copilotmd"
    path.write_text("# Model List Request\n\n## Metadata\n~~~\nmodelsCount : 3\n~~~\n")

    (conversation,), ledger = read_file(SOURCE, path)

    assert (conversation.turns, ledger.ignored) == ([], {"helper-request": 1})
    assert [(document.kind, document.text) for document in conversation.documents] == [("helper", path.read_text())]


def test_line_breaks_of_windows_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "request.copilotmd"
    path.write_bytes(sample("request").replace(b"\n", b"\r\n"))

    (conversation,), _ = read_file(SOURCE, path)

    assert turn_texts(conversation)[0] == (0, "user", WORDS)
    assert len(calls_in(conversation)) == 3


# --- pieces -----------------------------------------------------------------------------------------------------


def test_reasoning_without_an_end_is_the_first_paragraph() -> None:
    message = message_from("assistant", "reasoning: I think.\nStill.\n\nSo I say.")

    assert message["content"] == [
        {"type": 2, "value": {"type": "thinking", "thinking": {"text": "I think.\nStill."}}},
        {"type": 1, "text": "So I say."},
    ]


def test_encrypted_reasoning_is_counted() -> None:
    message = message_from("assistant", "encrypted_content=12 chars\nSo I say.")

    assert message["content"][0]["value"]["thinking"] == {"text": "", "encrypted_chars": 12}
    assert message["content"][1] == {"type": 1, "text": "So I say."}


def test_line_breaks_in_arguments_are_restored() -> None:
    assert restored_json('{\n  "a": "one\ntwo"\n}') == '{"a":"one\\ntwo"}'
    assert restored_json('{ "a": "c:\\\new" }') == r'{"a":"c:\\new"}'  # how the log shows c:\new
    assert restored_json("no JSON") == "no JSON"


ODD_LINES = ("", "~~~", "~~~md", "## Response", "### User", "# x - y", "tools : [", "<details>")


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_mangled_entry_never_breaks_the_parser(data: st.DataObject) -> None:
    lines = sample(data.draw(st.sampled_from(ENTRIES))).decode().split("\n")
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(lines) - 1))
        lines[place] = data.draw(st.sampled_from([*ODD_LINES, *lines]))
        del lines[data.draw(st.integers(1, len(lines))) :]
    _parse("\n".join(lines))


@given(st.text())
@example("# a - b\n## Metadata")
@example("# Tool Call - x\n## Request\n~~~")
def test_any_text_can_be_parsed_as_an_entry_or_none(text: str) -> None:
    _parse(text)


def _parse(text: str) -> Any:
    try:
        return entry_from_markdown(text)
    except BadRecord:
        return None


# --- folders and archives ---------------------------------------------------------------------------------------


def read_together(*entries: tuple[str, bytes | None], tmp_path: Path) -> Conversation:
    (conversation,), _ = read_file(SOURCE, archive(tmp_path / "x_exports.tar.gz", *entries))
    return conversation


def test_an_archive_is_one_conversation_in_order_of_time(tmp_path: Path) -> None:
    names = ("request", "older_request", "tool_call")
    path = archive(tmp_path / "seeds_exports.tar.gz", *((name, sample(name)) for name in names))

    (conversation,), ledger = read_file(SOURCE, path)

    assert turn_texts(conversation) == [
        (0, "user", WORDS),
        (0, "assistant", "I will look."),
        (0, "assistant", "There are beans and peas."),
    ]
    assert [made.id for made in conversation.turns[0].rounds] == ["0a0b0c01", "0a0b0c02"]
    assert [made.call_ids for made in conversation.turns[0].rounds] == [["call_a", "call_b"], ["call_c"]]
    assert [call.id for call in calls_in(conversation)] == ["call_a", "call_b", "call_c"]
    assert calls_in(conversation)[1].native_ids == ["call_b__vscode-1700000000001"]
    assert (ledger.seen, ledger.used) == (3, 3)


def test_a_folder_is_one_conversation_too(tmp_path: Path) -> None:
    (conversation,), ledger = read_file(SOURCE, FOLDER)

    together = read_together(*((name, sample(name)) for name in ENTRIES), tmp_path=tmp_path)
    assert turn_texts(conversation) == turn_texts(together)
    assert conversation.id == together.id
    assert ledger.used == 3


def test_archive_members_that_are_too_large_are_refused_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive(tmp_path / "a.tar.gz", ("big", b"x" * 9000), ("folder", None), ("tool", sample("tool_call")))
    monkeypatch.setattr(copilot_markdown, "MAX_ENTRY_BYTES", 8000)

    (conversation,), ledger = read_file(SOURCE, path)

    assert len(calls_in(conversation)) == 1
    assert [(bad.code, bad.pointer) for bad in ledger.bad] == [("too-large", "/0")]
    assert ledger.ignored == {"not-a-file": 1}


def test_an_archive_that_expands_without_end_is_not_read_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive(tmp_path / "a.tar.gz", *((str(number), b"x" * 900) for number in range(9)))
    monkeypatch.setattr(copilot_markdown, "MAX_ARCHIVE_BYTES", 2000)

    conversations, ledger = read_file(SOURCE, path)

    assert conversations == []
    assert [bad.code for bad in ledger.bad] == ["bad-record", "bad-record", "too-large"]


def test_a_truncated_archive_yields_its_complete_entries(tmp_path: Path) -> None:
    noise = bytes(range(256)) * 400
    whole = archive(tmp_path / "a.tar.gz", ("tool", sample("tool_call")), ("noise", noise))
    torn = tmp_path / "torn.tar.gz"
    torn.write_bytes(whole.read_bytes()[:-60])

    (conversation,), ledger = read_file(SOURCE, torn)

    assert len(calls_in(conversation)) == 1
    assert "torn-document" in [bad.code for bad in ledger.bad]


def test_reading_an_archive_writes_no_files(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.tar.gz", ("../../outside.md", sample("tool_call")), ("/etc/x", sample("request")))
    before = sorted(tmp_path.rglob("*"))

    read_file(SOURCE, path)

    assert sorted(tmp_path.rglob("*")) == before
