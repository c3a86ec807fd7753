"""Conversations as one Markdown document: title, facts, turn by turn what was said and done, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from copilog.export.index import Entry
from copilog.export.markdown_calls import change_blocks
from copilog.export.markdown_parts import Material, PartWriter
from copilog.export.markdown_text import details, fence, plain, prose, span
from copilog.model import Conversation, FileEdit, Message, Text, Turn, title_of
from copilog.render.answer import is_event
from copilog.render.html.addresses import Addresses
from copilog.render.html.blocks import Stage
from copilog.render.html.edits import whole_changes
from copilog.render.html.outline import first_prompts, repeated_prompts, turn_foot, turn_head
from copilog.render.html.panel import panel_of
from copilog.render.words import counted, path_words


def markdown_page(conversation: Conversation) -> str:
    """One conversation as a document."""
    return "".join(markdown_pieces([conversation], []))


def markdown_pieces(
    conversations: Iterable[Conversation], index: Sequence[Entry], *, title: str | None = None, missing: str = ""
) -> Iterator[str]:
    """Several conversations as one document with an index, piece by piece."""
    if len(index) > 1:
        yield f"# {plain(title or counted(len(index), 'conversation'))}\n\n"
        for number, entry in enumerate(index, 1):
            yield f"{number}. {plain(entry.title)}" + (f" ({plain(entry.facts)})" if entry.facts else "") + "\n"
    for number, conversation in enumerate(conversations):
        if number or len(index) > 1:
            yield "\n---\n\n"
        for block in _Document(conversation).blocks():
            if block:
                yield f"{block}\n\n"
    if missing:
        yield f"\n---\n\n{plain(missing, 1000)}\n"


class _Document:
    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.material = Material(conversation)
        self.writer = PartWriter(self.material)
        self.turns = {turn.index: turn for turn in conversation.turns}
        self.repeated = repeated_prompts(conversation, first_prompts(conversation))
        self.told = {  # turn and file of edits that the answer shows
            (message.turn, part.uri)
            for message in conversation.messages
            for part in message.parts
            if isinstance(part, FileEdit) and part.diff
        }
        # Changes of files are written here; without them the foot of a turn is nothing but words.
        self.stage = Stage(replace(conversation, file_changes=[]), self.material.nesting)

    def blocks(self) -> Iterator[str]:
        yield f"# {plain(title_of(self.conversation))}"
        yield from self._facts()
        yield from self._turns()
        yield from self._rest()
        yield "## Not in this file"
        yield "\n".join(f"- {line}" for line in self.material.missing.lines())

    def _facts(self) -> Iterator[str]:
        panel = panel_of(self.conversation, Addresses())
        lines = [f"- **{name}**: {plain(value, 1000)}" for name, value in panel.facts]
        lines += [f"- **{plain(mark)}**: {plain(words)}" for mark, words in panel.marks]
        for model, counts, source in panel.usage:
            said = ", ".join(f"{value} {name}" for name, value in counts)
            lines.append(f"- **Tokens**: {plain(model)}: {plain(said)} (from {plain(source)})")
        lines += [f"- **Related**: {plain(kind)} {span(other)}" for kind, other, _, _ in panel.related]
        for trace in panel.traces:
            place = f" {span(trace.place)}" if trace.place else ""
            lines.append(f"- **Found in**: {span(trace.path, 1000)}{place} ({plain(trace.source)}, {trace.role})")
        yield "\n".join(lines)

    # --- turns -------------------------------------------------------------------------------------------------------

    def _turns(self) -> Iterator[str]:
        """Messages in their order, with heads and feet of turns around them."""
        begun: set[int] = set()
        current: Turn | None = None
        speaker = ""
        before: Turn | None = None
        for number in self.material.nesting.top:
            message = self.conversation.messages[number]
            turn = self.turns.get(message.turn) if message.turn is not None else None
            if turn is not current:
                if current is not None:
                    yield from self._foot(current)
                yield from self._head(turn, before) if turn and turn.index not in begun else self._again(turn)
                begun |= {turn.index} if turn else set()
                before, current, speaker = turn or before, turn, ""
            blocks = list(self.writer.message(number))
            speaks = self._speaker(message)
            if blocks and speaks and speaks != speaker:
                yield f"### {speaks}"
                speaker = speaks
            yield from blocks
        if current is not None:
            yield from self._foot(current)
        for turn in self.conversation.turns:
            if turn.index not in begun:
                yield from self._head(turn, None)
                yield from self._foot(turn)

    def _speaker(self, message: Message) -> str:
        if message.role == "tool" or is_event(message):
            return ""
        if message.role == "assistant":
            return plain(self.stage.assistant, 80)
        if message.role == "system":
            return "System"
        turn = self.turns.get(message.turn) if message.turn is not None else None
        if turn is not None and turn.is_system_initiated:
            return plain(turn.system_label or "The system", 80)
        return "You"

    def _head(self, turn: Turn, before: Turn | None) -> Iterator[str]:
        head = turn_head(turn, before, self.repeated, self.stage)
        yield f"## Turn {head.number}"
        facts = [head.time, head.model, head.mode, *(words for _, words in head.badges)]
        said = ", ".join(plain(fact) for fact in facts if fact)
        if said:
            yield f"*{said}*"
        for words in (*head.changes, *head.before):
            yield plain(words, 1000)
        if head.pressed:
            yield f"Pressed {span(head.pressed)}"

    def _again(self, turn: Turn | None) -> Iterator[str]:
        yield f"## Turn {turn.index + 1}, continued" if turn is not None else "## Outside of the turns"

    def _foot(self, turn: Turn) -> Iterator[str]:
        yield from self._changes(turn)
        foot = turn_foot(turn, [], self.stage)
        if turn.error is not None and foot.error is not None:
            how = f" ({', '.join(plain(fact) for fact in foot.error_facts)})" if foot.error_facts else ""
            yield f"**{'Cancelled' if foot.is_cancelled else 'Error'}**{how}"
            yield prose(turn.error.message) or "It failed without a message."
        elif foot.is_cancelled:
            yield "**Cancelled** before the answer was complete"
        if foot.references:
            names = "\n".join(f"- {span(chip.name)}" for chip in foot.references)
            yield details(f"Used {counted(len(foot.references), 'reference')}", names)
        for citation in turn.citations:
            yield f"- Similar to public code: {plain(citation.license or 'unknown')}, {span(citation.uri or '')}"
            if citation.snippet:
                yield fence(citation.snippet)
        facts = [*foot.facts, f"skills: {', '.join(foot.skills)}" if foot.skills else ""]
        if foot.vote:
            facts.append(f"voted {foot.vote}" + (f": {foot.vote_reason}" if foot.vote_reason else ""))
        said = ", ".join(plain(fact) for fact in facts if fact)
        if said:
            yield f"*{said}*"
        if foot.followups:
            yield "Suggested next:"
            yield "\n".join(f"- {plain(words)}" for words in foot.followups)

    def _changes(self, turn: Turn) -> Iterator[str]:
        """What the editing history says of a turn beyond its answer."""
        changes = whole_changes(self.conversation, {turn.index})
        if not changes:
            return
        for change in changes:
            if (turn.index, change.uri) not in self.told:
                fate = self.material.fates.of(change.uri, change.turn, change.is_undone)
                yield from change_blocks(change, fate, self.material.folder)

    # --- what belongs to no turn -------------------------------------------------------------------------------------

    def _rest(self) -> Iterator[str]:
        conversation, writer = self.conversation, self.writer
        strays = {change.turn for change in conversation.file_changes if change.turn not in self.turns}
        changes = whole_changes(conversation, strays) if strays else []
        if changes:
            yield "## Changes of requests that are not here"
        for change in changes:
            fate = self.material.fates.of(change.uri, change.turn, change.is_undone)
            yield from change_blocks(change, fate, self.material.folder)
        if conversation.files:
            yield "## Files"
            yield "\n".join(
                f"- {span(path_words(file.path or file.uri, self.material.folder))}"
                + (f" {file.decision}" if file.decision else "")
                + (" deleted" if file.is_deleted else "")
                for file in conversation.files
            )
        for queued in conversation.queued:
            yield f"## Never sent ({plain(queued.type or 'queued', 40)})"
            yield from writer.parts(queued.message, -1)
        draft = conversation.draft
        if draft is not None and (draft.text.strip() or draft.attachments):
            yield "## Draft in the input box"
            yield from writer.parts(Message(role="user", parts=[Text(text=draft.text), *draft.attachments]), -1)
