"""Convert trees of spans to conversations and turns, without the turns that were replaced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from copilog.derive import add_title
from copilog.derive.helper_usage import HELPERS_ONLY
from copilog.diagnostics import Ledger
from copilog.fields import Json
from copilog.model import Conversation, HelperDocument, Usage, Workspace
from copilog.sources.base import Found, provenance_of
from copilog.sources.extension.genai_messages import decode_cut
from copilog.sources.extension.span_messages import TreeMessages
from copilog.sources.extension.span_trees import Outline, Tree, mark_left_out, outlines_of, trees_of
from copilog.sources.extension.span_turns import TurnMaker
from copilog.sources.extension.spans import AGENT, Span, UserPrompt, prompts_of_spans, take_skills


class Session:
    """The trees of one session."""

    def __init__(self, native_id: str) -> None:
        self.id = native_id
        self.trees: list[Tree] = []
        self.loose: list[UserPrompt] = []  # prompts whose span is missing

    @property
    def namespace(self) -> str:
        for tree in self.trees:
            top = tree.top
            agent = top.text("gen_ai.agent.name") if top is not None and top.operation == AGENT else None
            service = top.service if top is not None else tree.spans[0].service
            found = NAMESPACES.get((agent or "").lower()) or NAMESPACES.get((service or "").lower())
            if found is not None:
                return found
        return "vscode"


def sessions_of(spans: list[Span]) -> dict[str, Session]:
    """Return spans by session. Spans without a session are grouped by trace, and calls of helpers by day."""
    trees, _ = trees_of(spans, prompts_of_spans(spans))
    by_trace: dict[str | None, str] = {}
    for tree in trees:
        if tree.session is not None:
            by_trace.setdefault(tree.spans[0].trace_id, tree.session)
    sessions: dict[str, Session] = {}
    for tree in trees:
        trace_id = tree.spans[0].trace_id
        native_id = tree.session or by_trace.get(trace_id) or _id_without_session(tree)
        sessions.setdefault(native_id, Session(native_id)).trees.append(tree)
    return sessions


def _id_without_session(tree: Tree) -> str:
    """Return the id of the session that is made for a tree without one."""
    if tree.label is not None and tree.started_at is not None:
        return f"{HELPERS_ONLY}-{tree.started_at.date().isoformat()}"
    return f"trace-{tree.spans[0].trace_id or tree.key}"


def conversation_of(session: Session, ledger: Ledger, source: str, mark: str) -> Conversation:
    """Return the conversation of a session's spans. Uses them up."""
    made = Conversation(id=f"{session.namespace}:{session.id}", native_id=session.id, source=source, marks=[mark])
    made.workspace = _workspace_of(session)
    made.location = next((text for span in _spans(session) if (text := span.text("copilot_chat.location"))), None)
    for span in _spans(session):
        add_title(made, span.take_text("copilog.title"), "custom")
    skills = take_skills(_spans(session))
    helpers = [tree for tree in session.trees if tree.label is not None]
    maker = TurnMaker(ledger, source)
    for outline in outlines_of([tree for tree in session.trees if tree.label is None], session.loose):
        _add_turn(made, outline, maker)
    maker.add_late_results(made.messages)
    mark_left_out(maker.asked)
    extra: Json = {}
    made.documents = [*(_helper(tree, ledger, source, made.usage) for tree in helpers), *skills]
    if maker.tool_definitions:
        extra["tools"] = [_decoded(text) for text in maker.tool_definitions]
    made.extra = extra or None
    begun = [turn.timing.started_at for turn in made.turns if turn.timing.started_at is not None]
    ended = [turn.timing.completed_at for turn in made.turns if turn.timing.completed_at is not None]
    if helpers and not made.turns:
        made.marks.append(HELPERS_ONLY)
        begun = [tree.started_at for tree in helpers if tree.started_at is not None]
        ended = [tree.ended_at for tree in helpers if tree.ended_at is not None]
    made.started_at, made.updated_at = min(begun, default=None), max(ended or begun, default=None)
    return made


def _add_turn(made: Conversation, outline: Outline, maker: TurnMaker) -> None:
    for turn, messages in maker.make(outline, len(made.turns)):
        made.turns.append(turn)
        made.messages += messages


def _helper(tree: Tree, ledger: Ledger, source: str, usages: list[Usage]) -> HelperDocument:
    """Return a call of a model that serves the product: its cost counts, its text is not part of the conversation."""
    reading = TreeMessages(tree, ledger, source)
    for usage in reading.usages:
        usage.extra = {**(usage.extra or {}), "helper": tree.label}
        usages.append(usage)
    asked = dict.fromkeys([*reading.system_prompts, *(prompt.text for prompt in tree.asked), *reading.sent])
    said = [used.text for used in reading.rounds if used.text]
    return HelperDocument(title=tree.label, text="\n\n".join([*asked, *said]))


def _spans(session: Session) -> list[Span]:
    return [span for tree in session.trees for span in tree.spans]


def _workspace_of(session: Session) -> Workspace | None:
    workspace = Workspace()
    for span in _spans(session):
        for name, keys in REPOSITORY.items():
            value = span.text(*keys)
            if value is not None and getattr(workspace, name) is None:
                setattr(workspace, name, value)
    return workspace if workspace != Workspace() else None


def _decoded(text: str) -> Any:
    value, is_cut = decode_cut(text)
    return text if is_cut or value is None else value


# The common steps of all sources of spans: find the sessions in a file, and return all of them or one.


MARK = "trace"


def stubs_from(spans: list[Span], found: Found) -> Iterator[Conversation]:
    """Yield one stub for each session, which is in this very file."""
    for session in sessions_of(spans).values():
        begun = [tree.started_at for tree in session.trees if tree.started_at is not None]
        ended = [tree.ended_at for tree in session.trees if tree.ended_at is not None]
        stub = Conversation(
            id=f"{session.namespace}:{session.id}",
            native_id=session.id,
            source=found.source,
            marks=["stub", "inside"],
            started_at=min(begun, default=None),
            updated_at=max(ended, default=None),
        )
        yield _with_provenance(stub, session, found, "index")


def conversations_from(spans: list[Span], found: Found, ledger: Ledger) -> Iterator[Conversation]:
    """Yield the conversations of all sessions; with a `native_id` only that one. Uses the spans up."""
    for session in sessions_of(spans).values():
        if found.native_id in (None, session.id):
            yield _with_provenance(conversation_of(session, ledger, found.source, MARK), session, found, "lead")


def _with_provenance(made: Conversation, session: Session, found: Found, role: str) -> Conversation:
    made.application = found.application
    made.provenance = [provenance_of(found, role=role, row=session.id)]
    return made


# Conversations from spans: one for each session, from all its trees.


# The program that made a span, by the name of its service or of its agent; otherwise the extension itself.
NAMESPACES = {"github-copilot": "cli", "copilotcli": "cli", "claude-code": "claude", "claude": "claude"}
REPOSITORY = {
    "folder": ("copilog.workspace",),
    "repository": ("github.copilot.git.repository", "copilot_chat.repo.remote_url"),
    "branch": ("github.copilot.git.branch", "copilot_chat.repo.head_branch_name"),
    "commit": ("github.copilot.git.commit_sha", "copilot_chat.repo.head_commit_hash"),
}
