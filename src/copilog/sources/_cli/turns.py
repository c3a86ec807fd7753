"""Turns: from one prompt to the next, and how each of them went."""

from __future__ import annotations

from datetime import datetime

from copilog.model import Message, Round, Turn
from copilog.sources._cli.event import Event, ms_between, with_more


class Progress:
    """How far a turn has come."""

    __slots__ = ("has_answer", "is_open")

    def __init__(self) -> None:
        self.has_answer = False
        self.is_open = True  # the main agent has more to do


class Turns:
    """The turns of a log. Between two of them, after a session ended, there is no current one."""

    def __init__(self) -> None:
        self.all: list[Turn] = []
        self.current: Turn | None = None
        self._by_interaction: dict[str | None, Turn] = {}  # None is never in there
        self._progress: list[Progress] = []
        self._rounds: dict[str | None, Round] = {}  # the open round of each agent
        self._forgotten = 0

    def is_of(self, interaction: str | None) -> bool:
        """Whether a turn of this interaction has begun."""
        return interaction in self._by_interaction

    def begin(self, event: Event | None, interaction: str | None) -> Turn:
        turn = Turn(index=len(self.all))
        if event is not None:
            turn.request_id = event.id
            turn.pointer = f"line:{event.line}"
            turn.timing.started_at = event.at
        if interaction:
            self._adopt(turn, interaction)
        self.all.append(turn)
        self._progress.append(Progress())
        self._rounds.clear()
        self.current = turn
        return turn

    def of(self, interaction: str | None) -> Turn | None:
        """The turn that something belongs to: that of its interaction, else the current one."""
        return self._by_interaction.get(interaction, self.current)

    def index(self, interaction: str | None = None) -> int:
        """The number of the turn that something belongs to; between turns, that of the next one."""
        turn = self.of(interaction)
        return len(self.all) if turn is None else turn.index

    def answering(self, interaction: str | None, waiting: list[Message]) -> Turn:
        """The turn that the main agent is at work on.

        Without a prompt, the last turn goes on; an interaction of which nobody has heard begins a turn by itself.
        `waiting` are messages that were given to the turn to come.
        """
        turn = self._by_interaction.get(interaction)
        if turn is not None and self.current is not None:
            return turn  # as nearly always
        turn = self.of(interaction) or (self.all[-1] if self.all else None)
        if turn is not None and interaction and interaction not in self._by_interaction:
            if "interactionId" in (turn.extra or {}):
                turn = None
            else:
                self._adopt(turn, interaction)
        if turn is None:
            turn = self.begin(None, interaction)
            turn.is_system_initiated = len(self.all) > 1
        elif self.current is None:
            self.current = turn
            for message in waiting:
                if message.turn == len(self.all):
                    message.turn = turn.index
        return turn

    def _adopt(self, turn: Turn, interaction: str) -> None:
        self._by_interaction.setdefault(interaction, turn)
        turn.extra = {**(turn.extra or {}), "interactionId": interaction}

    def forget_past(self) -> None:
        """Let go of what earlier turns hold: whoever streams a log has no use for it."""
        for turn in self.all[self._forgotten : -1]:
            turn.rounds, turn.usage, turn.references, turn.skills = [], [], [], []
        self._forgotten = max(0, len(self.all) - 1)

    def pause(self) -> None:
        """The program ended or began again: what comes now belongs to the next turn."""
        self.current = None
        self._rounds.clear()

    # --- rounds -----------------------------------------------------------------------------------------------------

    def begin_round(self, turn: Turn, parent: str | None, made: Round) -> None:
        turn.rounds.append(made)
        self._rounds[parent] = made

    def round_of(self, parent: str | None) -> Round | None:
        """The round that an agent is in."""
        return self._rounds.get(parent)

    def end_round(self, parent: str | None, at: datetime | None) -> Round | None:
        ended = self._rounds.pop(parent, None)
        if ended is not None:
            elapsed_ms = ms_between(ended.started_at, at)
            if elapsed_ms is not None:
                ended.extra = with_more(ended.extra, {"elapsed_ms": elapsed_ms})
        return ended

    # --- how it went ------------------------------------------------------------------------------------------------

    def goes_on(self, turn: Turn, at: datetime | None, *, is_open: bool, has_answer: bool = False) -> None:
        """The main agent did something in a turn."""
        progress = self._progress[turn.index]
        progress.is_open = is_open
        progress.has_answer = progress.has_answer or has_answer
        timing = turn.timing
        if timing.responded_at is None:
            timing.responded_at = at
        if at is not None:
            timing.completed_at = at

    def is_answered(self, turn: Turn) -> bool:
        """Whether the main agent has said something in a turn."""
        return self._progress[turn.index].has_answer

    def is_finished(self, turn: Turn) -> bool:
        """Whether the main agent has answered and has nothing more to do: what comes now is after the turn."""
        progress = self._progress[turn.index]
        return progress.has_answer and not progress.is_open

    def recover(self, turn: Turn) -> None:
        """An answer came after an error: the turn went well after all."""
        if turn.status == "failed":
            turn.status, turn.error = None, None

    def finish(self, *, is_running: bool) -> None:
        """Say how each turn ended. `is_running`: the log has no end, so the last turn may still go on."""
        for turn, progress in zip(self.all, self._progress, strict=True):
            if turn.status is not None:
                continue
            if not progress.is_open and progress.has_answer:
                turn.status = "complete"
            elif turn is self.all[-1] and is_running:
                turn.status = "pending" if progress.has_answer or turn.rounds else "unanswered"
            else:
                turn.status = "cancelled" if progress.has_answer else "unanswered"
