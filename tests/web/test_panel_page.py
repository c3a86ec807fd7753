"""The panel of a conversation has the same cost as the figures."""

from __future__ import annotations

import re

from starlette.testclient import TestClient

SESSION = "cli:5152790e-278e-4890-b9f8-bfaa354b944e"  # of the sample


def test_panel_has_what_the_figures_have_of_the_conversation(client: TestClient) -> None:
    panel = client.get("/conversation/panel", params={"id": SESSION}).text

    [(head, facts), *_] = re.findall(
        r'<p class="usage-head">(.*?)</p>\s*<dl class="facts">(.*?)</dl>', panel, re.DOTALL
    )
    values = dict(re.findall(r"<dt>(.*?)</dt><dd[^>]*>(.*?)</dd>", facts))
    assert "<strong>spent</strong>" in head
    assert (values["input"], values["output"], values["credits"]) == ("317,900", "3,006", "5.1")
