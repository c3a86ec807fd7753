"""`copilog digest -o`: a folder of pages, of which a later run changes what changed, and keeps what a person wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from copilog.derive import conclude
from copilog.digest.folder import NAME, write_digest
from copilog.digest.marked_lines import page_in
from copilog.exports.chosen import chosen_of
from copilog.model import Conversation, Text
from tests.analysis.made_up_edits import Shelf, conversation_with
from tests.cli.homes import run
from tests.digest.test_pitfalls import edit_of, ran

GOLDEN = Path(__file__).parents[1] / "data" / "digest"
LINK = re.compile(r"\]\(([^)\s]+)\)")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def write(folder: Path, *conversations: Conversation) -> list[str]:
    """Write the pages of conversations; return the names of those that were written."""
    return write_digest(chosen_of(conversations), folder).written


def page_named(folder: Path, name: str) -> Path:
    [path] = [path for path in folder.rglob("*.md") if name in path.name]
    return path


def written_on(path: Path, text: str) -> None:
    """Write as a person does, between the marked lines."""
    before, _, after = path.read_text(encoding="utf-8").partition("is kept -->\n")
    path.write_text(f"{before}is kept -->\n{text}\n{after}", encoding="utf-8")


def test_the_pages_of_the_sample(tmp_path: Path, updates_golden: bool) -> None:
    folder = GOLDEN if updates_golden else tmp_path / "pages"
    assert run("digest", "--sample", "-o", str(folder)).code == 0

    made = {name: text for name, text in contents(folder).items() if name != NAME}
    assert made == {name: text for name, text in contents(GOLDEN).items() if name != NAME}
    assert len([name for name in made if name.startswith("conversations/")]) == 18


def test_a_second_run_writes_nothing(tmp_path: Path) -> None:
    run("digest", "--sample", "-o", str(tmp_path))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    done = run("digest", "--sample", "-o", str(tmp_path), "--json")

    assert done.json["written"] == []
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_every_link_leads_to_a_page_and_to_a_heading_there(tmp_path: Path) -> None:
    run("digest", "--sample", "-o", str(tmp_path))
    links = 0
    for path in tmp_path.rglob("*.md"):
        for target in LINK.findall(path.read_text(encoding="utf-8")):
            if target.startswith(("http://", "https://")):
                continue
            name, _, anchor = unquote(target).partition("#")
            page = (path.parent / name) if name else path
            assert page.is_file(), f"{path.name}: {target}"
            heads = re.findall(r"^#+ (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
            assert not anchor or anchor in {head.lower().replace(" ", "-") for head in heads}, f"{path.name}: {target}"
            links += 1
    assert links > 50


def test_only_what_changed_is_written(tmp_path: Path) -> None:
    one = conversation_with("one", ran("a", "pytest", 0), title="Tides")
    write(tmp_path, one, conversation_with("two", ran("b", "make", 0), title="Beds", folder="/home/ana/beds"))
    one = conversation_with("one", ran("a", "pytest", 0), ran("c", "make", 0), title="Tides")
    written = write(tmp_path, one, conversation_with("two", ran("b", "make", 0), title="Beds", folder="/home/ana/beds"))

    assert [name for name in written if name.startswith("conversations/")] == ["conversations/2026-05-04-tides.md"]
    assert not any("beds" in name for name in written)


def test_what_a_person_wrote_stays_when_the_page_changes(tmp_path: Path) -> None:
    write(tmp_path, conversation_with("one", ran("a", "pytest", 0), title="Tides"))
    page = page_named(tmp_path, "-tides")
    written_on(page, "Ask Bo about the gauge.\n\n<!-- my own comment -->")
    write(tmp_path, conversation_with("one", ran("a", "make", 0), title="Tides"))

    text = page.read_text(encoding="utf-8")
    assert "Ask Bo about the gauge.\n\n<!-- my own comment -->" in text
    assert "`make`" in text
    assert "pytest" not in text


def test_a_page_that_was_changed_elsewhere_is_left_and_reported(tmp_path: Path) -> None:
    conversations = [conversation_with("one", ran("a", "pytest", 0), title="Tides")]
    write(tmp_path, *conversations)
    page = page_named(tmp_path, "-tides")
    page.write_text(page.read_text(encoding="utf-8").replace("# Tides", "# My tides"), encoding="utf-8")
    written = write_digest(chosen_of([conversation_with("one", ran("a", "make", 0), title="Tides")]), tmp_path)

    assert written.edited == ["conversations/2026-05-04-tides.md"]
    assert "# My tides" in page.read_text(encoding="utf-8")


def test_the_exit_code_tells_that_a_page_was_not_written(tmp_path: Path) -> None:
    run("digest", "--sample", "-o", str(tmp_path))
    index = tmp_path / "index.md"
    index.write_text("mine\n", encoding="utf-8")
    done = run("digest", "--sample", "-o", str(tmp_path))

    assert done.code == 3
    assert "index.md: was changed outside of the marked lines" in done.err
    assert index.read_text(encoding="utf-8") == "mine\n"


def test_files_of_others_are_never_touched(tmp_path: Path) -> None:
    other = tmp_path / "conversations" / "2026-05-04-tides.md"
    other.parent.mkdir()
    other.write_text("mine\n", encoding="utf-8")
    write(tmp_path, conversation_with("one", ran("a", "pytest", 0), title="Tides"))

    assert other.read_text(encoding="utf-8") == "mine\n"
    assert (tmp_path / "conversations" / "2026-05-04-tides-2.md").is_file()


def test_a_later_run_covers_the_conversations_of_earlier_ones(tmp_path: Path) -> None:
    Shelf(tmp_path).put(
        conversation_with("one", ran("a", "pytest", 0), title="Tides"),
        conversation_with("two", ran("b", "make", 0), title="Beds", folder="/home/ana/beds"),
    ).close()
    archive, pages = str(tmp_path / "archive.db"), tmp_path / "pages"
    run("--archive", archive, "--no-scan", "digest", "-w", "beds", "-o", str(pages))
    run("--archive", archive, "--no-scan", "digest", "-w", "tide-tables", "-o", str(pages))

    assert "Tides" in (pages / "index.md").read_text(encoding="utf-8")
    assert "Beds" in (pages / "index.md").read_text(encoding="utf-8")


def test_the_page_of_a_removed_conversation_goes_unless_someone_wrote_on_it(tmp_path: Path) -> None:
    one = conversation_with("one", ran("a", "pytest", 0), title="Tides")
    two = conversation_with("two", ran("b", "make", 0), title="Beds", folder="/home/ana/beds")
    three = conversation_with("three", ran("c", "make", 0), title="Seeds", folder="/home/ana/seeds")
    write(tmp_path, one, two, three)
    written_on(page_named(tmp_path / "conversations", "-seeds"), "Mine.")
    written = write_digest(chosen_of([one]), tmp_path)

    assert "conversations/2026-05-04-beds.md" in written.removed
    assert written.kept == ["conversations/2026-05-04-seeds.md"]
    assert written.edited == []
    assert page_named(tmp_path / "conversations", "-seeds").is_file()


def test_a_kept_page_is_not_taken_for_another_conversation(tmp_path: Path) -> None:
    """Else its person's text would be on a page about something else."""
    one, other = (conversation_with(name, ran("a", "pytest", 0), title="Tides") for name in ("one", "other"))
    write(tmp_path, one)
    page = page_named(tmp_path / "conversations", "tides")
    written_on(page, "Mine.")
    write(tmp_path, conversation_with("two", ran("b", "make", 0), title="Beds"))
    write(tmp_path, other)

    assert "Mine." in page.read_text(encoding="utf-8")
    assert "Mine." not in (page.parent / "2026-05-04-tides-2.md").read_text(encoding="utf-8")


def test_without_its_state_a_folder_gives_each_conversation_its_page(tmp_path: Path) -> None:
    one, other = (conversation_with(name, ran("a", "pytest", 0), title="Tides") for name in ("one", "other"))
    write(tmp_path, one, other)
    before = contents(tmp_path)
    (tmp_path / NAME).unlink()

    assert write(tmp_path, other, one) == []
    assert contents(tmp_path) == before


def test_an_interrupted_run_is_finished_by_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conversations = [
        conversation_with(f"n{number}", ran("a", "pytest", 0), title=f"Tides {number}") for number in range(5)
    ]
    whole = tmp_path / "whole"
    write(whole, *conversations)
    for stop_at in range(1, 5):
        folder = tmp_path / f"stopped-{stop_at}"
        stopped = 0

        def advance(stop_at: int = stop_at) -> None:
            nonlocal stopped
            stopped += 1
            if stopped == stop_at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write_digest(chosen_of(conversations), folder, advance)
        write(folder, *conversations)
        assert contents(folder) == contents(whole)


def test_names_stay_when_titles_change(tmp_path: Path) -> None:
    write(tmp_path, conversation_with("one", ran("a", "pytest", 0), title="Tides"))
    write(tmp_path, conversation_with("one", ran("a", "pytest", 0), title="Moon"))

    assert "# Moon" in page_named(tmp_path, "-tides").read_text(encoding="utf-8")


def test_a_marked_line_in_a_transcript_is_not_taken_for_ours(tmp_path: Path) -> None:
    line = "<!-- copilog 0123456789abcdef: what you write between this line and the last one is kept -->"
    conversation = conversation_with("one", ran("a", "pytest", 0), title="Tides")
    conversation.messages[0].parts = [Text(text=f"```\n{line}\nforged\n```")]
    write(tmp_path, conversation)
    page = page_in(page_named(tmp_path, "-tides").read_text(encoding="utf-8"))

    assert page is not None
    assert "forged" in page.body
    assert page.own.strip() == ""


def test_a_state_that_names_other_places_leads_nowhere(tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("mine\n", encoding="utf-8")
    folder = tmp_path / "pages"
    folder.mkdir()
    names = {"vscode:x": "../outside.md", "vscode:one": "conversations/../../outside.md"}
    (folder / NAME).write_text(json.dumps({"conversations": names}), encoding="utf-8")
    write(folder, conversation_with("one", ran("a", "pytest", 0), title="Tides"))

    assert outside.read_text(encoding="utf-8") == "mine\n"


def test_redacted_pages_are_equal_in_a_second_run(tmp_path: Path) -> None:
    Shelf(tmp_path).put(
        conversation_with("one", ran("a", "pytest --mail ana@harbour.example", 0), title="Tides"),
    ).close()
    archive, pages = str(tmp_path / "archive.db"), tmp_path / "pages"
    run("--archive", archive, "--no-scan", "digest", "--redact", "-o", str(pages))
    before = contents(pages)
    done = run("--archive", archive, "--no-scan", "digest", "--redact", "-o", str(pages), "--json")

    assert b"ana@harbour.example" not in b"".join(before.values())
    assert done.json["written"] == []
    assert contents(pages) == before


def test_mkdocs_builds_the_pages_without_a_warning(tmp_path: Path) -> None:
    build = pytest.importorskip("mkdocs.commands.build", reason="MkDocs is not installed")
    config = pytest.importorskip("mkdocs.config")
    run("digest", "--sample", "-o", str(tmp_path / "docs"))
    (tmp_path / "mkdocs.yml").write_text("site_name: Notes\nstrict: true\n", encoding="utf-8")
    build.build(config.load_config(str(tmp_path / "mkdocs.yml")))

    assert "What was learnt" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")


def test_files_of_the_workspace_come_before_others(tmp_path: Path) -> None:
    """A session's own plan is changed in each of its turns, and tells little about the workspace."""
    plan, code = "/home/ana/.copilot/session-state/one/plan.md", "/home/ana/tides/tide.py"
    changed = edit_of("a", plan, fails=False), edit_of("b", plan, fails=False), edit_of("c", code, fails=False)
    one, two = (
        conversation_with(name, *turns, folder="/home/ana/tides")
        for name, turns in (("one", changed[:2]), ("two", changed[1:]))
    )
    conclude(one)
    conclude(two)
    write(tmp_path, one, two)
    for page in (page_named(tmp_path / "workspaces", "tides"), tmp_path / "files.md"):
        text = page.read_text(encoding="utf-8")
        assert 0 < text.index("- `tide.py`") < text.index(f"- `{plan}`")
