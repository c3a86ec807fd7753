"""What programs do not record, by version: `gaps.yaml`. A gap excuses a missing value, never a wrong one."""

from __future__ import annotations

from pathlib import Path

import msgspec
import yaml

from conformance.scenario import Gap, applies

GAPS = Path(__file__).with_name("gaps.yaml")


def gaps_of(program: str, version: str) -> list[Gap]:
    """Return the gaps of one version of a program."""
    with GAPS.open(encoding="utf-8") as file:
        gaps = msgspec.convert(yaml.safe_load(file), dict[str, list[Gap]])
    return [gap for gap in gaps.get(program, []) if applies(gap.since, gap.until, version)]
