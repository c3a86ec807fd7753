"""Read what users write for Copilot: agents, modes, skills, prompts and instructions, from the paths where it searches.

A definition is a Markdown file, usually with a few lines of YAML on top. docs/agents-and-skills.md lists the paths.
Nothing here writes, and links that lead out of the folder are not followed.
"""

from copilog.definitions.definition import Definition, Kind, Scope
from copilog.definitions.locations import definitions_in, definitions_of_user
from copilog.definitions.stored_modes import definitions_in_file, definitions_in_store

__all__ = [
    "Definition",
    "Kind",
    "Scope",
    "definitions_in",
    "definitions_in_file",
    "definitions_in_store",
    "definitions_of_user",
]
