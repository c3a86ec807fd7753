"""A conversation in windows: so many messages at a time, with the heads and feet of their turns.

    pages = Pages(conversation, ServedAddresses(conversation.id))
    window = pages.window(first=0, count=40)       # for the page and what it loads later
    whole = Pages(conversation).whole()            # for a self-contained page

A window is drawn by the macro `window` of turn.html.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from copilog.model import Conversation, Message, Prompt, Text, Thinking, ToolCall, Turn
from copilog.render.pages import environment, render_page
from copilog.view import View
from copilog.writers.html.addresses import Addresses
from copilog.writers.html.page import Below, Page

WINDOW = 40  # messages, including those that are shown in others


@dataclass(slots=True, kw_only=True)
class Window:
    """Some messages of a conversation, ready to draw. Numbers are indexes of messages."""

    first: int
    next: int | None  # where the next window begins; None at the end
    previous: int | None  # where this one begins, to find the window before it; None at the beginning
    items: list[Any]  # TurnHead, Shown, TurnFoot, Continued, Tail, and frames around them
    page: Page


class Pages:
    """The pages of one conversation."""

    def __init__(
        self, conversation: Conversation, addresses: Addresses | None = None, *, is_whole: bool = False
    ) -> None:
        self.conversation = conversation
        self.view = View(conversation)
        self._page = Page(self.view, addresses or Addresses(), is_whole=is_whole or addresses is None)

    @property
    def page(self) -> Page:
        """Return a page on which nothing has been drawn."""
        return replace(self._page)

    def window(self, first: int = 0, count: int = WINDOW) -> Window:
        """Return the window that begins with this message, or with the one that shows it."""
        place = self.view.nesting.place_of(first)
        return self._window(place, self.view.reach(place, count))

    def window_around(self, message: int, count: int = WINDOW) -> Window:
        """Return a window with this message, and a few others above it."""
        place = self.view.nesting.place_of(message)
        first = self.view.reach(place, count // 4, step=-1)
        return self._window(first, max(place + 1, self.view.reach(first, count)), message)

    def window_before(self, message: int, count: int = WINDOW) -> Window:
        """Return the window that ends above this message."""
        end = self.view.nesting.place_of(message)
        return self._window(self.view.reach(end, count, step=-1), end)

    def start_before(self, message: int, count: int = WINDOW) -> int | None:
        """Return where the window above this message begins; None at the beginning."""
        nesting = self.view.nesting
        place = nesting.place_of(message)
        return nesting.top[self.view.reach(place, count, step=-1)] if place else None

    def whole(self) -> Window:
        """Return the entire conversation as one window."""
        return self._window(0, len(self.view.nesting.top))

    def items(self) -> Iterator[Any]:
        """Yield all items, so that drawn ones need not stay in memory."""
        return self.view.items()

    def messages_below(self, call: str, skip: int, count: int = WINDOW) -> Below:
        """Return messages of a sub-agent, and the address of those after them."""
        numbers = self.view.nesting.below.get(call, [])
        shown = list(self.view.messages(numbers[skip : skip + count]))
        rest = skip + count < len(numbers)
        return Below(shown, self._page.addresses.below(call, skip + count) if rest else None)

    def _window(self, place: int, end: int, wanted: int | None = None) -> Window:
        top, messages = self.view.nesting.top, self.conversation.messages
        opened = messages[wanted].turn if wanted is not None and 0 <= wanted < len(messages) else None
        return Window(
            first=top[place] if place < len(top) else 0,
            next=top[end] if end < len(top) else None,
            previous=top[place] if 0 < place < len(top) else None,
            items=list(self.view.items(place, end, opened)),
            page=replace(self._page, wanted=wanted),
        )


def warm_up() -> None:
    """Compile templates and load tags and languages, so that the first page does not take longer."""
    words = Text(text="```python\npass\n```\n\n| a |\n|---|\n| `b` |")
    messages = [
        Message(role="user", parts=[Text(text="<context>a</context> b"), Prompt(text="<context>a</context>")], turn=0),
        Message(role="assistant", parts=[words, Thinking(text="a"), ToolCall(id="a", name="a")], turn=0),
    ]
    made_up = Conversation(id="", source="", turns=[Turn(index=0)], messages=messages)
    for template in ("conversation.html", "conversation_part.html"):
        environment().get_template(template)
    render_page("conversation_part.html", what="window", messages=Pages(made_up).whole())
