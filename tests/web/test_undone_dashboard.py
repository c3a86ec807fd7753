"""The dashboard leads from what was spent in vain to the superseded turns that it was spent on."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

from starlette.testclient import TestClient

from copilog.store.archive import Archive
from tests.branched import PROMPTS, branched_conversation
from tests.stored import concluded_entry


def test_superseded_turn_is_shown_at_the_address_of_its_figure(
    tmp_path: Path, client_of: Callable[[Path], TestClient]
) -> None:
    path = tmp_path / "archive.db"
    with Archive(path, write=True) as archive:
        archive.put(concluded_entry(branched_conversation()), "made up")
        archive.index_pending()
    client = client_of(path)

    listed = client.get("/dashboard/conversations?figure=tokens.superseded_turns").text
    [address] = re.findall(r'<th scope="row"[^>]*><a href="([^"]*)"', listed)
    shown = client.get(unescape(address)).text

    assert "Superseded turns that used a model" in listed
    [fold] = re.findall(r"<details[^>]*superseded[^>]* open[^>]*>.*?</details>", shown, re.DOTALL)
    assert PROMPTS[1] in fold
