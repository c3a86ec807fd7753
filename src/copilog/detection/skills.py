"""The skills of a turn: offered in an index, loaded by a tool or by the user."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from copilog import tags
from copilog.detection.definition_index import DefinitionIndex, address_of, plain_path
from copilog.detection.evidence import Clues
from copilog.model import Skill, Turn
from copilog.text_cache import cached_by_text

SKILL_FILE = "/skill.md"

# Folders whose folders are skills, wherever they are.
_SHELF = re.compile(
    r"(?:^|.*/)(?:\.(?:github|claude|agents|copilot)/skills|copilot-skill:)/([^/]+)/.", re.IGNORECASE | re.DOTALL
)


class SkillIndex:
    """The skills that a conversation or a workspace defines: by file, and by name."""

    def __init__(self, known: DefinitionIndex, turns: list[Turn], clues: dict[int, Clues]) -> None:
        self._prompts = known.prompts
        self._by_file: dict[str, Skill] = {}
        self._by_name: dict[str, Skill] = {}
        self._offers: dict[str, list[Skill]] = {}
        for found in clues.values():
            for text in (*(prompt.text for prompt in found.prompts), *found.indexes):
                self._add(self.offers_in(text))
        for turn in turns:
            self._add(turn.skills)
        self._add(
            Skill(name=made.name, file=made.path, description=made.description) for made in known.skill_files.values()
        )
        for found in clues.values():
            self._add(Skill(name=name) for name in (*found.asked_skills, *found.given_skills))
            self._add(filter(None, map(self.loaded_from, (*found.read_files, *found.prompt_files))))
        for found in clues.values():
            self._add(filter(None, map(self.resource_at, found.read_files)))

    def _add(self, skills: Iterable[Skill]) -> None:
        """Add a skill. Of two with one name the first counts, and the second supplies its missing fields."""
        for skill in skills:
            key = skill.name.casefold()
            self._by_name[key] = joined(self._by_name[key], skill) if key in self._by_name else skill
            if skill.file:
                self._by_file.setdefault(address_of(skill.file), skill)

    def offers_in(self, text: str) -> list[Skill]:
        """Return the skills that a text offers. The same prompt is in many turns, so it is parsed once."""
        if "<skills>" not in text:
            return []
        if text not in self._offers:
            self._offers[text] = [
                Skill(name=name, file=offer.file, description=offer.description)
                for offer in tags.offered(text)
                if offer.kind == "skill" and (name := offer.name or folder_of(offer.file or ""))
            ]
        return self._offers[text]

    def named(self, name: str) -> Skill:
        """Return the skill of this name, with its definition."""
        return self._by_name.get(name.casefold()) or Skill(name=name)

    def is_command(self, name: str) -> bool:
        """Return whether a slash command of this name is a skill."""
        return name.casefold() in self._by_name and name.casefold() not in self._prompts

    def loaded_from(self, path: str) -> Skill | None:
        """Return the skill of a file."""
        address = address_of(path)
        if not f"/{address}".endswith(SKILL_FILE):
            return None
        known = self._by_file.get(address)
        if known is not None:
            return replace(known, file=path)
        name = folder_of(path)
        return Skill(name=name, file=path) if name else None

    def resource_at(self, path: str) -> Skill | None:
        """Return the skill whose folder contains a file."""
        folder = address_of(path)
        if f"/{folder}".endswith(SKILL_FILE):
            return None
        while self._by_file and "/" in folder:
            folder = folder.rpartition("/")[0]
            if known := self._by_file.get(folder + SKILL_FILE):
                return known
        name = _name_by_folder(path)
        return Skill(name=name) if name else None


@cached_by_text(2048)
def _name_by_folder(path: str) -> str | None:
    """Return the skill of a file by the name of its folder alone."""
    shelf = _SHELF.match(plain_path(path))
    return shelf[1] if shelf else None


def skills_of(turn: Turn, clues: Clues | None, index: SkillIndex) -> list[Skill]:
    """Return the turn's skills, each once: first the recorded ones, then the detected ones."""
    merged: dict[str, Skill] = {}
    for skill in (*turn.skills, *(_detected_skills(clues, index) if clues else ())):
        key = skill.name.casefold()
        merged[key] = joined(merged[key], skill) if key in merged else skill
    return list(merged.values())


def _detected_skills(clues: Clues, index: SkillIndex) -> Iterator[Skill]:
    offered = [(skill, "prompt index") for prompt in clues.prompts for skill in index.offers_in(prompt.text)]
    offered += [(skill, "attached index") for text in clues.indexes for skill in index.offers_in(text)]
    loaded = [(index.named(name), "tool call") for name in clues.asked_skills]
    loaded += [(index.named(name), "skill-context") for name in clues.given_skills]
    for path in clues.read_files:
        if skill := index.loaded_from(path):
            loaded.append((skill, "SKILL.md read"))
        elif skill := index.resource_at(path):
            offered.append((skill, "skill resource"))
    for path in clues.prompt_files:
        if skill := index.loaded_from(path):
            loaded.append((skill, "slash command"))
    for mention in clues.mentions:
        if mention.type == "prompt" and index.is_command(mention.name):
            loaded.append((index.named(mention.name), "slash command"))
    for skill, evidence in offered:
        yield replace(skill, is_loaded=False, evidence=evidence)
    for skill, evidence in loaded:
        yield replace(skill, is_loaded=True, evidence=evidence)


def joined(first: Skill, second: Skill) -> Skill:
    """Merge two records of a skill: the fields of the first have priority, and loaded has priority over offered."""
    evidence = dict.fromkeys(filter(None, (*first.evidence.split("; "), *second.evidence.split("; "))))
    return Skill(
        name=first.name,
        file=first.file or second.file,
        description=first.description or second.description,
        is_loaded=first.is_loaded or second.is_loaded,
        evidence="; ".join(evidence),
    )


def folder_of(path: str) -> str | None:
    """Return the name of the folder that contains a file."""
    folders = plain_path(path).split("/")[:-1]
    return next((folder for folder in reversed(folders) if folder and not folder.endswith(":")), None)
