"""Every line of a log entry as Markdown is found again, or is one that only the format itself writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from copilog import ingest
from copilog.diagnostics import LeafCounts
from copilog.ingest.leaves.markdown_lines import lines_of

DATA = Path(__file__).parent / "data" / "copilot_markdown"
REQUEST, OLDER, TOOL = ((DATA / f"{name}.copilotmd").read_text() for name in ("request", "older_request", "tool_call"))
MARK = "zq words that were planted here"
ASKED = "list the seeds\n"
END = REQUEST.index("## Response\n")


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


def walked(folder: Path, text: str) -> LeafCounts:
    path = folder / "entry.copilotmd"
    path.write_text(text)
    leaves = ingest.inspect_file(path).leaves
    assert leaves is not None
    return leaves


ENTRIES = {
    "quotes a whole log": changed(REQUEST, ASKED, f"{ASKED}{OLDER}\n{MARK}\n"),
    "quotes a tool call": changed(REQUEST, ASKED, f"{ASKED}{TOOL}\n{MARK}\n"),
    "quotes messages": changed(
        REQUEST, ASKED, f"list\n~~~\n\n### User\n~~~md\n{MARK}\n~~~\n## Response\nquoted words\n"
    ),
    "text after calls": changed(REQUEST, "[response_id: ", f"{MARK}\n[response_id: "),
    "several paragraphs of thinking": changed(
        REQUEST, "encrypted_content=3500 chars\n", f"\n{MARK}\n\nand a third\n\n"
    ),
    "failure": f"{REQUEST[:END]}## FAILED: the service was tired\n{MARK}\n\n<style>\nsome style of theirs\n</style>\n",
    "cancelled with text": f"{REQUEST[:END]}## CANCELED\n{MARK}\n",
    "truncated": changed(REQUEST, "## Response\n", "## Response (truncated)\n"),
    "without a response": REQUEST[:END],
    "two answers": changed(REQUEST, "beans and peas.\n", f"beans.\n~~~\n\n### Assistant\n~~~md\n{MARK}\n"),
    "for a title": changed(REQUEST, "# panel/editAgent", "# title"),
    "for another extension": changed(REQUEST, "# panel/editAgent", "# copilotLanguageModelWrapper"),
    "sub-agent": changed(REQUEST, "# panel/editAgent", "# tool/runSubagent"),
    "of the extension's own": f"# Something it wrote\n\n{MARK}\n\n## A heading of its own\nfurther words are here\n",
    "fences in a result": changed(TOOL, "created\n", f"created it\n~~~\nwithin a fence\n~~~\n{MARK}\n"),
    "heading in a result": changed(TOOL, "created\n", f"created it\n~~~\n## Thinking\n{MARK}\n"),
    "arguments that are not JSON": changed(TOOL, "args : {\n", f"args : {MARK}\n"),
    "JSON in arguments": changed(TOOL, '"first line', f'"{{\\"deep\\": \\"{MARK}\\"}}'),
    "stray line before a message": changed(REQUEST, "### System\n", f"{MARK}\n### System\n"),
    "stray line within a message": changed(REQUEST, "### System\n", f"### System\n{MARK}\n"),
    "stray line before the title": f"{MARK}\n{REQUEST}",
    "stray line in a tool call": changed(TOOL, "## Response\n", f"## Response\n{MARK}\n"),
    "line breaks of Windows": REQUEST.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_every_line_of_an_entry_is_accounted_for(tmp_path: Path, name: str) -> None:
    leaves = walked(tmp_path, ENTRIES[name])

    assert leaves.found > 0
    assert leaves.unaccounted == {}


@pytest.mark.parametrize("text", [REQUEST, OLDER, TOOL], ids=["request", "older", "tool call"])
def test_an_inserted_line_is_stored_or_reported(tmp_path: Path, text: str) -> None:
    """Only within the list of tools and the style of the page the path has a reason."""
    lines = text.split("\n")
    before = walked(tmp_path, text)
    for number in range(len(lines) + 1):
        leaves = walked(tmp_path, "\n".join([*lines[:number], MARK, *lines[number:]]))

        reasons = {reason for reason, count in leaves.reasons.items() if count > before.reasons.get(reason, 0)}
        if leaves.found <= before.found and not leaves.unaccounted:
            assert reasons in ({"tool-definition"}, {"program-info"}), number


def test_a_line_that_the_reader_drops_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from copilog.sources.replay import markdown_entries

    monkeypatch.setattr(markdown_entries, "_content_lines", lambda _: [])
    leaves = walked(tmp_path, f"{REQUEST[:END]}## CANCELED\n{MARK}\n")

    assert leaves.unaccounted == {"/body": 1}


def test_lines_have_paths_by_the_headings_of_the_format() -> None:
    paths = {line: path for path, line in lines_of(REQUEST)}

    assert paths["panel/editAgent - 0a0b0c02"] == "/title"
    assert paths["ChatResponses"] == "/metadata/requestType"
    assert paths['        "description": "Lists a folder."'] == "/metadata/tools"
    assert paths["garden-7"] == "/metadata/experiment"
    assert paths["### Assistant"] == "/heading"
    assert paths["marker-one"] == "/mark"
    assert paths["/home/ana/seeds"] == "/body"
    assert paths["create_file"] == "/body/call"
    assert paths["call_b"] == "/body/callId"
