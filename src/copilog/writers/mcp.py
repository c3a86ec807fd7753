"""A conversation as pieces of Markdown for coding agents, one piece after the other.

The context of a prompt (system prompts, tags) and the thinking of another model are of little use to a reader with a
limit: the former is left out, the latter is marked so that it can be left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, assert_never

from copilog.derive.line_counts import line_counts_text
from copilog.derive.notes import Note
from copilog.model import Conversation
from copilog.view import View
from copilog.view.blocks import (
    AnyBlock,
    Call,
    Chip,
    Chips,
    Context,
    Edit,
    EventNote,
    Link,
    Prose,
    QuestionForm,
    Result,
    Shell,
    Shown,
    Tail,
    Thought,
    Todo,
    TurnFoot,
    TurnHead,
    TypedText,
)
from copilog.view.prose import with_links
from copilog.view.wording import in_sentence
from copilog.writers.mcp_text import fenced, one_line, plain, shortened

Kind = Literal["prose", "thinking", "tool", "result", "note"]

ROLES = {"user": "User", "assistant": "Assistant", "tool": "Assistant", "system": "System"}
BOXES = {"done": "x", "doing": "~", "open": " "}
MOST_TREE_LINES = 60
MOST_IN_LINE = 300
MOST_REFERENCES = 5


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece. `text` is short or prose; `body` may be shortened: arguments, results, diffs, output.

    A document that no message shows has its number in place of a message's position.
    """

    message: int
    turn: int | None
    role: str
    kind: Kind
    text: str
    body: str = ""
    language: str = ""

    def written(self, limit: int | None) -> str:
        """Return the piece as Markdown, its body no longer than so many characters; 0 leaves the body out."""
        if not self.body or limit == 0:
            return self.text
        block = fenced(shortened(self.body, limit), self.language)
        return f"{self.text}\n{block}" if self.text else block


class Scrap(NamedTuple):
    """A piece without its position."""

    kind: Kind
    text: str
    body: str = ""
    language: str = ""


def pieces_of(conversation: Conversation) -> list[Piece]:
    """Return all pieces of a conversation, including those that are often left out, without superseded turns."""
    view = View(conversation)
    roles = {
        number: _role_of(message.role, message.parent_call_id) for number, message in enumerate(conversation.messages)
    }
    return [piece for item in view.items() for piece in _pieces_of(item, view, roles)]


def _role_of(role: str, parent: str | None) -> str:
    return "Sub-agent" if parent is not None else ROLES[role]


def _pieces_of(item: Any, view: View, roles: dict[int, str]) -> Iterator[Piece]:
    match item.kind:
        case "message":
            yield from _message(item, view, roles)
        case "branch":
            for inner in item.items:
                yield from _pieces_of(inner, view, roles)
        case "turn-head":
            if lines := list(_head_lines(item)):
                yield Piece(max(view.first_message_of(item.turn), 0), item.turn, "User", "note", "\n".join(lines))
        case "turn-foot":
            if lines := [*_foot_lines(item), *(_edit(edit, "file on disk: ").text for edit in item.edits)]:
                yield Piece(item.last, item.turn, "Assistant", "note", "\n".join(lines))
        case "tail":
            last = max(len(view.conversation.messages) - 1, 0)
            for number, scrap in _tail(item):
                yield Piece(last if number is None else number, None, "System", *scrap)


def _message(shown: Shown, view: View, roles: dict[int, str]) -> Iterator[Piece]:
    for block in shown.blocks:
        yield from _block_pieces(block, shown, view, roles)


def _block_pieces(block: AnyBlock, shown: Shown, view: View, roles: dict[int, str]) -> Iterator[Piece]:
    """Yield the pieces of a block: a call is followed by its commands, its sub-agent's messages, and its result."""
    number = block.at[0] if block.at[0] >= 0 else shown.number
    role = roles.get(number, "Assistant")
    for scrap in scraps_of(block):
        yield Piece(number, shown.turn, role, *scrap)
    if lines := note_lines(block.notes):
        yield Piece(number, shown.turn, role, "note", "\n".join(lines))
    if isinstance(block, Call):
        for shell in block.shells:
            yield from _block_pieces(shell, shown, view, roles)
        for message in view.messages(block.below):
            yield from _message(message, view, roles)
        for result in block.results:
            yield from _block_pieces(result, shown, view, roles)


# --- blocks -------------------------------------------------------------------------------------------------------


def scraps_of(block: AnyBlock) -> Iterator[Scrap]:
    """Yield the text of a block; nothing for blocks that a reader with a limit does not need."""
    match block:
        case Prose():
            text = plain(with_links(block.text, block.links, _link)).strip()
            if text.strip("`\n"):
                yield Scrap("prose", text)
            for warning in block.warnings:
                yield Scrap("note", f"- possible vulnerability: {one_line(warning, 300)}")
        case TypedText():
            yield Scrap("prose", plain(block.text).strip())
        case Thought():
            title = f": {one_line(block.title)}" if block.title else ""
            if block.text or title:
                yield Scrap("thinking", f"(thinking{title})\n{plain(block.text)}".strip())
        case Context():
            return
        case Chips():
            for chip in block.chips:
                yield from _chip(chip)
        case Chip():
            yield from _chip(block)
        case Call():
            yield from _call(block)
        case Shell():
            yield _shell(block)
        case Result():
            yield from _result(block)
        case Edit():
            yield _edit(block)
        case Todo():
            if block.tasks:
                yield Scrap("note", "\n".join(_task(*task) for task in block.tasks))
        case QuestionForm():
            yield _form(block)
        case EventNote():
            yield from _notice(block)
        case _:
            assert_never(block)


def _link(link: Link) -> str:
    said = ", ".join(filter(None, (link.target if link.words else "", link.remark)))
    return (link.words or link.where) + (f" ({said})" if said else "")


def _task(state: str, title: str, description: str) -> str:
    return f"- [{BOXES[state]}] {one_line(title)}" + (f": {one_line(description)}" if description else "")


def note_lines(notes: list[Note]) -> list[str]:
    """Return what is shown with a part besides its text, without details."""
    return [
        f"- {one_line(note.label, 80)}: {one_line(note.text, MOST_IN_LINE)}" for note in notes if not note.is_detail
    ]


def _facts(facts: list[str]) -> str:
    said = ", ".join(one_line(fact) for fact in facts if fact)
    return f" ({said})" if said else ""


def _chip(chip: Chip) -> Iterator[Scrap]:
    if chip.role == "attached" and chip.is_faint:
        return  # switched off, or added by Copilot itself
    words = " ".join(dict.fromkeys(one_line(word, 300) for word in (chip.name, chip.where) if word))
    if chip.role == "mentioned":
        lines = [f"- mentioned {one_line(chip.label, 40)}: {words}", *note_lines(chip.notes)]
        yield Scrap("tool", "\n".join(lines))
    else:
        verb = "attached " if chip.role == "attached" else ""
        lines = [f"- {verb}{one_line(chip.label, 40)}: {words}{_facts(chip.facts)}"]
        yield Scrap("tool", "\n".join([*lines, *note_lines(chip.notes)]), plain(chip.text))


def _call(call: Call) -> Iterator[Scrap]:
    facts = [line_counts_text(call.lines), *call.remarks]
    if call.helper is not None:
        named = "" if call.helper.name == "Sub-agent" else f" {call.helper.name}"
        facts = [f"sub-agent{named}", *call.helper.facts, *facts]
    said = f": {one_line(call.said)}" if call.said else ""
    line = f"- called `{one_line(call.name, 80)}`{_facts(facts)}{said}"
    yield Scrap("tool", line, plain(call.arguments), "json")
    if call.helper is not None and call.helper.task and '"prompt"' not in call.arguments:
        yield Scrap("tool", "- task of the sub-agent:", plain(call.helper.task))
    if call.helper is not None and call.helper.answer:
        yield Scrap("result", "- answer of the sub-agent:", plain(call.helper.answer))


def _shell(shell: Shell) -> Scrap:
    facts = [f"exit code {shell.exit_code}" if shell.exit_code is not None else "", *shell.facts]
    asked = f"; changed by {shell.changed_by}, the model had asked for `{one_line(shell.asked)}`" if shell.asked else ""
    body = f"$ {plain(shell.command)}\n{plain(shell.output)}".rstrip()
    return Scrap("tool", f"- ran in a terminal{_facts(facts)}{asked}:", body, "console")


def _result(result: Result) -> Iterator[Scrap]:
    if (result.is_said and result.beside != "output") or (result.is_empty and not result.is_error):
        return
    texts = [result.full_text or result.text or result.display, *(text for _, text in result.pieces)]
    data = [one_line(f"[{chip.label}, {chip.name}]") for chip in result.chips if chip.data is not None]
    places = [one_line(chip.name, 300) for chip in result.chips if chip.data is None and not any(texts)]
    path = f"(whole output in {one_line(result.full_path, 300)})" if result.full_path else ""
    body = "\n".join(text for text in (*texts, *data, *places, path) if text.strip())
    name = f" of `{result.tool}`" if result.tool else f" of a call that is not here ({result.lost_call})"
    empty = "" if body else " the output above" if result.is_output else " failed without a message"
    yield Scrap("result", f"- {'error' if result.is_error else 'result'}{name}:{empty}", plain(body).strip("\n"))


def _edit(edit: Edit, where: str = "") -> Scrap:
    target = f" to `{one_line(edit.new_path)}`" if edit.new_path else ""
    facts = [line_counts_text(edit.lines), edit.outcome_words, *edit.facts, *edit.warnings]
    diff = "" if edit.is_in_call or where else edit.diff
    return Scrap("tool", f"- {where}{edit.action} `{one_line(edit.path)}`{target}{_facts(facts)}", plain(diff), "diff")


def _form(asked: QuestionForm) -> Scrap:
    message = one_line(asked.message, 400)
    lines = [f"- asked the user: {one_line(asked.title, 300)}" + (f": {message}" if message else "")]
    for words, options, answer in asked.questions:
        offered = f" [{one_line(', '.join(options), 300)}]" if options else ""
        said = one_line(answer if answer is not None else "no answer", 300)
        lines.append(f"  - {words}{offered} → {said}" if words else f" {offered} → {said}")
    if asked.state:
        lines.append(f"  → {asked.state}")
    return Scrap("note", "\n".join(lines))


def _notice(aside: EventNote) -> Iterator[Scrap]:
    if aside.is_routine or aside.is_detail:
        return
    if aside.look == "tree":
        lines = aside.text.split("\n")
        shown = [*lines[:MOST_TREE_LINES], *(["…"] if len(lines) > MOST_TREE_LINES else [])]
        yield Scrap("note", "- files:", plain("\n".join(shown)))
        return
    title = aside.title or aside.look.capitalize()
    words = one_line(aside.words, MOST_IN_LINE)
    text = f"- {one_line(in_sentence(title), 300)}{_facts(aside.facts)}" + (f": {words}" if words else "")
    yield Scrap("result" if aside.text else "note", text, plain(aside.text))


# --- turns --------------------------------------------------------------------------------------------------------


def _head_lines(head: TurnHead) -> Iterator[str]:
    """Yield what is unusual about a turn, where it begins."""
    for look, words in head.badges:
        if look not in ("failed", "cancelled"):  # reported at its end
            yield f"- this turn: {one_line(words)}"
    for verb, names in head.before:
        yield f"- before this, the user {verb} the edits to {one_line(', '.join(names), 300)}"
    if head.pressed:
        yield f"- pressed [{one_line(head.pressed)}]"


def _foot_lines(foot: TurnFoot) -> Iterator[str]:
    """Yield how a turn ended, if it ended in an unusual way."""
    yield from note_lines(foot.notes)
    error = one_line(foot.error, 300) + _facts(foot.error_facts)
    if foot.is_failed and foot.error:
        yield f"- the turn failed: {error}"
    elif foot.status not in ("", "complete"):
        yield f"- the turn is {foot.status}" + (f": {error}" if foot.error else "")
    if foot.vote:
        yield f"- voted {foot.vote}" + (f": {one_line(foot.vote_reason)}" if foot.vote_reason else "")
    who = [*(mode for mode in foot.modes if mode.startswith("custom agent")), *foot.who]
    if who:
        yield f"- answered by: {one_line(', '.join(who))}"
    if foot.references:
        names = [f"{name} ({status})" if status else name for name, status in foot.references[:MOST_REFERENCES]]
        more = f" and {len(foot.references) - len(names)} more" if len(foot.references) > len(names) else ""
        yield f"- used: {one_line(', '.join(names), 500)}{more}"
    yield from (f"- {one_line(fact, 300)}" for fact in foot.skill_facts())
    for licence, address, _ in foot.citations:
        yield f"- similar to public code: {one_line(licence)}, {one_line(address, 300)}"
    for words in foot.followups:
        yield f"- suggested next: {one_line(words, 300)}"


def _tail(tail: Tail) -> Iterator[tuple[int | None, Scrap]]:
    """Yield texts that belong to the conversation and to no turn, documents with their numbers; they are at the end."""
    for edit in tail.edits:
        yield None, _edit(edit, "file on disk: ")
    for document in tail.documents:
        yield document.number, Scrap("note", f"- {one_line(document.title)}", document.text)
    for heading, lines in tail.lists:
        yield None, Scrap("note", f"- {heading}", "\n".join(lines))
    for waiting in tail.waiting:
        yield None, Scrap("note", f"- {one_line(waiting.title)}")
        for block in waiting.blocks:
            yield from ((None, scrap) for scrap in scraps_of(block))
