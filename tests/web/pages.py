"""All pages of the viewer, for what is tried on each of them."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from msgspec.structs import replace
from playwright.sync_api import Page

from copilog.model import Conversation
from copilog.store.archive import Archive
from copilog.trajectory import ConversationTrajectory, encode_trajectory, trajectories_of, trajectory_of

# `{id}` is replaced by a conversation, `{q}` by a search, and `{agent}` and `{skill}` by names of the sample.
PAGES = {
    "library": "/",
    "search": "/?q={q}",
    "conversation": "/conversation?id={id}",
    "timeline": "/conversation/timeline?id={id}",
    "dashboard": "/dashboard",
    "agents": "/agents",
    "agent": "/agents/one?kind=custom&name={agent}",
    "skills": "/skills",
    "skill": "/skills/one?name={skill}",
    "files": "/files",
    "commands": "/commands",
    "graph": "/graph",
    "trajectories": "/trajectories",
    "problems": "/problems?level=all",
    "review": "/review?id={id}",
    "missing": "/conversation?id=vscode:nowhere",
}
# What comes into the page of a conversation as one reads it.
FRAGMENTS = (
    "/conversation/messages?id={id}&from=0",
    "/conversation/below?id={id}&call={q}",
    "/conversation/outline?id={id}",
    "/conversation/panel?id={id}",
    "/conversation/raw?id={id}&turn=0",
    "/conversation/raw?id={id}&message=1",
)
# Of two files, `{old}` and `{new}`, that have the conversation `{id}` in common.
TRAJECTORY_PAGES = {
    "trajectory-file": "/trajectories/file?key={old}",
    "trajectory": "/trajectories/show?key={old}&conversation={id}",
    "compared-files": "/trajectories/compare?old={old}&new={new}",
    "compared-conversation": "/trajectories/compare?old={old}&new={new}&conversation={id}",
}


def address_of(name: str, conversation_id: str, query: str = "tide", **names: str) -> str:
    """Return the address of a page, relative to that of the viewer."""
    return filled(PAGES[name], conversation_id, query, **names)


def filled(
    where: str, conversation_id: str, query: str = "tide", *, agent: str = "Reviewer", skill: str = "release"
) -> str:
    values = {"id": conversation_id, "q": query, "agent": agent, "skill": skill}
    return where.format(**{name: quote(value, safe="") for name, value in values.items()})


def trajectory_addresses(page: Page, address: str, conversation: Conversation, name: str = "run") -> dict[str, str]:
    """Open two different files of trajectories, and return the addresses of their pages."""
    old = b"\n".join(encode_trajectory(made) for made in trajectories_of(conversation))
    new = encode_trajectory(_told_otherwise(trajectory_of(conversation)))
    keys = {}
    for side, text in (("old", old), ("new", new)):
        dropped = page.request.post(
            f"{address}/trajectories?name={quote(f'{side} {name}.jsonl', safe='')}",
            data=text,
            headers={"Content-Type": "application/x-ndjson"},
        )
        assert dropped.ok, dropped.text()
        keys[side] = dropped.json()["address"].partition("key=")[2]
    wanted = quote(trajectory_of(conversation).conversation_id, safe="")
    return {page_name: where.format(id=wanted, **keys) for page_name, where in TRAJECTORY_PAGES.items()}


def _told_otherwise(trajectory: ConversationTrajectory) -> ConversationTrajectory:
    """Return the trajectory with a message less, another model, and a longer prompt."""
    messages = [
        replace(message, model="gpt-5", content=message.content.replace("\n", "\n(from another run)\n", 1) + "\nor so")
        if message.role in ("user", "assistant")
        else message
        for message in trajectory.messages[:-1]
    ]
    return replace(trajectory, messages=messages)


def richest(archive: Path) -> str:
    """Return the conversation with the most kinds of content."""
    with Archive(archive) as opened:
        summaries = opened.list()
    return max(summaries, key=lambda summary: (summary.tool_calls + summary.edits, summary.id)).id
