"""The title of a conversation, and where it is from.

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
    "index",  # VS Code's index of sessions
    "session list",  # VS Code's list of agent sessions
    "generated",  # written by a model: workspace.yaml, a title request in a replay, an export of spans
    "summary",  # the older summary in workspace.yaml
    "store",  # the first line of the summary in a session store
    "first prompt",  # the first line of the first prompt
    "placeholder",  # what an index calls a session without a prompt: "New Chat" in the user's language
)
SESSIONS = ("vscode-session", "vscode-session-log")
NEW_CHAT = "New Chat"  # what VS Code calls a session without a prompt
_RANK = {origin: rank for rank, origin in enumerate(TITLE_ORIGINS)}


def add_title(conversation: Conversation, text: str | None, origin: TitleOrigin) -> None:
    """Record a title that a trace has; the best one so far becomes the conversation's."""
    if not text or not text.strip():
        return
    title = Title(text=text, origin=origin)
    if title not in conversation.titles:
        conversation.titles = [*conversation.titles, title]
    _show_best(conversation)


def recorded_titles(conversation: Conversation) -> list[Title]:
    """Return every title that was recorded; documents of earlier versions have one, without its origin."""
    if conversation.titles or not conversation.title or conversation.title_origin in ("first prompt", "placeholder"):
        return conversation.titles
    return [Title(text=conversation.title, origin=conversation.title_origin)]


def unite_titles(lead: Conversation, others: Iterable[Conversation]) -> None:
    """Give the lead every title that a trace has. Of equally good ones the lead's, else the first other's, is shown."""
    own = recorded_titles(lead)
    united = list(own)
    for other in others:
        united += [title for title in recorded_titles(other) if title not in united]
    if united != own:
        lead.titles = united
        _show_best(lead)


def conclude_title(conversation: Conversation) -> None:
    """Choose the title to show: the best that was recorded, else the first line of the first prompt."""
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
    """Return the title of the best origin; of equally good ones the first."""
    if len(titles) <= 1:
        return titles[0] if titles else None
    return min(titles, key=lambda title: _rank_of(title.origin))


def _rank_of(origin: TitleOrigin | None) -> int:
    """Return the rank of an origin; an unknown one ranks with the first prompt."""
    return _RANK["first prompt"] if origin is None else _RANK[origin]
