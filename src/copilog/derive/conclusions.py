"""Draw all conclusions about a conversation, in their order."""

from __future__ import annotations

from copilog.derive.agents import conclude_assistant
from copilog.derive.argued_edits import conclude_argued_edits
from copilog.derive.models import conclude_models
from copilog.derive.outcomes import conclude_outcomes
from copilog.derive.times import conclude_durations
from copilog.derive.titles import conclude_title
from copilog.model import Conversation


def conclude(conversation: Conversation) -> None:
    """Write every conclusion into the conversation."""
    conclude_argued_edits(conclude_outcomes(conversation))
    conclude_models(conversation)
    conclude_durations(conversation)
    conclude_title(conversation)
    conclude_assistant(conversation)
