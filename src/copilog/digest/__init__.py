"""Pages of knowledge from conversations: extracted, not written. Every statement says which record it is from.

    digest_of(conversation)         what is known about one conversation
    write_digest(chosen, folder)    a folder of pages and indexes, of which a later run changes what changed
    source_prompt(digests)          the sources as a prompt for a model
    agents_section(runs)            commands for AGENTS.md

A section is on a page only if a record says something about it: a checkpoint, a summary, a plan, a memory, the last
state of a to-do list, a commit, a command with its exit code. Output of tools and reasoning of models are never on one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from copilog.lazy_names import names_on_first_use

if TYPE_CHECKING:
    from copilog.digest.agents_md import agents_section
    from copilog.digest.collecting import digest_of
    from copilog.digest.collection import with_memories
    from copilog.digest.content import Digest
    from copilog.digest.folder import Written, covered_by, write_digest
    from copilog.digest.prompt_for_model import source_prompt

__all__ = [
    "Digest",
    "Written",
    "agents_section",
    "covered_by",
    "digest_of",
    "source_prompt",
    "with_memories",
    "write_digest",
]

__getattr__ = names_on_first_use(
    __name__,
    {
        "Digest": "copilog.digest.content",
        "Written": "copilog.digest.folder",
        "covered_by": "copilog.digest.folder",
        "digest_of": "copilog.digest.collecting",
        "with_memories": "copilog.digest.collection",
        "write_digest": "copilog.digest.folder",
        "agents_section": "copilog.digest.agents_md",
        "source_prompt": "copilog.digest.prompt_for_model",
    },
)
