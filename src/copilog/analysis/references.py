"""Find commits, pull requests and issues that conversations refer to.

Nothing is computed while conversations are stored: the full-text index finds the few messages that may contain an
address, and only those are read. Addresses are recognized by their shape, so that GitHub Enterprise counts under any
name; Azure DevOps has pull requests of its own shape. There are two more sources: the references that the command line
recorded with a session, and git's answer to a commit that was made in the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from copilog.analysis.facts import DISTINCT, Amount, WalkedTable
from copilog.analysis.figures import ReferenceRow
from copilog.analysis.selection import NO_TURN, Chosen
from copilog.store.schema import MESSAGE_BITS

MOST_IN_A_RESULT = 25  # a tool's result that names more than so many is a list, not a reference
REACH = 256  # characters before "/pull/12" that contain the rest of the address
ANSWER_WITHIN = 30  # messages after a call that may have its result: calls may run in parallel

_TEXTS = "m.user, m.answer, m.thinking, m.arguments, m.paths, m.result"
_CHOSEN = (
    f"CROSS JOIN temp.chosen_turn AS c ON c.conversation = m.conversation AND c.turn = coalesce(m.turn, {NO_TURN})"
)
# Punctuation is not in the index: the words of an address are near each other.
_CANDIDATES = " OR ".join(
    ["pullrequest"]
    + [
        f"NEAR({start} {word}, 24)"
        for start in ("https", "http", "github")
        for word in ("pull", "pulls", "issues", "commit", "commits")
    ]
)

_MARK = re.compile(
    r"/(?:(?P<kind>pulls?|issues|pullrequest)/(?P<number>\d{1,9})|commits?/(?P<commit>[0-9a-fA-F]{7,40}))(?![\w-])"
)
_GITHUB = re.compile(
    r"(?:https?://(?:[^\s/@]*@)?(?P<host>[\w.-]+(?::\d+)?)|(?<![\w./-])(?P<bare>(?:[\w-]+\.)*github(?:\.[\w-]+)+))"
    r"(?:/api/v3)?(?:/repos)?/(?P<owner>[\w.-]+)/(?P<name>[\w.-]+)\Z"
)
_AZURE = re.compile(
    r"https?://(?:[^\s/@]*@)?(?P<host>[\w.-]+(?::\d+)?)/(?P<project>(?:[\w.%~-]+/){1,2})_git/(?P<name>[\w.%~-]+)\Z"
)
_HOSTS = {"api.github.com": "github.com", "redirect.github.com": "github.com", "www.github.com": "github.com"}
_COMMITTED = re.compile(
    r"^\s*\[(?:detached HEAD|[^\s\]]+)(?: \([a-z-]+\))? (?P<commit>[0-9a-f]{7,40})\] ", re.MULTILINE
)
_COMMITTING = ("git commit", "git cherry-pick", "git revert")
_KINDS = {"pr": "pull-request", "issue": "issue", "commit": "commit"}


class Reference(NamedTuple):
    """The commit, pull request or issue that a text refers to."""

    kind: str
    name: str
    url: str | None


def references(chosen: Chosen, *, limit: int | None = 20) -> list[ReferenceRow]:
    """Return the references of conversations, the most frequent first."""
    rows = [named.row() for named in _gathered(chosen)]
    rows.sort(key=lambda row: (-row.times, -row.conversations, row.kind, row.name))
    return rows if limit is None else rows[:limit]


def _gathered(chosen: Chosen) -> list[_CountedReference]:
    gathered = _ReferenceCounts()
    for message, conversation, texts in _candidates(chosen):
        for reference in _named_in(texts):
            gathered.add(reference, conversation, message)
    for message, conversation, result in _answers_of_git(chosen):
        for commit in commits_in_answer(result):
            gathered.add(Reference("commit", commit, None), conversation, message, is_made=True)
    for conversation, reference, place in _recorded(chosen):
        gathered.add_recorded(reference, conversation, place)
    return gathered.merged()


def references_in(text: str) -> Iterator[Reference]:
    """Yield the addresses of commits, pull requests and issues in a text."""
    for mark in _MARK.finditer(text):
        before = text[max(mark.start() - REACH, 0) : mark.start()]
        if not before or before[-1].isspace():
            continue
        before = before.split()[-1]
        if mark["kind"] == "pullrequest":
            reference = _azure_reference(before, mark["number"])
        else:
            reference = _github_reference(before, mark)
        if reference is not None:
            yield reference


def commits_in_answer(text: str) -> Iterator[str]:
    """Yield the commits that git made, by what it printed about them."""
    for match in _COMMITTED.finditer(text):
        yield match["commit"]


def _github_reference(before: str, mark: re.Match[str]) -> Reference | None:
    place = _GITHUB.search(before)
    if place is None:
        return None
    host = (place["host"] or place["bare"]).lower()
    repository = f"{place['owner']}/{place['name']}"
    address = f"https://{_HOSTS.get(host, host)}/{repository}"
    if mark["commit"]:
        commit = mark["commit"].lower()
        return Reference("commit", commit, f"{address}/commit/{commit}")
    number = int(mark["number"])
    if mark["kind"] == "issues":
        return Reference("issue", f"{repository}#{number}", f"{address}/issues/{number}")
    return Reference("pull-request", f"{repository}#{number}", f"{address}/pull/{number}")


def _azure_reference(before: str, number: str) -> Reference | None:
    """Return a pull request of Azure DevOps.

    Its organisation is part of the path, or of an old host: ana.visualstudio.com
    """
    place = _AZURE.search(before)
    if place is None:
        return None
    host, project, name = place["host"].lower(), place["project"], place["name"]
    organisation, is_old, _ = host.partition(".visualstudio.com")
    whole = unquote(f"{organisation}/{project}{name}" if is_old else f"{project}{name}")
    return Reference(
        "pull-request", f"{whole}#{int(number)}", f"https://{host}/{project}_git/{name}/pullrequest/{int(number)}"
    )


def _named_in(texts: tuple[str | None, ...]) -> set[Reference]:
    """Return the references of a message; the last of its texts is output of tools."""
    *others, result = texts
    named = {reference for text in others if text for reference in references_in(text)}
    found = set(references_in(result)) if result else set()
    return named | found if len(found) <= MOST_IN_A_RESULT else named


# --- messages with references -------------------------------------------------------------------------------------


def _candidates(chosen: Chosen) -> Iterator[tuple[int, int, tuple[str | None, ...]]]:
    """Yield messages that may contain an address, by the index, and all that are not in the index yet."""
    indexed = f"""
        SELECT m.rowid, m.conversation, {_TEXTS}
        FROM words CROSS JOIN message AS m ON m.rowid = words.rowid {_CHOSEN}
        WHERE words MATCH ? AND m.role NOT IN ('title', 'document')
    """  # noqa: S608 - names of our own
    pending = f"""
        SELECT m.rowid, m.conversation, {_TEXTS}
        FROM conversation AS p CROSS JOIN message AS m
            ON m.rowid >= (p.rowid << {MESSAGE_BITS}) + p.indexed AND m.rowid < (p.rowid + 1) << {MESSAGE_BITS}
        {_CHOSEN}
        WHERE NOT p.is_indexed AND m.role NOT IN ('title', 'document')
    """  # noqa: S608
    for sql, values in ((indexed, (_CANDIDATES,)), (pending, ())):
        for message, conversation, *texts in chosen.connection.execute(sql, values):
            yield message, conversation, tuple(texts)


def _answers_of_git(chosen: Chosen) -> Iterator[tuple[int, int, str]]:
    """Yield the output of calls that made a commit. A result may be in a message of its own, after the call."""
    is_committing = " OR ".join(f"""instr(f.programs, '"{program}"')""" for program in _COMMITTING)
    yield from chosen.connection.execute(
        f"""
        SELECT m.rowid, m.conversation, m.result
        FROM temp.chosen AS v CROSS JOIN tool_call AS f ON f.conversation = v.conversation
        CROSS JOIN temp.chosen_turn AS c ON c.conversation = f.conversation AND c.turn = coalesce(f.turn, {NO_TURN})
        CROSS JOIN message AS m ON +m.turn IS f.turn  -- the plus keeps SQLite from making an index of all messages
            AND m.rowid >= (f.conversation << {MESSAGE_BITS}) + f.message
            AND m.rowid <= (f.conversation << {MESSAGE_BITS}) + f.message + {ANSWER_WITHIN}
        WHERE f.programs IS NOT NULL AND ({is_committing}) AND m.result IS NOT NULL
        """  # noqa: S608
    )


def _recorded(chosen: Chosen) -> Iterator[tuple[int, Reference, str]]:
    """Yield the references that the command line recorded: numbers without a repository, which is the session's own.

    The last value distinguishes equal numbers without a repository: the folder, or else the conversation.
    """
    rows = chosen.connection.execute(
        f"""
        SELECT r.conversation, r.kind, r.other_id, v.repository, v.workspace, v.id
        FROM relation AS r
        JOIN temp.chosen_turn AS c ON c.conversation = r.conversation AND c.turn = {NO_TURN}
        JOIN conversation AS v ON v.rowid = r.conversation
        WHERE r.kind IN ('pr', 'issue', 'commit')
        """  # noqa: S608
    )
    for conversation, kind, value, repository, folder, conversation_id in rows:
        if kind == "commit":
            yield conversation, Reference("commit", value.lower(), None), ""
            continue
        reference = next(references_in(value), None)
        if reference is not None:
            yield conversation, reference, ""
            continue
        owned = _repository_name(repository)
        place = "" if owned else folder or conversation_id
        yield conversation, Reference(_KINDS[kind], f"{owned}#{value.lstrip('#')}", None), place


def _repository_name(recorded: str | None) -> str:
    """Return a repository as "owner/name", also if its address was recorded; empty if it is not recorded."""
    if not recorded:
        return ""
    plain = recorded.strip().rstrip("/").removesuffix(".git")
    if "://" in plain or "@" in plain:
        return "/".join(re.split(r"[/:]", plain)[-2:])
    return plain


# --- rows -----------------------------------------------------------------------------------------------------------


class _CountedReference:
    """One reference, while its mentions are counted."""

    def __init__(self, reference: Reference) -> None:
        self.kind, self.name, self.url = reference
        self.messages: set[int] = set()
        self.conversations: set[int] = set()  # of those messages
        self.recorded: set[int] = set()  # conversations for which it is recorded
        self.is_made = False

    def take_in(self, other: _CountedReference) -> None:
        self.url = self.url or other.url
        self.messages |= other.messages
        self.conversations |= other.conversations
        self.recorded |= other.recorded
        self.is_made = self.is_made or other.is_made

    def row(self) -> ReferenceRow:
        return ReferenceRow(
            kind=self.kind,
            name=self.name,
            url=self.url,
            times=len(self.messages) + len(self.recorded - self.conversations),
            conversations=len(self.conversations | self.recorded),
            is_made=self.is_made,
        )


class _ReferenceCounts:
    """All references."""

    def __init__(self) -> None:
        self._named: dict[tuple[str, str, str], _CountedReference] = {}

    def add(self, reference: Reference, conversation: int, message: int, *, is_made: bool = False) -> None:
        named = self._of(reference, "")
        named.messages.add(message)
        named.conversations.add(conversation)
        named.is_made = named.is_made or is_made

    def add_recorded(self, reference: Reference, conversation: int, place: str) -> None:
        self._of(reference, place).recorded.add(conversation)

    def _of(self, reference: Reference, place: str) -> _CountedReference:
        key = (reference.kind, reference.name.casefold(), place)  # the names of repositories have no case
        if key not in self._named:
            self._named[key] = _CountedReference(reference)
        named = self._named[key]
        named.url = named.url or reference.url
        return named

    def merged(self) -> list[_CountedReference]:
        """Return each once, with the short id of a commit merged into the long id that starts with it."""
        whole: list[_CountedReference] = []
        for key in sorted(self._named, reverse=True):  # so that the long one comes first
            named = self._named[key]
            last = whole[-1] if whole else None
            if last is not None and last.kind == named.kind == "commit" and last.name.startswith(named.name):
                last.take_in(named)
            else:
                whole.append(named)
        return whole


# --- figures --------------------------------------------------------------------------------------------------------


class _Mention(NamedTuple):
    """A message that names a reference, or a conversation for which it was recorded."""

    conversation: int
    turn: None
    kind: str
    name: str


def _mentions(chosen: Chosen) -> Iterator[_Mention]:
    for named in _gathered(chosen):
        of_messages = [message >> MESSAGE_BITS for message in named.messages]
        for conversation in (*of_messages, *(named.recorded - named.conversations)):
            yield _Mention(conversation, None, named.kind, named.name.casefold())


REFERENCES = WalkedTable(
    name="work.references",
    amounts={
        "times": Amount(lambda _: 1, "Messages that name", head="Messages"),
        "conversations": Amount(lambda mention: mention.conversation, "Conversations that name", DISTINCT),
    },
    keys=("kind", "name"),
    of=" the {} {}",
    words={"pull-request": "pull request"},
    fold=str.casefold,
    walk=_mentions,
    key=lambda mention: (mention.kind, mention.name),
)
