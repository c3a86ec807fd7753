"""Addresses on a conversation's page. A page that stands alone has none: what others link to, it holds itself."""

from __future__ import annotations

import base64
from collections.abc import Container
from urllib.parse import urlencode


def picture_type(data: bytes) -> str | None:
    """The type of a picture that browsers draw and that can do nothing else, by its first bytes."""
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
    """Those of a page that stands alone. None: there is no such address."""

    def message(self, number: int) -> str:
        """A message, for good."""
        return f"#m-{number}"

    def turn(self, number: int) -> str:
        """Where a turn begins."""
        return f"#t-{number}"

    def panel(self, first_turn: int) -> str | None:  # noqa: ARG002
        """What is known of the conversation as a whole, with the turns from this place on."""
        return None

    def raw(self, message: int, part: int | None = None) -> str | None:  # noqa: ARG002
        """The JSON of a message or a part, with its file and place."""
        return None

    def raw_turn(self, turn: int) -> str | None:  # noqa: ARG002
        """The JSON of a turn."""
        return None

    def text(self, message: int, part: int, field: str) -> str | None:  # noqa: ARG002
        """A text that is too long for the page."""
        return None

    def picture(self, message: int, part: int, item: int | None, data: bytes) -> str | None:  # noqa: ARG002
        """A picture; None for what is none."""
        kind = picture_type(data)
        return f"data:{kind};base64,{base64.b64encode(data).decode()}" if kind else None

    def below(self, call: str, skip: int) -> str | None:  # noqa: ARG002
        """The messages of a sub-agent after so many of them."""
        return None

    def conversation(self, other: str) -> str | None:  # noqa: ARG002
        """Another conversation."""
        return None


class ServedAddresses(Addresses):
    """Those of a page that the viewer serves."""

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
