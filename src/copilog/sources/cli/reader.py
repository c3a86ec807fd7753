"""The state of a log at one point, and the messages that its events have become."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from copilog.diagnostics import Diagnostic, Ledger
from copilog.fields import Json
from copilog.intake.file_notes import FileNotes
from copilog.model import AnyPart, CustomAgent, Message, Mode, Relation, Role, Skill, Thinking, Turn, Workspace
from copilog.sources.cli.attachments import Assets
from copilog.sources.cli.companions import Companions
from copilog.sources.cli.confirmations import PendingParts
from copilog.sources.cli.event import Event
from copilog.sources.cli.streamed import Deltas
from copilog.sources.cli.tool_calls import Calls
from copilog.sources.cli.turns import Agents, Models, Turns
from copilog.sources.cli.usage import Meter

# The state at one point of a log, and the destination of the messages made from its events.


class Facts:
    """What a log records about the session itself."""

    def __init__(self) -> None:
        self.session_id: str | None = None
        self.first_event: Event | None = None
        self.started_at: datetime | None = None
        self.header_at: datetime | None = None  # when the first event was written
        self.first_at: datetime | None = None
        self.last_at: datetime | None = None
        self.title: str | None = None
        self.workspace: Workspace | None = None
        self.header: Json = {}  # fields of the first event
        self.relations: list[Relation] = []
        self.is_detached = False
        self.is_stream = False  # captured from the program's output
        self.is_damaged = False  # a record was lost
        self.is_ended = False  # the program ended by itself, and was not started again


class Reader:
    """The state while one log is read: takes its events in order, and holds the messages that are not complete yet."""

    def __init__(self, path: Path, ledger: Ledger, companions: Companions) -> None:
        self.path = path
        self.ledger = ledger
        self.remarks = FileNotes(ledger)
        self.facts = Facts()
        self.turns = Turns()
        self.calls = Calls()
        self.agents = Agents()
        self.models = Models()
        self.meter = Meter()
        self.asks = PendingParts()
        self.deltas = Deltas()
        self.assets = Assets(path)
        self.checkpoints = companions.checkpoints
        self.client = companions.client
        self.mode: Mode | None = None  # how the session runs at this point
        self.custom_agent: CustomAgent | None = None  # the custom agent that the main agent runs as
        self.compaction_began_at: datetime | None = None
        self.offered_skills: list[Skill] = []  # for the next turn
        self.skill_texts: dict[str, str] = {}  # by the id that later events name
        self.last_thinking: dict[str | None, Thinking] = {}  # of each agent, as its last message has it
        self.said_reasoning: dict[str | None, Message] = {}  # of each agent, as an event of its own
        self.sent: set[str] = set()  # texts of messages that were sent to the model, where the log has those
        self._waiting: list[Message] = []

    # --- messages ---------------------------------------------------------------------------------------------------

    def add(
        self,
        event: Event,
        role: Role,
        parts: list[AnyPart],
        *,
        interaction: str | None = None,
        parent: str | None = None,
        extra: Json | None = None,
        turn: Turn | None = None,
    ) -> Message:
        """Add a message, to the turn of its interaction unless another is given."""
        if turn is None:
            turn = self.turns.of(interaction)
        message = Message(
            role=role,
            parts=parts,
            turn=len(self.turns.all) if turn is None else turn.index,
            id=event.id,
            created_at=event.at,
            parent_call_id=parent,
            extra=extra,
        )
        self._waiting.append(message)
        return message

    def withdraw(self, message: Message) -> None:
        """Remove a message, unless it was yielded already."""
        self._waiting = [other for other in self._waiting if other is not message]

    def begin_turn(self, event: Event, interaction: str | None) -> Turn:
        """Begin a new turn with a prompt. What the last turn left open remains open."""
        self.cut_off()
        self.last_thinking.clear()
        self.said_reasoning.clear()
        turn = self.turns.begin(event, interaction)
        turn.mode = self.mode
        turn.custom_agent = self.custom_agent
        turn.model = self.models.for_turn()
        turn.skills, self.offered_skills = self.offered_skills, []
        self.facts.is_ended = False
        return turn

    def answering(self, interaction: str | None) -> Turn:
        """Return the turn that the assistant works on."""
        turn = self.turns.answering(interaction, self._waiting)
        if turn.model is None:
            turn.model = self.models.for_turn()
        self.facts.is_ended = False
        return turn

    def take_interaction(self, event: Event, parent: str | None) -> str | None:
        """Take the interaction of a message. Sub-agents have their own interactions, which begin no turn."""
        if parent is not None:
            return self.started_interaction(event)
        interaction = event.data.get("interactionId")
        if not isinstance(interaction, str) or not interaction:
            return None
        del event.data["interactionId"]
        return interaction

    def started_interaction(self, event: Event) -> str | None:
        """Return the interaction of an event if a turn of it has begun; any other stays in the data."""
        data = event.data
        interaction = data.get("interactionId")
        if not isinstance(interaction, str) or not self.turns.is_of(interaction):
            return None
        del data["interactionId"]
        return interaction

    def cut_off(self) -> None:
        """Close everything that is running, as the program or the user continued without it."""
        self.calls.interrupt()
        self.deltas.give_up(self)

    def ready(self, *, at_turn_end: bool) -> list[Message]:
        """Return the messages that can be yielded. Within a turn, these are all, or none while something is running."""
        if not at_turn_end and (self.asks.is_waiting or self.deltas.waiting or self.calls.has_running()):
            return []
        if self.turns.current is None and not at_turn_end:
            return []  # they wait until a next turn is certain
        ready, self._waiting = self._waiting, []
        if at_turn_end:
            self.asks.stop_waiting()
        self.agents.settle(ready)
        self.calls.drop_ended()
        return ready

    def ready_before_turn(self) -> list[Message]:
        """Return the messages of the turns before the one that has just begun."""
        begun = self.turns.all[-1].index
        later = [message for message in self._waiting if message.turn == begun]
        self._waiting = [message for message in self._waiting if message.turn != begun]
        ready = self.ready(at_turn_end=True)
        self._waiting = later
        return ready

    def drop_past(self) -> None:
        """Drop what was yielded, as streaming a log does not need it."""
        self.turns.drop_past()
        self.meter.drop_past()

    def finish(self) -> list[Message]:
        """Finish the log, and return the remaining messages."""
        self.deltas.give_up(self)
        self.turns.finish(is_running=not self.facts.is_ended)
        for message in self._waiting:
            if message.turn == len(self.turns.all):
                message.turn = self.turns.all[-1].index if self.turns.all else None
        self.remarks.close()
        return self.ready(at_turn_end=True)

    # --- the ledger -------------------------------------------------------------------------------------------------

    def count_parts(self, items: list[Any], event: Event, pointer: str) -> list[tuple[int, Json]]:
        """Count the pieces of a list, and return those that are objects with their positions."""
        tally = self.ledger.parts
        made = [(position, item) for position, item in enumerate(items) if isinstance(item, dict)]
        tally.seen += len(items)
        tally.used += len(made)
        if len(made) < len(items):
            for position, item in enumerate(items):
                if not isinstance(item, dict):
                    self.refuse_part(event, f"{type(item).__name__} instead of an object", f"{pointer}/{position}")
        return made

    def refuse_part(self, event: Event, reason: str, pointer: str) -> None:
        """Count a part that was counted as seen as bad."""
        self.ledger.parts.bad.append(
            Diagnostic("bad-part", self.ledger.path, reason, "error", line=event.line, pointer=pointer)
        )
