"""Conversations as one Markdown document: title, facts, turn by turn what was said and done, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from copilog.derive import in_reading_order, is_counted, only_traces, repeated_prompts, turns_before, without_superseded
from copilog.derive.notes import notes_of_turn
from copilog.export.index import Entry
from copilog.export.markdown_calls import change_blocks, note_blocks
from copilog.export.markdown_parts import Material, PartWriter
from copilog.export.markdown_text import details, fence, plain, prose, quoted, span
from copilog.model import Branch, Conversation, FileEdit, Message, Text, Turn, title_of, unnamed_files
from copilog.render.answer import is_event
from copilog.render.branches import branch_key, branch_title, shared_depth, sizes_of, superseded_words
from copilog.render.html.addresses import Addresses
from copilog.render.html.blocks import Stage
from copilog.render.html.edits import whole_changes
from copilog.render.html.outline import first_prompts, turn_foot, turn_head
from copilog.render.html.panel import panel_of
from copilog.render.words import counted, document_words, path_words


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
        superseded = [turn for turn in conversation.turns if not is_counted(turn)]
        conversation = without_superseded(conversation)
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
        self.stage = Stage(
            replace(conversation, file_changes=[]), self.material.nesting, only_traces=only_traces(conversation)
        )
        self.material.missing.superseded = superseded_words(superseded) if superseded else ""
        self.before = turns_before(conversation)
        placed = in_reading_order(conversation)
        self.branches = {each.turn.index: each.branches for each in placed}
        self.sizes = sizes_of(placed)

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
            lines += [f"  - overruled: {plain(words, 1000)}" for words in trace.overruled]
        yield "\n".join(lines)

    # --- turns -------------------------------------------------------------------------------------------------------

    def _turns(self) -> Iterator[str]:
        """The turns as they are read, each branch as a quotation where it leaves."""
        branch: list[str] = []
        last = 0
        for depth, block in self._blocks_of_turns():
            if not depth:
                yield "\n".join(branch)
                branch = []
                yield block
            elif block:
                for _ in range(depth):
                    block = quoted(block)
                branch += [" ".join(">" * min(depth, last)), block] if branch else [block]
            last = depth
        yield "\n".join(branch)

    def _blocks_of_turns(self) -> Iterator[tuple[int, str]]:
        """Messages in the order in which they are read, with heads and feet of turns around them, and their depth."""
        begun: set[int] = set()
        current: Turn | None = None
        speaker = ""
        branches: tuple[Branch, ...] = ()

        def placed(blocks: Iterable[str]) -> Iterator[tuple[int, str]]:
            return ((len(branches), block) for block in blocks)

        for number in self.material.nesting.top:
            message = self.conversation.messages[number]
            turn = self.turns.get(message.turn) if message.turn is not None else None
            if turn is not current:
                if current is not None:
                    yield from placed(self._foot(current))
                above, branches = branches, self.branches[turn.index] if turn is not None else ()
                yield from self._branch_heads(above, branches)
                yield from placed(self._head(turn) if turn and turn.index not in begun else self._again(turn))
                begun |= {turn.index} if turn else set()
                current, speaker = turn, ""
            blocks = list(self.writer.message(number))
            speaks = self._speaker(message)
            if blocks and speaks and speaks != speaker:
                yield from placed([f"### {speaks}"])
                speaker = speaks
            yield from placed(blocks)
        if current is not None:
            yield from placed(self._foot(current))
        for turn in self.conversation.turns:
            if turn.index not in begun:
                yield from ((0, block) for block in (*self._head(turn), *self._foot(turn)))

    def _branch_heads(self, above: Sequence[Branch], branches: Sequence[Branch]) -> Iterator[tuple[int, str]]:
        shared = shared_depth(above, branches)
        for depth, branch in enumerate(branches[shared:], shared + 1):
            yield depth, f"## {branch_title(branch)}"
            yield depth, f"*{counted(self.sizes[branch_key(branch)], 'turn')}, in* {span(branch.trace, 1000)}"

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

    def _head(self, turn: Turn) -> Iterator[str]:
        head = turn_head(turn, self.before.get(turn.index), self.repeated, self.stage)
        yield f"## Turn {head.number}"
        facts = [head.time, head.model, head.mode, *(words for _, words in head.badges)]
        said = ", ".join(plain(fact) for fact in facts if fact)
        if said:
            yield f"*{said}*"
        if head.only_trace:
            yield f"*{plain(head.only_trace, 1000)}*"
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
        yield from note_blocks(notes_of_turn(turn, self.conversation))
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
        for file in unnamed_files(conversation):
            yield f"## Text of a file whose name is lost ({plain(file.uri, 40)})"
            yield fence(file.current or "")
        for document in conversation.documents:
            yield f"## {plain(document_words(document), 200)}"
            yield fence(document.text)
        for queued in conversation.queued:
            yield f"## Never sent ({plain(queued.type or 'queued', 40)})"
            yield from writer.parts(queued.message, -1)
        draft = conversation.draft
        if draft is not None and (draft.text.strip() or draft.attachments):
            yield "## Draft in the input box"
            yield from writer.parts(Message(role="user", parts=[Text(text=draft.text), *draft.attachments]), -1)
