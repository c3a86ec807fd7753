"""Which call's sub-agent wrote a part of the response.

Newer files give each part of a sub-agent's run the run's id, which is the id of the call that started it, or else
one that this call carries too. Older files only say that a part is of some sub-agent.
"""

from __future__ import annotations

from copilog.sources._vscode.pairing import ToolPart
from copilog.sources._vscode.rounds import clean_id


class Callers:
    """The callers of one response, by the ids that VS Code gave them."""

    def __init__(self, parts: list[ToolPart]) -> None:
        self._call_of_run: dict[str, str] = {}
        self._parents: dict[int, str] = {}
        self._caller_of: dict[str, str] = {}
        runs = [part for part in parts if type(part.item.get("subAgentInvocationId")) is str]
        if runs:
            self._learn_runs(parts, runs)
        if any(part.item.get("fromSubAgent") is True for part in parts):
            self._learn_old_runs(parts)
        if self._parents:
            for part in parts:
                part.is_of_subagent = part.position in self._parents

    def of_part(self, part: ToolPart) -> str | None:
        """The call whose sub-agent made this call."""
        return self._parents.get(part.position)

    def of_run(self, run_id: str | None) -> str | None:
        """The call that started a run; the run's own id when that call is not here."""
        return None if run_id is None else self._call_of_run.get(run_id, run_id)

    def _learn_runs(self, parts: list[ToolPart], runs: list[ToolPart]) -> None:
        for part in parts:
            if part.native_id:
                self._call_of_run[part.native_id] = part.native_id
                self._call_of_run.setdefault(clean_id(part.native_id), part.native_id)
        for part in runs:
            if part.native_id and starts_subagent(part):
                self._call_of_run.setdefault(part.item["subAgentInvocationId"], part.native_id)
        for part in runs:
            self._put_below(part, self.of_run(part.item["subAgentInvocationId"]))

    def _put_below(self, part: ToolPart, caller: str | None) -> None:
        if caller and not self._leads_back(caller, part.native_id):
            self._parents[part.position] = self._caller_of[part.native_id] = caller

    def _leads_back(self, caller: str, native_id: str) -> bool:
        """Whether a call would become a caller of its own, which is said of a call that carries its own run's id."""
        at: str | None = caller
        while at is not None and at != native_id:
            at = self._caller_of.get(at)
        return at is not None

    def _learn_old_runs(self, parts: list[ToolPart]) -> None:
        """A part belongs to the sub-agent called last; to the next one where the first caller follows its parts."""
        starts = [index for index, part in enumerate(parts) if starts_subagent(part) and part.native_id]
        if not starts:
            return
        first = next(index for index, part in enumerate(parts) if part.item.get("fromSubAgent") is True)
        callers_follow = first < starts[0]
        for index, part in enumerate(parts):
            if part.item.get("fromSubAgent") is not True or part.position in self._parents:
                continue
            before = [start for start in starts if start < index]
            after = [start for start in starts if start > index]
            nearest = after[:1] if after and (callers_follow or not before) else before[-1:]
            for start in nearest:
                self._put_below(part, parts[start].native_id)


def starts_subagent(part: ToolPart) -> bool:
    """Whether this call started a sub-agent, by its data or by the tool's name."""
    data = part.item.get("toolSpecificData")
    return (isinstance(data, dict) and data.get("kind") == "subagent") or part.key.endswith("subagent")
