"""A conversation as a terminal shows it: a head, turn by turn what was asked and answered, and what was left over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.rule import Rule
from rich.text import Text

from copilog.derive import in_reading_order, is_counted, only_traces, reason_of, without_superseded
from copilog.derive.counting import branch_name
from copilog.derive.running import status_words
from copilog.model import Branch, Conversation, FileChange, FileEdit, Message, Turn, unnamed_files
from copilog.render.answer import Answer, is_event
from copilog.render.branches import (
    branch_key,
    branch_title,
    only_trace_words,
    shared_depth,
    sizes_of,
    superseded_words,
)
from copilog.render.changes import change_blocks
from copilog.render.footer import footer_blocks
from copilog.render.header import header_lines
from copilog.render.layout import INDENT, Block, Indented, Scene, TextOptions, stacked
from copilog.render.request import edited_blocks, request_blocks
from copilog.render.safe import clean, clean_line
from copilog.render.words import counted, document_words, moment_words, path_words

__all__ = ["TextOptions", "render_conversation"]


def render_conversation(conversation: Conversation, options: TextOptions) -> Iterator[RenderableType]:
    """The conversation piece by piece, each ready to be printed."""
    workspace = conversation.workspace
    scene = Scene(
        options,
        folder=workspace.folder if workspace is not None else None,
        assistant=clean_line(conversation.assistant or "", 80) or "Assistant",
    )
    yield from header_lines(conversation, scene)
    yield from _turns(conversation, scene)
    if options.turns is None:
        yield from _outside(conversation, scene)
        yield from _waiting(conversation, scene)


def _turns(conversation: Conversation, scene: Scene) -> Iterator[RenderableType]:
    """The turns that are wanted, each branch where it leaves, a step further to the right."""
    options = scene.options
    first, last = options.turns or (1, len(conversation.turns))
    placed = in_reading_order(conversation)
    wanted = [each for each in placed if first <= each.turn.index + 1 <= last]
    shown = [each for each in wanted if options.superseded or is_counted(each.turn)]
    if wanted and not shown:
        words = superseded_words([each.turn for each in wanted])
        yield Text()
        yield Text(f"{words}; --superseded shows {'it' if len(wanted) == 1 else 'them'}", "dim")
    messages = _by_turn(conversation)
    alone = only_traces(conversation)
    sizes = sizes_of(each for each in placed if options.superseded or is_counted(each.turn))
    above: Sequence[Branch] = ()
    for turn, branches in shown:
        yield from _branch_lines(above, branches, sizes, scene)
        above = branches
        pieces = _turn(conversation, turn, messages.get(turn.index, []), only_trace_words(turn, alone), scene)
        yield from _moved((Text(), *pieces), len(branches))
    yield from _branch_lines(above, (), sizes, scene)


def _branch_lines(
    above: Sequence[Branch], branches: Sequence[Branch], sizes: Counter[tuple[int | None, str]], scene: Scene
) -> Iterator[RenderableType]:
    """Where branches end, and where others begin."""
    shared = shared_depth(above, branches)
    for depth in range(len(above), shared, -1):
        yield from _moved((Text(), Text(f"End of the {branch_name(above[depth - 1])}", "cyan dim")), depth)
    for depth, branch in enumerate(branches[shared:], shared + 1):
        line = Text(branch_title(branch), "bold cyan")
        size = sizes[branch_key(branch)]
        line.append(f" · {counted(size, 'turn')} · {clean_line(branch.trace)}", "not bold dim")
        yield from _moved((Text(), _heading(line, scene)), depth)


def _moved(pieces: Iterable[RenderableType], depth: int) -> Iterator[RenderableType]:
    for piece in pieces:
        yield Indented(piece, INDENT * depth) if depth else piece


def _by_turn(conversation: Conversation) -> dict[int | None, list[Message]]:
    messages: dict[int | None, list[Message]] = {}
    for message in conversation.messages:
        messages.setdefault(message.turn, []).append(message)
    return messages


def _asked_and_answered(messages: list[Message]) -> tuple[list[Message], list[Message]]:
    """What was said before the first answer, and all else: answers, and events such as hooks and model changes."""
    asked: list[Message] = []
    others: list[Message] = []
    for message in messages:
        has_answer = any(other.role != "system" for other in others)
        speaks = message.role in ("user", "system") and not message.parent_call_id and not is_event(message)
        (asked if speaks and not has_answer else others).append(message)
    return asked, others


def _heading(words: Text, scene: Scene) -> RenderableType:
    """A line over the page on a terminal; elsewhere just the words."""
    if scene.options.markdown:
        return Rule(words, align="left", style="dim")
    return words


# --- one turn ---------------------------------------------------------------------------------------------------


def _turn(
    conversation: Conversation, turn: Turn, messages: list[Message], only_trace: str, scene: Scene
) -> Iterator[RenderableType]:
    yield _heading(_turn_title(turn, len(conversation.turns)), scene)
    if only_trace:
        yield Text(only_trace, "dim")
    yield Text(_speaker(turn), "bold green")
    asked, answered = _asked_and_answered(messages)
    yield from stacked(_asked(asked, turn, scene))
    blocks = list(Answer(answered, scene, turn.undone_from).blocks(1))
    if blocks:
        yield Text()
        yield Text(scene.assistant, "bold magenta")
        yield from stacked(blocks)
    for section in (_changes(conversation, turn, answered, scene), footer_blocks(turn, conversation, scene, 1)):
        blocks = list(section)
        if blocks:
            yield Text()
            yield from stacked(blocks)


def _turn_title(turn: Turn, number_of_turns: int) -> Text:
    title = Text(f"Turn {turn.index + 1} of {number_of_turns}", "bold")
    if turn.timing.started_at is not None:
        title.append(f" · {moment_words(turn.timing.started_at)}", "not bold dim")
    if turn.superseded:
        title.append(f" · {clean_line(reason_of(turn), 80)}, no longer counts", "not bold yellow")
    elif turn.is_undone:
        title.append(" · undone", "not bold yellow")
    elif turn.undone_from is not None:
        title.append(" · partly undone", "not bold yellow")
    if turn.status not in (None, "complete"):
        title.append(f" · {status_words(turn)}", "not bold yellow")
    if turn.is_hidden and not turn.superseded:
        title.append(" · hidden in VS Code", "not bold dim")
    return title


def _speaker(turn: Turn) -> str:
    if turn.is_system_initiated:
        return clean_line(turn.system_label or "", 80) or "The system"
    return "You (hidden in VS Code)" if turn.is_request_hidden else "You"


def _asked(messages: list[Message], turn: Turn, scene: Scene) -> Iterator[Block]:
    blocks: list[Block] = []
    for message in messages:
        blocks += request_blocks(message, scene, 1)
    if turn.confirmation:
        blocks.append(Block(Text(f"pressed [{clean_line(turn.confirmation, 100)}]", "cyan"), 1))
    yield from edited_blocks(turn.edited_files, scene, 1)
    yield from blocks or [Block(Text("(no words)", "dim"), 1)]


def _changes(conversation: Conversation, turn: Turn, messages: list[Message], scene: Scene) -> Iterator[Block]:
    """What the editing history says beyond the answer: sums for each file, and diffs where the answer shows none."""
    changes = [change for change in conversation.file_changes if change.turn == turn.index]
    changes = [change for change in changes if change.checkpoint is None] or changes
    parts = [part for message in messages for part in message.parts if isinstance(part, FileEdit)]
    edited = {uri for part in parts for uri in (part.uri, part.new_uri)}
    told = {part.uri for part in parts if part.diff}
    untold = [
        change
        for change in changes
        if change.uri not in told and (change.uri not in edited or change.added or change.removed or scene.options.full)
    ]
    if untold:
        yield Block(Text("file changes of this turn", "dim italic"), 1)
    for change in untold:
        yield from change_blocks(change, scene, 1, with_diff=scene.options.full or change.uri not in edited)


# --- what belongs to no turn ------------------------------------------------------------------------------------


def _outside(conversation: Conversation, scene: Scene) -> Iterator[RenderableType]:
    """Messages and changes of no turn: of a conversation whose beginning, or whole text, is lost."""
    if not scene.options.superseded:
        conversation = without_superseded(conversation)
    known = {turn.index for turn in conversation.turns}
    messages = [message for message in conversation.messages if message.turn not in known]
    changes = [change for change in conversation.file_changes if change.turn not in known]
    if messages:
        yield Text()
        yield _heading(Text("Outside of the turns", "bold"), scene)
        yield from stacked(Answer(messages, scene).blocks(1))
    if changes:
        yield Text()
        yield _heading(Text("File changes of requests that are not here", "bold"), scene)
        yield from stacked(_stray_changes(changes, scene))
    if conversation.files:
        yield Text()
        yield _heading(Text("Files", "bold"), scene)
        for file in conversation.files:
            line = Text(f"  {path_words(file.path or file.uri, scene.folder)}")
            words = [file.decision or "", "deleted" if file.is_deleted else ""]
            yield line.append("  " + " ".join(word for word in words if word), "dim")
    for file in unnamed_files(conversation):
        yield Text()
        yield _heading(Text(f"Text of a file whose name is lost · {file.uri}", "bold"), scene)
        yield Text(clean(file.current or ""))


def _stray_changes(changes: list[FileChange], scene: Scene) -> Iterator[Block]:
    whole = [change for change in changes if change.checkpoint is None] or changes
    for change in whole:
        yield from change_blocks(change, scene, 1, with_diff=True)


def _waiting(conversation: Conversation, scene: Scene) -> Iterator[RenderableType]:
    """Plans, memories and other texts of the whole, prompts that were never sent, and what is in the input box."""
    for document in conversation.documents:
        yield Text()
        yield _heading(Text(document_words(document), "bold"), scene)
        yield from stacked([Block(Text(clean(document.text).strip()), 1, is_prose=True)])
    for queued in conversation.queued:
        yield Text()
        kind = clean_line(queued.type or "queued", 40)
        yield _heading(Text(f"Never sent · {kind}", "bold yellow"), scene)
        yield from stacked(request_blocks(queued.message, scene, 1))
    draft = conversation.draft
    if draft is None or not (draft.text.strip() or draft.attachments):
        return
    yield Text()
    yield _heading(Text("Draft in the input box", "bold yellow"), scene)
    blocks = [Block(Text(clean(draft.text).strip()), 1, is_prose=True)] if draft.text.strip() else []
    blocks += request_blocks(Message(role="user", parts=draft.attachments), scene, 1)
    yield from stacked(blocks)
