"""Which custom agent worked in a turn, and which skills were offered and loaded, with the evidence.

Sources record what their files state directly. This package derives the rest from the text of prompts, the called
tools and the text of the user. What a source recorded is never replaced. docs/agents-and-skills.md has the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from copilog.lazy_names import names_on_first_use

if TYPE_CHECKING:
    from copilog.detection.detecting import detect
    from copilog.detection.usage import DefinitionUsage, DefinitionUse, usage_of_definitions

__all__ = ["DefinitionUsage", "DefinitionUse", "detect", "usage_of_definitions"]

__getattr__ = names_on_first_use(
    __name__,
    {"detect": "copilog.detection.detecting"}
    | dict.fromkeys(("DefinitionUsage", "DefinitionUse", "usage_of_definitions"), "copilog.detection.usage"),
)
