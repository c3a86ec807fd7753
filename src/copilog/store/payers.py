"""Who is charged for a model: Copilot, or the user's own key. It is the own key only if there is evidence for it.

Evidence is a vendor other than Copilot in front of the model's name, and a provider or an endpoint in a record. If
evidence contradicts other evidence, such as a bill of Copilot, the payer is unknown. The vendor of the requested model
is evidence for that model alone: where another one answered, and no record says who provided it, the payer is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from copilog.derive.calls import TurnsOfCalls
from copilog.derive.model_names import is_router, is_same_model, key_of
from copilog.model import Conversation, Model, Usage

Payer = Literal["copilot", "own key", "unknown"]

OF_COPILOT = frozenset({"copilot", "github", "github.copilot", "github.copilot-chat", "copilotcli", "copilot-cli"})
OWN_FLAGS = ("isByok", "is_byok")
PROVIDERS = ("provider", "byokKind", "byok_kind")
ENDPOINTS = ("endpoint", "baseUrl", "base_url")
HOSTS_OF_COPILOT = ("githubcopilot.com", "github.com", "ghe.com")


class Payers:
    """The payers of one conversation. `costs` are the premium requests and credits of each turn, recorded or spread."""

    def __init__(self, conversation: Conversation, costs: Mapping[int | None, float]) -> None:
        self._turns = {turn.index: turn for turn in conversation.turns}
        self._costs = costs
        self._evidence: dict[tuple[int | None, str], set[Payer]] = {}
        for turn in conversation.turns:
            self._note(turn.index, turn.usage)
        if any(usage.extra for usage in conversation.usage):
            turns = TurnsOfCalls(conversation.turns)
            for usage in conversation.usage:
                self._note(turns.of(usage) if usage.scope == "call" else None, [usage])

    def _note(self, turn: int | None, usages: Iterable[Usage]) -> None:
        for usage in usages:
            for payer in _recorded_by(usage):
                self._evidence.setdefault((turn, key_of(usage.model or "")), set()).add(payer)

    def of(self, turn: int | None, model: str | None) -> Payer:
        """Return the payer of a model's usage in a turn."""
        found = set(self._evidence.get((turn, key_of(model or "")), ()))
        if not found:  # a total of the session names the provider of a model for all turns
            found |= self._evidence.get((None, key_of(model or "")), set())
        if _is_other(_vendor_of(model)):
            found.add("own key")
        asked = self._turns.get(turn) if turn is not None else None
        if asked is not None and asked.model is not None and _is_other(asked.model.vendor):
            if model is not None and not _is_model_of(asked.model, model):
                return "unknown"  # nothing shows whose key another model than the requested one was on
            found.add("own key")
        if "own key" not in found:
            return "copilot"
        return "unknown" if "copilot" in found or self._costs.get(turn, 0) > 0 else "own key"


def _is_model_of(requested: Model, model: str) -> bool:
    """Return whether a model is the requested one; what else answered may be in place of it."""
    return is_router(requested.name) or any(
        is_same_model(name, model) for name in (requested.name, requested.id) if name
    )


def _recorded_by(usage: Usage) -> Iterator[Payer]:
    """Yield the payers that the fields of a record indicate."""
    extra: dict[str, Any] = usage.extra or {}
    for name in OWN_FLAGS:
        if isinstance(extra.get(name), bool):
            yield "own key" if extra[name] else "copilot"
    for name in PROVIDERS:
        if isinstance(extra.get(name), str) and extra[name]:
            yield "own key" if _is_other(extra[name]) else "copilot"
    for name in ENDPOINTS:
        if isinstance(extra.get(name), str) and "://" in extra[name]:
            host = extra[name].partition("://")[2].partition("/")[0].partition(":")[0].casefold()
            yield "copilot" if host.endswith(HOSTS_OF_COPILOT) else "own key"


def _vendor_of(model: str | None) -> str | None:
    return model.partition("/")[0] if model and "/" in model else None


def _is_other(vendor: str | None) -> bool:
    return bool(vendor) and str(vendor).casefold() not in OF_COPILOT
