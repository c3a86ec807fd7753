"""The pages of files and of commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page
from starlette.testclient import TestClient

from copilog.model import Message, Terminal
from copilog.store.archive import Archive
from tests.stored import concluded_entry, conversation
from tests.web.hostile import NAME

PLAN = "vscode:a4d451ec-2346-4726-b72c-43d64c710968"


def test_files_are_ranked_by_conversations_and_lead_to_them(client: TestClient) -> None:
    text = client.get("/files").text

    assert text.index("stations.py</a>") < text.index("package.json</a>")
    assert "/dashboard/conversations?figure=work.important_files.conversations&amp;value=" in text


def test_commands_are_listed_with_what_is_known_of_them(client: TestClient) -> None:
    text = client.get("/commands").text

    assert "python -m timeit -n 20 -v -s" in text
    assert "edited by the user" in text
    assert "exit 1" in text
    assert "As a script" in text


def test_commands_of_one_conversation_with_a_text_or_an_exit_code(client: TestClient) -> None:
    of_one = client.get("/commands", params={"id": PLAN}).text
    assert "npm publish" in of_one
    assert "timeit" not in of_one

    assert "npm test" not in client.get("/commands", params={"command": "pytest*"}).text
    assert "exit 0" not in client.get("/commands", params={"exit": "error"}).text
    assert client.get("/commands", params={"id": "vscode:nowhere"}).status_code == 404


def test_a_conversation_links_to_its_commands(client: TestClient) -> None:
    text = client.get("/conversation", params={"id": PLAN}).text

    assert 'href="/commands?id=vscode%3Aa4d451ec-2346-4726-b72c-43d64c710968"' in text


def test_the_script_is_copied(open_page: Callable[..., Page], address: str) -> None:
    page = open_page(address, "/commands?command=npm*", permissions=["clipboard-read", "clipboard-write"])
    page.locator("#script summary").click()
    page.locator("#script button.copy").click()
    page.get_by_text("Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")

    assert "npm test -- --run" in copied
    assert "# left out, it did not run (skipped): npm publish --dry-run" in copied


def test_hostile_commands_are_text(
    client_of: Callable[[Path], TestClient],
    own_archive: Path,
    served: Callable[[Path], str],
    open_page: Callable[..., Page],
) -> None:
    made = conversation("h1", ("run", "yes"), title=NAME)
    made.messages.append(Message(role="assistant", turn=0, parts=[Terminal(command=f"echo {NAME}\n# x", cwd=NAME)]))
    with Archive(own_archive, write=True) as archive:
        archive.put(concluded_entry(made), "1")
    page = open_page(served(own_archive), "/commands?id=vscode:h1")

    assert page.evaluate("window.ran") is None
    assert page.locator("main img").count() == 0
    assert NAME in page.locator(".runs pre").first.inner_text()
