"""Facts: what is known of a run beforehand, and what became of each in the comparison."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from conformance.scenario import Gap, Turn
from conformance.served import Served

How = Literal["equal", "holds", "between"]
Verdict = Literal["equal", "different", "not recorded"]


class Fact(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Something that must be read from what the program wrote.

    `where` is the session's name, then the turn's number from 1, then the id of a call or the number of a text:
    "main", "main/2", "main/2/call_WALK_0_1". `how` is the way to compare: the same value, a text that holds the
    expected one, or a number between two.
    """

    kind: str
    where: str
    expected: Any
    how: How = "equal"

    @property
    def key(self) -> tuple[str, str]:
        """What a fact and an observation have in common."""
        return self.kind, self.where


class Asked(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A prompt as the driver gave it to the program: one turn."""

    session: str
    text: str
    model: str
    scripts: list[str]  # that the prompt names; several where prompts were joined
    turn: Turn = msgspec.field(default_factory=Turn)
    requests: list[int] | None = (
        None  # numbers of its requests, where its scripts do not tell them: a prompt sent twice
    )
    own: list[int] = []  # numbers of requests that the program made for itself because of it, such as for a title
    began_at: datetime | None = None
    ended_at: datetime | None = None


class Performed(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a driver did: all that `truth` needs beside the scenario."""

    scenario: str
    program: str
    version: str
    workspace: str  # path
    home: str  # path of the folder that copilog is given
    sessions: dict[str, str] = {}  # name -> id
    asked: list[Asked] = []
    served: list[Served] = []
    day_offsets: dict[str, int] = {}  # script -> days before today on which the program believed to run


class Truth(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The facts of a run, with what is needed to look for them. Recorded traces have it beside them."""

    scenario: str
    program: str
    version: str
    sessions: dict[str, str]  # name -> id
    turns: dict[str, list[list[str]]]  # session -> the texts by which each turn is recognized, in order
    facts: list[Fact]
    gaps: list[Gap] = []
    alone: dict[str, str] = {}  # files that are also read by themselves: name -> shell pattern


class Compared(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A fact, what was read instead of it, and the reason if the program does not record it."""

    fact: Fact
    verdict: Verdict
    observed: Any = None
    reason: str | None = None
