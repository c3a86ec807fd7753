"""Recorded traces of scenarios, masked, with their truth: what `make test` compares without any program.

tests/data/conformance/SCENARIO-VERSION/written   what the program wrote
tests/data/conformance/SCENARIO-VERSION/truth.json
tests/data/conformance/known.json                 differences that are known: name -> "KIND at WHERE"
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from conformance.compare import compare
from conformance.facts import Compared, Performed, Truth
from conformance.known import explain
from conformance.masking import Mask, clear, own_texts
from conformance.observe import observe
from conformance.programs import cache_folder
from conformance.running import PERFORMED, TRUTH, compare_kept, perform
from conformance.scenario import Scenario, load_all
from conformance.vscode_masking import VsCodeMask
from conformance.workspace import Places

RECORDED = Path(__file__).parents[1] / "tests" / "data" / "conformance"
WRITTEN = "written"
HOME = "/home/ana"
PROGRAM_FOLDER = "/opt/programs"  # instead of the suite's cache
PROGRAMS = ("cli", "vscode")
NEW = [
    "walk",
    "shell",
    "files",
    "resumes",
    "days",
    "models",
    "subagent",
    "background-agent",
    "mcp",
    "todos",
    "todo-tools",
    "subagent-days",
    "denied",
    "not-allowed",
    "interrupt-answer",
    "interrupt-tool",
    "crash-tool",
    "crash-left",
    "error-400",
    "unicode",
    "patch",
    "plan",
    "autopilot",
    "compaction",
    "image-attached",
    "tui-fork",
    "tui-rewind",
    "tui-shell",
]
OLD = [("walk", version) for version in ("1.0.20", "1.0.60", "1.0.89")]
VSCODE = [
    "approvals-1.139.1",
    "crashed-1.139.1",
    "custom-agent-1.139.1",
    "edited-prompt-1.139.1",
    "forked-1.139.1",
    "plain-1.138.0",
    "retried-1.139.1",
    "subagent-1.139.1",
    "subagent-before-1.139.1",
    "walk-1.133.0",
]
DEFAULT = [
    *(f"{name}-1.0.102" for name in NEW),
    *(f"{name}-{version}" for name, version in OLD),
    *(f"vscode-{name}" for name in VSCODE),
]


def record(names: Sequence[str], runs: Path | None = None) -> int:
    """Run scenarios, and record what they write; or what runs in a folder wrote that `run --keep` kept."""
    scenarios = {scenario.name: scenario for scenario in load_all("cli")}
    scenarios |= {f"vscode-{scenario.name}": scenario for scenario in load_all("vscode")}
    for name in names or DEFAULT:
        scenario, _, version = name.rpartition("-")
        with tempfile.TemporaryDirectory(prefix="copilog-conf-") as scratch:
            if runs is None:
                kept = perform(scenarios[scenario], version, Path(scratch))
            else:
                kept = compare_kept(scenarios[scenario], runs / f"{scenarios[scenario].name}-{version}")
            target = RECORDED / name
            clear(target)
            performed = msgspec.json.decode((kept.folder.parent / PERFORMED).read_bytes(), type=Performed)
            home = Places(Path(performed.workspace).parents[1]).home  # where it was, while it ran
            mask = mask_of(kept.truth, scenarios[scenario], {str(home): HOME})
            mask.copy(kept.folder, target / WRITTEN)
            text = mask.rename(json.dumps(msgspec.to_builtins(kept.truth), ensure_ascii=False, indent=0))
            (target / TRUTH).write_text(text + "\n", encoding="utf-8")
        print(f"{name}: {len(kept.truth.facts)} facts", file=sys.stderr, flush=True)
    return 0


def mask_again(names: Sequence[str]) -> int:
    """Mask recorded runs anew, in place: what was recorded before the masking hid it."""
    scenarios = {(str(scenario.program), scenario.name): scenario for name in PROGRAMS for scenario in load_all(name)}
    for name in names or recorded():
        target = RECORDED / name
        truth = msgspec.json.decode((target / TRUTH).read_bytes(), type=Truth)
        mask = mask_of(truth, scenarios[truth.program, truth.scenario], {})
        with tempfile.TemporaryDirectory(prefix="copilog-conf-") as scratch:
            mask.copy(target / WRITTEN, Path(scratch, WRITTEN))
            clear(target / WRITTEN)
            shutil.copytree(Path(scratch, WRITTEN), target / WRITTEN)
        (target / TRUTH).write_text(mask.rename((target / TRUTH).read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def mask_of(truth: Truth, scenario: Scenario, renamed: dict[str, str]) -> Mask:
    """Return the mask of a run: besides the paths of the run, those of this machine get other names."""
    everywhere = {str(cache_folder()): PROGRAM_FOLDER, f"{Path.home()}/": f"{HOME}/"}
    masks = VsCodeMask if truth.program == "vscode" else Mask
    return masks({**renamed, **everywhere}, own_texts(truth, scenario))


def recorded() -> list[str]:
    """Return the names of all recorded runs."""
    return sorted(path.parent.name for path in RECORDED.glob("*/truth.json"))


def compare_recorded(name: str) -> list[Compared]:
    """Compare a recorded run with what copilog reads from it; known differences have their reason."""
    truth = msgspec.json.decode((RECORDED / name / TRUTH).read_bytes(), type=Truth)
    compared = compare(truth, observe(RECORDED / name / WRITTEN, truth))
    return explain(compared, truth.program, truth.scenario, truth.version)
