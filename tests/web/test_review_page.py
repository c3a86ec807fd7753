"""The page that shows what redaction would replace, and remembers what the user decides."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from copilog.redaction import Redactor
from copilog.redaction.decisions import Decisions, decisions_path
from copilog.store.archive import Archive
from tests.redaction.seeds import generator
from tests.redaction.shapes import TOKENS
from tests.stored import entry

RNG = generator("review page")
TOKEN = next(shape for shape in TOKENS if shape.name == "GitHub personal token").make(RNG).secret
OTHER = next(shape for shape in TOKENS if shape.name == "Anthropic key").make(RNG).secret


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "review.db"
    with Archive(path, write=True) as made:
        made.put(entry("keys", (f"Is {TOKEN} <b>right</b>?", f"Or {OTHER}, ask bo@firm.de."), title="Keys"), "1")
        made.put(
            entry("plain", ("When is high tide?", "At noon."), title="Tide", path="/srv/tide.json", folder=None), "2"
        )
    return path


@pytest.fixture
def pages(client_of: Callable[[Path], TestClient], archive: Path) -> TestClient:
    return client_of(archive)


def id_of(archive: Path, name: str) -> str:
    with Archive(archive) as opened:
        return next(summary.id for summary in opened.list() if name in summary.id)


def mark_of(archive: Path, text: str, secret: str) -> str:
    """Return the field of the form that decides about a secret: the last one before it is shown."""
    before = text[text.index(f"<mark>{secret}</mark>") :]
    found = re.search(r'name="(d-[0-9a-f]+)"', before)
    assert found is not None
    return found[1]


def test_each_finding_is_shown_in_its_context(pages: TestClient, archive: Path) -> None:
    text = pages.get("/review", params={"id": id_of(archive, "keys")}).text

    assert f"Is <mark>{TOKEN}</mark> &lt;b&gt;right" in text
    assert f"<mark>{OTHER}</mark>" in text
    assert "bo@firm.de" in text
    assert "no program recognises" in text


def test_decisions_are_remembered_and_used(pages: TestClient, archive: Path) -> None:
    address = f"/review?id={id_of(archive, 'keys')}"
    text = pages.get(address).text
    fields = {mark_of(archive, text, TOKEN): "keep", mark_of(archive, text, OTHER): "replace"}

    answer = pages.post(address, data=fields, follow_redirects=True)
    decisions = Decisions(decisions_path(archive))
    made = Redactor(keeps=decisions.keeps).text(f"{TOKEN} {OTHER}")

    assert answer.status_code == 200  # the page again
    assert made.startswith(TOKEN)
    assert OTHER not in made
    stored = decisions_path(archive).read_text()
    assert TOKEN not in stored
    assert sorted(json.loads(stored)["decisions"].values()) == ["keep", "replace"]


def test_all_of_a_kind_can_be_replaced(pages: TestClient, archive: Path) -> None:
    address = f"/review?id={id_of(archive, 'keys')}"
    pages.post(address, data={"all": "email"})

    assert list(json.loads(decisions_path(archive).read_text())["decisions"].values()) == ["replace"]


def test_a_conversation_without_findings_says_so(pages: TestClient, archive: Path) -> None:
    assert "No known shape was found." in pages.get("/review", params={"id": id_of(archive, "plain")}).text


def test_requests_that_make_no_sense_are_refused(pages: TestClient, archive: Path) -> None:
    wanted = id_of(archive, "keys")

    assert pages.get("/review").status_code == 400
    assert pages.get("/review?id=nowhere").status_code == 404
    assert pages.post(f"/review?id={wanted}", json={"all": "email"}).status_code == 415
    assert pages.post(f"/review?id={wanted}", headers={"Origin": "http://elsewhere.example"}).status_code == 403
