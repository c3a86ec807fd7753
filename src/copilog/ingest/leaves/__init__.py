"""Whether every text of a file is in the conversations that were read from it.

A leaf is a string of a file of SHORTEST characters or more. `leaves_of` walks all leaves of a file: each is found
again in the stored conversations, outside `extra`, or has a path that one of the rules names, or is unaccounted for.
docs/diagnostics.md has the reasons, docs/formats/leaves.md the rules.
"""

from __future__ import annotations

from copilog.ingest.leaves.counting import leaves_of
from copilog.ingest.leaves.rules import REASONS
from copilog.ingest.leaves.stored import stored_of

__all__ = ["REASONS", "leaves_of", "stored_of"]
