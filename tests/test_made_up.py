"""Nothing in the repository that looks like a conversation may come from a person's machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from copilog import sample

ROOT = Path(__file__).parent.parent
PLACES = [ROOT / "tests" / "data", sample.home()]
NAMES = {"ana", "ben"}  # the people of our stories

SUSPECTS = {
    "an e-mail address": re.compile(r"[\w.+-]+@((?:[\w-]+\.)+[A-Za-z]{2,})"),
    "a home folder": re.compile(r"(?:/Users/|/home/|[A-Za-z](?::|%3A)[\\/]+Users[\\/]+)([\w.-]+)", re.IGNORECASE),
    "a GitHub token": re.compile(r"\b(gh[pousr]_[A-Za-z0-9]{8,}|github_pat_\w{8,})"),
    "an API key": re.compile(r"\b(sk-[A-Za-z0-9-]{8,}|AKIA[A-Z0-9]{8,}|AIza[\w-]{20,}|xox[abprs]-[\w-]{5,})"),
    "a private key": re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)"),
    "a signed token": re.compile(r"\b(eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,})"),
}


def suspicious(text: str) -> Iterator[str]:
    """What looks as if it belonged to somebody."""
    for what, pattern in SUSPECTS.items():
        for match in pattern.finditer(text):
            if what == "an e-mail address" and re.fullmatch(r"(.+\.)?example\.(com|org|net)", match[1]):
                continue
            if what == "a home folder" and match[1].lower() in NAMES:
                continue
            yield f"{what}: {match[0]}"


def files() -> list[Path]:
    return [path for place in PLACES for path in sorted(place.rglob("*")) if path.is_file()]


def texts_of(path: Path) -> Iterator[str]:
    """The bytes of a file as the text they may be."""
    data = path.read_bytes()
    yield data.decode("utf-8", errors="replace")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        yield data.decode("utf-16", errors="replace")


def test_no_made_up_file_holds_anything_of_a_person() -> None:
    found = [f"{path.name}: {what}" for path in files() for text in texts_of(path) for what in suspicious(text)]

    assert found == []
    assert len(files()) > 50


def test_no_made_up_file_is_named_after_a_person() -> None:
    names = [str(path.relative_to(place)) for place in PLACES for path in place.rglob("*")]

    assert [name for name in names if list(suspicious(f"/{name}"))] == []


@pytest.mark.parametrize(
    "text",
    [
        "write to jane.doe@corp.test",
        "/Users/jane/code",
        "file:///home/jane",
        r"C:\Users\Jane\code",
        r"c:\\Users\\Jane",
        "file:///c%3A/Users/jane",
        "ghp_" + "a1B2" * 9,
        "github_pat_" + "a1B2" * 9,
        "sk-" + "a1B2" * 9,
        "AKIA" + "A1B2" * 4,
        "xoxb-" + "123456-abcdef",
        "-----BEGIN RSA " + "PRIVATE KEY-----",
        "eyJ" + "a" * 20 + "." + "b" * 20 + "." + "c" * 20,
    ],
)
def test_what_looks_real_is_found(text: str) -> None:
    assert len(list(suspicious(f"before {text} after"))) == 1


@pytest.mark.parametrize(
    "text", ["ana@example.com", "a@mail.example.org", "/home/ana/x", r"C:\Users\Ana\x", "task-list"]
)
def test_what_is_made_up_passes(text: str) -> None:
    assert list(suspicious(f"before {text} after")) == []
