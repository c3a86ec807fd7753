"""Compare the definitions of this machine with what was used: by name, without regard to case."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec.structs import replace

from copilog.analysis.figures import DefinedRow
from copilog.analysis.name_keys import in_order
from copilog.definitions import Definition
from copilog.detection.definition_index import AGENT_KINDS, BUILT_IN
from copilog.store.schema import UNNAMED

AGENTS = AGENT_KINDS
SKILLS = ("skill",)


class DefinedInPart(list[Definition]):
    """The definitions of named folders alone: other names may be defined elsewhere."""


class Defined:
    """The definitions of some kinds. Without a list, or with one of a part, nothing is reported as missing."""

    def __init__(self, definitions: Sequence[Definition] | None, kinds: Collection[str]) -> None:
        self.is_whole = definitions is not None and not isinstance(definitions, DefinedInPart)
        self.definitions = [_readable(made) for made in definitions or () if made.kind in kinds]
        self._by_name: dict[str, Definition] = {}
        for made in self.definitions:
            self._by_name.setdefault(made.name.casefold(), made)
        self._renamed: dict[str, Definition] = {}  # by the name under which an agent was used
        self._at_home = BUILT_IN if "agent" in kinds else frozenset[str]()

    def is_defined(self, name: str) -> bool | None:
        """Return whether a name is defined; None if unknown, or if it comes with Copilot and needs no definition."""
        key = name.casefold()
        if key in self._by_name:
            return True
        return None if not self.is_whole or key in self._at_home or key == UNNAMED else False

    def match_by_text(self, told: Mapping[str, Collection[str]]) -> None:
        """Match names that are not defined with definitions of the same text that have another name.

        `told` has the digests of the texts by the name that was used.
        """
        if not self.definitions or not told:
            return
        from copilog.store.told_texts import body_of, digest_of  # not needed by most figures

        used = {name.casefold() for name in told}
        free = {digest_of(body_of(made.body)): made for made in self.definitions if made.name.casefold() not in used}
        for name, digests in told.items():
            matching = [free[digest] for digest in digests if digest in free]
            if matching and name.casefold() not in self._by_name and name != UNNAMED:
                self._renamed[name.casefold()] = self._by_name[name.casefold()] = matching[0]

    def other_names(self, name: str) -> list[str]:
        """Return the name of the definition that has the text, but not the name, of what was used."""
        made = self._renamed.get(name.casefold())
        return [made.name] if made is not None else []

    def path_of(self, name: str) -> str | None:
        """Return the path of a definition; of several with a name the first counts, as it does for Copilot."""
        made = self._by_name.get(name.casefold())
        return made.path if made is not None else None

    def never_used(self, used: Iterable[str]) -> list[DefinedRow]:
        """Return the definitions whose name is not among those that were used."""
        keys = {name.casefold() for name in used}
        keys |= {made.name.casefold() for name, made in self._renamed.items() if name in keys}
        rows = [
            DefinedRow(name=made.name, path=made.path, scope=made.scope, description=made.description)
            for made in self.definitions
            if made.name.casefold() not in keys
        ]
        return sorted(rows, key=lambda row: (row.name.casefold(), row.path))

    def missing(self, used: Iterable[str]) -> list[str]:
        """Return the names that were used and that nothing defines."""
        return in_order(name for name in used if self.is_defined(name) is False)


def _readable(made: Definition) -> Definition:
    """Return the same with valid characters only: names of files may be any bytes."""
    return replace(
        made,
        name=_valid_text(made.name),
        path=_valid_text(made.path),
        description=_valid_text(made.description) if made.description is not None else None,
        tools=[_valid_text(tool) for tool in made.tools],
        handoffs=[_valid_text(agent) for agent in made.handoffs],
    )


def _valid_text(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
