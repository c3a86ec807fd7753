"""Addresses on a conversation's page. A self-contained page has none: it contains what others link to."""

from __future__ import annotations

import base64
from collections.abc import Container
from urllib.parse import urlencode


def picture_type(data: bytes) -> str | None:
    """Return the type of a picture by its first bytes, if it is one that browsers draw and that cannot run code."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


class Addresses:
    """The addresses of a self-contained page. None means that there is no such address."""

    def message(self, number: int) -> str:
        """Return the permanent address of a message."""
        return f"#m-{number}"

    def turn(self, number: int) -> str:
        """Return the address where a turn begins."""
        return f"#t-{number}"

    def panel(self, first_turn: int) -> str | None:  # noqa: ARG002
        """Return the address of the facts about the conversation, with its turns from this position on."""
        return None

    def raw(self, message: int, part: int | None = None) -> str | None:  # noqa: ARG002
        """Return the address of the JSON of a message or part, with its file and position."""
        return None

    def raw_turn(self, turn: int) -> str | None:  # noqa: ARG002
        """Return the address of the JSON of a turn."""
        return None

    def text(self, message: int, part: int, field: str) -> str | None:  # noqa: ARG002
        """Return the address of a text that is too long for the page."""
        return None

    def picture(self, message: int, part: int, item: int | None, data: bytes) -> str | None:  # noqa: ARG002
        """Return the address of a picture; None if it is not one."""
        kind = picture_type(data)
        return f"data:{kind};base64,{base64.b64encode(data).decode()}" if kind else None

    def below(self, call: str, skip: int) -> str | None:  # noqa: ARG002
        """Return the address of the messages of a sub-agent from this position on."""
        return None

    def conversation(self, other: str) -> str | None:  # noqa: ARG002
        """Return the address of another conversation."""
        return None


class ServedAddresses(Addresses):
    """The addresses of a page that the viewer serves."""

    def __init__(self, conversation_id: str, others: Container[str] = ()) -> None:
        self.id = conversation_id
        self._others = others  # conversations that can be opened

    def _address(self, path: str, **values: object) -> str:
        given = {name: value for name, value in values.items() if value is not None}
        return f"{path}?{urlencode({'id': self.id, **given})}"

    def message(self, number: int) -> str:
        return f"{self._address('/conversation', message=number)}#m-{number}"

    def turn(self, number: int) -> str:
        return f"{self._address('/conversation', turn=number)}#t-{number}"

    def panel(self, first_turn: int) -> str | None:
        return self._address("/conversation", panel=first_turn)

    def raw(self, message: int, part: int | None = None) -> str | None:
        return self._address("/conversation/raw", message=message, part=part)

    def raw_turn(self, turn: int) -> str | None:
        return self._address("/conversation/raw", turn=turn)

    def text(self, message: int, part: int, field: str) -> str | None:
        return self._address("/conversation/text", message=message, part=part, field=field)

    def picture(self, message: int, part: int, item: int | None, data: bytes) -> str | None:
        if picture_type(data) is None:
            return None
        return self._address("/conversation/attachment", message=message, part=part, item=item)

    def below(self, call: str, skip: int) -> str | None:
        return self._address("/conversation/below", call=call, skip=skip)

    def conversation(self, other: str) -> str | None:
        return f"/conversation?{urlencode({'id': other})}" if other in self._others else None
