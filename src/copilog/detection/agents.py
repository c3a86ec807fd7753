"""The custom agent of a turn: from the mode's instructions in the prompt, or from the user's @mention."""

from __future__ import annotations

import re

from copilog import tags
from copilog.definitions import Definition
from copilog.detection.definition_index import BUILT_IN, DefinitionIndex, uri_of
from copilog.detection.evidence import Clues
from copilog.model import Agent, CustomAgent, Turn

COPILOT = ("github.copilot", "setup.", "copilot")

_BLOCK = re.compile(r"<(modeInstructions|customInstructions)>(.*?)(?:</\1>|\Z)", re.DOTALL)


def custom_agent_of(turn: Turn, clues: Clues | None, known: DefinitionIndex) -> CustomAgent | None:
    """Return the agent of a turn whose record names none."""
    if turn.mode is not None and turn.mode.is_builtin:
        return _from_mention(turn, clues, known) if clues else None
    for prompt in clues.prompts if clues else ():
        if prompt.is_main and (agent := _from_prompt(prompt.text, known)):
            return agent
    if turn.mode is not None and turn.mode.name and turn.mode.evidence == "prompt text":
        return _named(turn.mode.name, None, "prompt text", known)
    return _from_mention(turn, clues, known) if clues else None


def _from_prompt(text: str, known: DefinitionIndex) -> CustomAgent | None:
    has_block = "<modeInstructions>" in text or "<customInstructions>" in text
    found = _BLOCK.search(text) if has_block else None
    if found is None:
        return None
    tag, body = found[1], found[2].strip()
    name = tags.mode_name(found[0])
    if name is not None:
        return _named(name, body.partition("\n\n")[2].strip() or None, tag, known)
    match = known.agent_with_text(body)
    if match is None:
        return CustomAgent(instructions=body, evidence=tag) if body else None
    definition, is_same = match
    relation = "the text of" if is_same else "holding the text of"
    return _agent(definition.name, body, f"{tag}, {relation} {definition.path}", definition)


def _named(name: str, instructions: str | None, evidence: str, known: DefinitionIndex) -> CustomAgent | None:
    definition = known.agents.get(name.casefold())
    if definition is None:
        return None if name.casefold() in BUILT_IN else _agent(name, instructions, evidence, None)
    return _agent(name, instructions, f"{evidence}, defined in {definition.path}", definition)


def _agent(name: str, instructions: str | None, evidence: str, definition: Definition | None) -> CustomAgent:
    uri = uri_of(definition.path) if definition is not None else None
    return CustomAgent(name=name, uri=uri, instructions=instructions, evidence=evidence)


# --- mentions ---------------------------------------------------------------------------------------------------


def _from_mention(turn: Turn, clues: Clues, known: DefinitionIndex) -> CustomAgent | None:
    """Return an agent that the user mentioned with @, if there is one of that name."""
    for mention in clues.mentions:
        if mention.type != "agent":
            continue
        if mention.name.casefold() in known.agents:
            return _named(mention.name, None, "@mention", known)
        if turn.agent is not None and _is_called(turn.agent, mention.name):
            return CustomAgent(name=mention.name, evidence="@mention of a participant")
    for words in clues.words if known.agents else ():
        for name in tags.agent_mentions(words):
            definition = known.agents.get(name.casefold())
            if definition is not None and definition.name == name:  # `@Test` in pasted code is not the agent `test`
                return _named(name, None, "@mention in the text", known)
    return None


def _is_called(participant: Agent, name: str) -> bool:
    """Return whether a participant has this name and is not one of Copilot's own."""
    own = (participant.extension or participant.id).casefold().startswith(COPILOT)
    return not own and (participant.name or participant.id).casefold() == name.casefold()
