"""A conversation as a Markdown document: front matter, title, all turns, facts, and a list of what is missing.

The layout depends on the conversation alone, and calls are folded below one line each: in a repository, a conversation
that went on differs from its earlier file by what was added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, assert_never

from copilog import jsonio
from copilog.derive import is_counted, without_superseded
from copilog.derive.line_counts import line_counts_text
from copilog.derive.notes import Note
from copilog.errors import BadRecord
from copilog.model import Conversation, title_of
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
from copilog.view.conversation_info import panel_of
from copilog.view.prose import with_links
from copilog.view.terminal_text import clean_output
from copilog.view.wording import counted, superseded_text
from copilog.writers.front_matter import front_matter
from copilog.writers.html.characters import visible_line
from copilog.writers.html.code import laid_out
from copilog.writers.markdown_text import details, fence, plain, prose, quoted, span
from copilog.writers.missing import Missing

MOST_IN_LINE = 300  # characters of a note
OF_USER = frozenset({TypedText.kind, Chips.kind, Chip.kind})
BOXES = {"done": "x", "doing": " ", "open": " "}


def document_blocks(conversation: Conversation, *, has_front_matter: bool = False) -> Iterator[str]:
    """Yield the document block by block; an empty block is left out."""
    superseded = [turn for turn in conversation.turns if not is_counted(turn)]
    conversation = without_superseded(conversation)
    missing = Missing()
    missing.superseded = superseded_text(superseded) if superseded else ""
    view = View(conversation)
    if has_front_matter:
        yield front_matter(conversation)
    yield f"# {plain(title_of(conversation))}"
    yield from BlockWriter(view, missing).items(view.items())
    yield "## About this conversation"
    yield from _facts(conversation)
    yield "## Not in this file"
    yield "\n".join(f"- {line}" for line in missing.lines())


def prompt_blocks(conversation: Conversation, *, has_front_matter: bool = False) -> Iterator[str]:
    """Yield a document with nothing but what the user wrote and attached."""
    conversation = without_superseded(conversation)
    view = View(conversation)
    writer = BlockWriter(view, Missing())
    if has_front_matter:
        yield front_matter(conversation)
    yield f"# {plain(title_of(conversation))}"
    for item in view.items():
        yield from writer.prompts(item)


def _facts(conversation: Conversation) -> Iterator[str]:
    panel = panel_of(conversation)
    lines = [f"- **{name}**: {plain(value, 1000)}" for name, value in panel.facts]
    lines += [f"- **{plain(mark)}**: {plain(words)}" for mark, words in panel.marks]
    for model, counts, source in panel.usage:
        said = ", ".join(f"{value} {name}" for name, value in counts)
        lines.append(f"- **Tokens**: {plain(model)}: {plain(said)} (from {plain(source)})")
    for kind, other, reason in panel.related:
        lines.append(f"- **Related**: {plain(kind)} {span(other)}" + (f" ({plain(reason)})" if reason else ""))
    for trace in panel.traces:
        place = f" {span(trace.place)}" if trace.place else ""
        lines.append(f"- **Found in**: {span(trace.path, 1000)}{place} ({plain(trace.source)}, {trace.role})")
        lines += [f"  - overruled: {plain(words, 1000)}" for words in trace.overruled]
    yield "\n".join(lines)


class BlockWriter:
    """Draws the blocks of one conversation, and counts what the document cannot contain."""

    def __init__(self, view: View, missing: Missing) -> None:
        self._view = view
        self._missing = missing
        self._speaker = ""
        self._shown_facts: list[str] = []  # facts of the message before

    # --- turns and messages ---------------------------------------------------------------------------------------

    def items(self, items: Iterable[Any]) -> Iterator[str]:
        for item in items:
            yield from self._item(item)

    def _item(self, item: Any) -> Iterator[str]:
        match item.kind:
            case "turn-head":
                yield from self._head(item)
            case "message":
                yield from self._message(item)
            case "turn-foot":
                yield from self._foot(item)
            case "continued":
                self._speaker = ""
                yield f"## Turn {item.number}, continued" if item.number else "## Outside of the turns"
            case "branch":
                head = [f"## {item.title}", f"*{item.size}, in* {span(item.trace, 1000)}"]
                blocks = [block for block in (*head, *self.items(item.items)) if block]
                yield quoted("\n\n".join(blocks))
            case "superseded":
                yield from self.items(item.items)
            case "tail":
                yield from self._tail(item)

    def _message(self, message: Shown) -> Iterator[str]:
        blocks = [text for block in message.blocks for text in self.block(block) if text]
        if blocks and message.speaker and message.speaker != self._speaker:
            yield f"### {plain(message.speaker, 80)}"
            self._speaker = message.speaker
        facts = [*message.facts, f"conflict: {message.conflict}" if message.conflict else ""]
        if blocks and facts != self._shown_facts:
            self._shown_facts = facts
            yield _line(facts)
        yield from blocks

    def _head(self, head: TurnHead) -> Iterator[str]:
        self._speaker = ""
        yield f"## Turn {head.number}"
        yield _line([head.time, head.model, head.mode, *(words for _, words in head.badges)])
        yield f"*{plain(head.only_trace, 1000)}*" if head.only_trace else ""
        for words in head.changes:
            yield plain(words, 1000)
        for verb, names in head.before:
            yield plain(f"{verb.capitalize()} the edits to {', '.join(names)}", 1000)
        if head.pressed:
            yield f"Pressed {span(head.pressed)}"

    def _foot(self, foot: TurnFoot) -> Iterator[str]:
        for edit in foot.edits:
            yield from self.block(edit)
        if foot.error:
            how = f" ({', '.join(plain(fact) for fact in foot.error_facts)})" if foot.error_facts else ""
            yield f"**{'Cancelled' if foot.is_cancelled else 'Error'}**{how}"
            yield prose(foot.error)
        elif foot.is_cancelled:
            yield "**Cancelled** before the answer was complete"
        yield from _notes(foot.notes)
        if foot.references:
            names = [f"- {span(name)}" + (f" ({plain(status)})" if status else "") for name, status in foot.references]
            yield details(f"Used {counted(len(names), 'reference')}", "\n".join(names))
        for licence, address, code in foot.citations:
            yield f"- Similar to public code: {plain(licence)}, {span(address)}"
            yield fence(code) if code else ""
        vote = f"voted {foot.vote}" + (f": {foot.vote_reason}" if foot.vote_reason else "") if foot.vote else ""
        yield _line([*foot.facts, f"skills: {', '.join(foot.skills)}" if foot.skills else "", vote])
        if foot.followups:
            yield "Suggested next:"
            yield "\n".join(f"- {plain(words)}" for words in foot.followups)

    def _tail(self, tail: Tail) -> Iterator[str]:
        if tail.edits:
            yield "## Changes of requests that are not here"
        for edit in tail.edits:
            yield from self.block(edit)
        if tail.files:
            yield "## Files"
            yield "\n".join(f"- {span(name)} {plain(outcome)}".rstrip() for name, outcome in tail.files)
        for name, text in tail.unnamed:
            yield f"## Text of a file whose name was not recorded ({plain(name, 40)})"
            yield fence(text)
        for document in tail.documents:
            yield f"## {plain(document.title, 200)}"
            yield fence(document.text)
        for heading, lines in tail.lists:
            yield f"## {heading}"
            yield "\n".join(f"- {plain(line)}" for line in lines)
        for waiting in tail.waiting:
            yield f"## {plain(waiting.title)}"
            for block in waiting.blocks:
                yield from self.block(block)

    def prompts(self, item: Any) -> Iterator[str]:
        """Yield what an item has of the user's: the number of the turn, texts and attachments."""
        match item.kind:
            case "turn-head":
                yield f"## Turn {item.number}"
            case "message" if item.role == "user" and not item.is_helper:
                blocks: list[AnyBlock] = [block for block in item.blocks if block.kind in OF_USER]
                for block in blocks:
                    yield from self.block(block)
            case "branch":
                inner = [text for each in item.items for text in self.prompts(each) if text]
                yield quoted("\n\n".join([f"## {item.title}", *inner]))

    # --- blocks ---------------------------------------------------------------------------------------------------

    def block(self, block: AnyBlock) -> Iterator[str]:
        """Yield a block with its notes."""
        match block:
            case Prose():
                yield prose(with_links(block.text, block.links, _link))
                for warning in block.warnings:
                    yield f"*Possible vulnerability: {plain(warning)}*"
            case TypedText():
                yield prose(block.text)
            case Thought():
                title = f": {visible_line(block.title, 160)}" if block.title else ""
                elapsed = f" ({block.elapsed})" if block.elapsed else ""
                yield details(f"Thinking{title}{elapsed}", prose(block.text))
            case Context():
                size = counted(len(block.text), "character")
                yield details(f"{block.title}, {size}", fence(block.text, "text"))
            case Chips():
                for chip in block.chips:
                    yield from self._chip(chip)
            case Chip():
                yield from self._chip(block)
            case Call():
                yield from self._call(block)
            case Shell():
                yield from self._shell(block)
            case Result():
                yield from self._result(block)
            case Edit():
                yield from self._edit(block)
            case Todo():
                yield "\n".join(["**To do**", "", *(_todo_lines(block) or ["an empty list"])])
            case QuestionForm():
                yield from _form(block)
            case EventNote():
                yield from _notice(block)
            case _:
                assert_never(block)
        if not isinstance(block, Call | Chip):  # placed before the block that follows
            yield from _notes(block.notes)

    def _chip(self, chip: Chip) -> Iterator[str]:
        if chip.role == "found" and chip.data is not None:
            self._missing.add_bytes(chip.mime_type, len(chip.data))
            yield f"- {plain(chip.label, 60)}, {chip.name} (not in this file)"
            return
        facts = [chip.where, *chip.facts, "not in this file" if chip.data is not None else ""]
        said = ", ".join(plain(fact, 300) for fact in facts if fact)
        label = {"attached": f"Attached {plain(chip.label, 40)} ", "mentioned": f"Mentioned {plain(chip.label, 40)} "}
        kind = f"{plain(chip.label, 60).capitalize()} " if chip.role == "linked" else ""
        yield f"- {label.get(chip.role, kind)}{span(chip.name, 200)}" + (f" ({said})" if said else "")
        if chip.data is not None:
            self._missing.add_bytes(chip.mime_type, len(chip.data))
        if chip.text.strip():
            words = f"Text of {visible_line(chip.name, 200)}, {counted(len(chip.text), 'character')}"
            yield details(words, fence(chip.text, "text"))
        yield from _notes(chip.notes)

    def _call(self, call: Call) -> Iterator[str]:
        facts = ["succeeded" if call.status == "succeeded" else "", line_counts_text(call.lines, "−"), *call.remarks]
        said = ", ".join(visible_line(fact, 200) for fact in facts if fact)
        words = visible_line(call.name, 80) + (f" ({said})" if said else "")
        about = visible_line(call.said or next((shell.command for shell in call.shells), ""), 160)
        parts: list[AnyBlock] = [*call.shells, *call.results]
        blocks = [
            f"Shown as: {plain(call.said)}" if len(call.said) > len(about) else "",
            _arguments(call.arguments),
            *_notes(call.notes),
            *(text for part in parts for text in self.block(part)),
        ]
        helper = list(self._helper(call))
        summary = f"Tool call {words}" + (f": {about}" if about else "")
        yield details(summary, *blocks) if any(blocks) else f"*{plain(summary, 500)}*"
        yield from helper

    def _helper(self, call: Call) -> Iterator[str]:
        helper = call.helper
        if helper is None:
            return
        inner = BlockWriter(self._view, self._missing)
        blocks = [quoted(prose(helper.task)) if helper.task else ""]
        blocks += [text for message in self._view.messages(call.below) for text in inner._message(message)]
        if helper.answer:
            blocks += ["**Answer**", prose(helper.answer)]
        names = [helper.name] if helper.name != "Sub-agent" else []
        words = ", ".join(["Sub-agent", *(visible_line(fact, 160) for fact in (*names, *helper.facts))])
        yield details(f"{words}: {counted(len(call.below), 'message')}" if call.below else words, *blocks)

    def _result(self, result: Result) -> Iterator[str]:
        if result.is_said and not result.is_empty:
            yield details("What the model received", *self._result_body(result))
            return
        label = "**Error**" if result.is_error else "**Result**"
        if result.lost_call:
            label = f"The result of a call that is not here ({span(result.lost_call, 80)}):"
        if result.is_empty:
            empty = "failed without a message" if result.is_error else "empty"
            yield f"{label}: {'the output above' if result.is_output else empty}"
            return
        yield label
        yield from self._result_body(result)

    def _result_body(self, result: Result) -> Iterator[str]:
        text = clean_output(result.text)
        if text.strip():
            yield fence(text, "json" if _is_json(text) else "text")
        for _, piece in result.pieces:
            yield fence(clean_output(piece), "text")
        for chip in result.chips:
            yield from self._chip(chip)
        if result.display:
            yield details("What the user saw", fence(clean_output(result.display), "text"))
        if result.full_text:
            where = f" ({visible_line(result.full_path, 200)})" if result.full_path else ""
            yield details(f"The whole output{where}", fence(clean_output(result.full_text), "text"))

    @staticmethod
    def _shell(shell: Shell) -> Iterator[str]:
        output = clean_output(shell.output).strip("\n")
        yield fence(f"$ {shell.command}" + (f"\n{output}" if output.strip() else ""), "console")
        if shell.asked:
            yield f"Changed by {shell.changed_by}; the model had asked for:"
            yield fence(shell.asked, "console")
        yield _line([f"exit code {shell.exit_code}" if shell.exit_code is not None else "", *shell.facts])

    def _edit(self, edit: Edit) -> Iterator[str]:
        counts = f" {words}" if (words := line_counts_text(edit.lines, "−")) else ""
        target = f" to {span(edit.new_path)}" if edit.new_path else ""
        said = ", ".join(plain(fact) for fact in (edit.outcome_words, *edit.facts, *edit.warnings) if fact)
        name = span(edit.path) if edit.path else "an unknown file"
        yield f"**{plain(edit.verb).capitalize()}** {name}{target}{counts}" + (f" ({said})" if said else "")
        if edit.diff and not edit.is_in_call:
            yield fence(edit.diff, "diff")
        if edit.cells:
            yield details("Operations on the notebook", fence(edit.cells, "json"))
        if not edit.is_recorded:
            self._missing.edits += 1


def _link(link: Link) -> str:
    words = visible_line(link.words, 300)
    facts = [span(link.where) if words and link.target else "", plain(link.remark)]
    said = ", ".join(filter(None, facts))
    return (words or span(link.where or "a reference")) + (f" ({said})" if said else "")


def _line(facts: Sequence[str]) -> str:
    """Return facts on a line of their own; empty if there are none."""
    said = ", ".join(plain(fact) for fact in facts if fact)
    return f"*{said}*" if said else ""


def _notes(notes: Iterable[Note]) -> Iterator[str]:
    """Yield the notes of a part or a turn: a line each, or a block if the text is long."""
    for note in notes:
        if len(note.text) <= MOST_IN_LINE and "\n" not in note.text.strip():
            yield f"- {plain(note.label, 80)}: {plain(note.text)}"
        else:
            yield details(visible_line(note.label, 80), fence(note.text, "text"))


def _arguments(given: str) -> str:
    """Return the arguments of a call, laid out if they are JSON."""
    if not given.strip() or given.strip() == "{}":
        return ""
    try:
        jsonio.decode(given.encode("utf-8", "surrogatepass"))
    except BadRecord:
        return fence(given, "text")
    return fence(laid_out(given), "json")


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[") and text.rstrip()[-1:] in ("}", "]")


def _todo_lines(todo: Todo) -> list[str]:
    lines = []
    for state, title, description in todo.tasks:
        doing = " (in progress)" if state == "doing" else ""
        lines.append(
            f"- [{BOXES[state]}] {plain(title)}{doing}" + (f": {plain(description, 500)}" if description else "")
        )
    return lines


def _form(asked: QuestionForm) -> Iterator[str]:
    yield f"**Asked** {plain(asked.title)}" + (f" ({plain(asked.state, 40)})" if asked.state else "")
    yield quoted(prose(asked.message)) if asked.message else ""
    for words, options, answer in asked.questions:
        yield "\n".join([*([plain(words)] if words else []), *(f"- {plain(option)}" for option in options)])
        if answer is not None:
            yield f"Answer: {plain(answer, 2000)}"


def _notice(aside: EventNote) -> Iterator[str]:
    said = ", ".join(plain(fact) for fact in aside.facts)
    title = plain(aside.title, 300)
    if aside.look == "checkpoint":
        return  # an id for programs only
    if aside.look == "tree":
        yield fence(aside.text, "text")
    elif aside.text:
        draw: Callable[[str], str] = prose if aside.look == "compaction" else lambda text: fence(text, "text")
        facts = f": {', '.join(visible_line(fact, 300) for fact in aside.facts)}" if aside.facts else ""
        yield details(f"{visible_line(aside.title, 300)}{facts}", draw(aside.text))
        yield prose(aside.words)
    else:
        label = title or (aside.look.capitalize() if aside.look != "notice" else "")
        head = ": ".join(each for each in (f"**{label}**" if label else "", said) if each)
        whole = "\n\n".join(each for each in (head, prose(aside.words)) if each)
        yield whole if aside.look == "hook" else quoted(whole)
