"""Choose the title of a conversation, and record its origin.

Sources add each title that they find with `add_title`, merging unites them with `unite_titles`, and `conclude_title`
chooses one to show. All three rank by `TITLE_ORIGINS`, so that a conversation has the same title on every surface.
"""

from __future__ import annotations

from collections.abc import Iterable

from copilog.model import Conversation, Title, TitleOrigin, first_prompt_line

TITLE_ORIGINS: tuple[TitleOrigin, ...] = (  # best first: what VS Code and Copilot CLI themselves prefer
    "custom",  # customTitle of a session or of vscode.metadata.json: renamed by the user, or by VS Code's own request
    "computed",  # computedTitle of old session files, which VS Code takes over as customTitle
    "named",  # workspace.yaml of Copilot CLI, named by the user
    "index",  # from VS Code's index of sessions
    "session list",  # from VS Code's list of agent sessions
    "generated",  # written by a model: workspace.yaml, a title request in a replay, an export of spans
    "summary",  # the older summary in workspace.yaml
    "store",  # the first line of the summary in a session store
    "first prompt",  # the first line of the first prompt
    "placeholder",  # title of a session without a prompt in an index: "New Chat" in the user's language
)
SESSIONS = ("vscode-session", "vscode-session-log")
NEW_CHAT = "New Chat"  # VS Code's title of a session without a prompt
_RANK = {origin: rank for rank, origin in enumerate(TITLE_ORIGINS)}


def add_title(conversation: Conversation, text: str | None, origin: TitleOrigin) -> None:
    """Record a title of a trace; the best title so far becomes the conversation's."""
    if not text or not text.strip():
        return
    title = Title(text=text, origin=origin)
    if title not in conversation.titles:
        conversation.titles = [*conversation.titles, title]
    _show_best(conversation)


def recorded_titles(conversation: Conversation) -> list[Title]:
    """Return every recorded title; documents of earlier versions have one title without origin."""
    if conversation.titles or not conversation.title or conversation.title_origin in ("first prompt", "placeholder"):
        return conversation.titles
    return [Title(text=conversation.title, origin=conversation.title_origin)]


def unite_titles(lead: Conversation, others: Iterable[Conversation]) -> None:
    """Add the titles of all traces to the lead. Of equally good ones the lead's, else the first other's, is shown."""
    own = recorded_titles(lead)
    united = list(own)
    for other in others:
        united += [title for title in recorded_titles(other) if title not in united]
    if united != own:
        lead.titles = united
        _show_best(lead)


def conclude_title(conversation: Conversation) -> None:
    """Choose the title to show: the best recorded one, else the first line of the first prompt."""
    conversation.titles = recorded_titles(conversation)
    best = _best(conversation.titles)
    is_enough = best is not None and _rank_of(best.origin) <= _RANK["first prompt"]
    line = "" if is_enough else first_prompt_line(conversation)
    if line:
        best = Title(text=line, origin="first prompt")
    elif best is None and conversation.source in SESSIONS:
        best = Title(text=NEW_CHAT, origin="placeholder")
    conversation.title, conversation.title_origin = (best.text, best.origin) if best is not None else (None, None)


def _show_best(conversation: Conversation) -> None:
    best = _best(conversation.titles)
    if best is not None:
        conversation.title, conversation.title_origin = best.text, best.origin


def _best(titles: list[Title]) -> Title | None:
    """Return the title with the best origin; the first of equally good ones."""
    if len(titles) <= 1:
        return titles[0] if titles else None
    return min(titles, key=lambda title: _rank_of(title.origin))


def _rank_of(origin: TitleOrigin | None) -> int:
    """Return the rank of an origin; an unknown one ranks with the first prompt."""
    return _RANK["first prompt"] if origin is None else _RANK[origin]
