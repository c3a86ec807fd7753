"""What a reader sees of a conversation, decided once; `writers` draw it.

blocks.py             the blocks: prose, calls, edits, questions, heads and feet of turns
build.py              a conversation, or a range of it, as blocks in reading order
messages.py           one message: the speaker; prose and thoughts joined; where a turn was undone
parts.py              each kind of part; calls.py tool calls, arguments.py their arguments
turns.py              heads and feet of turns, and the outline
nesting.py            which message is shown inside which; frames.py branches and superseded turns
build_state.py        what blocks need to know of their conversation; prose.py joins prose, hunks.py draws partial edits
conversation_info.py  facts about the conversation: traces, times, tokens
wording.py            numbers, times, paths and labels as text; terminal_text.py text that is safe to print
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from copilog.lazy_names import names_on_first_use

if TYPE_CHECKING:
    from copilog.view.build import View

__all__ = ["View"]

__getattr__ = names_on_first_use(__name__, {"View": "copilog.view.build"})  # tables need one of its modules alone
