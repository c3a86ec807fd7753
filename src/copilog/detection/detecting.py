"""Detect custom agents and skills in the turns of a conversation."""

from __future__ import annotations

from collections.abc import Sequence

from copilog.definitions import Definition
from copilog.detection.agents import custom_agent_of
from copilog.detection.definition_index import DefinitionIndex
from copilog.detection.evidence import clues_of
from copilog.detection.skills import SkillIndex, skills_of
from copilog.model import Conversation


def detect(conversation: Conversation, definitions: Sequence[Definition] = ()) -> None:
    """Fill in custom agents and skills of all turns. A second call changes nothing."""
    clues = clues_of(conversation) if conversation.turns else {}
    turns = [turn for turn in conversation.turns if turn.index in clues or turn.mode is not None or turn.skills]
    if not turns:
        return
    known = DefinitionIndex(definitions)
    index = SkillIndex(known, conversation.turns, clues)
    for turn in turns:
        found = clues.get(turn.index)
        if turn.custom_agent is None:
            turn.custom_agent = custom_agent_of(turn, found, known)
        if found is not None or len(turn.skills) > 1:
            turn.skills = skills_of(turn, found, index)
