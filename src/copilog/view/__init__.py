"""What a reader sees of a conversation, decided once; `writers` draw it.

blocks.py     the pieces: prose, calls, edits, questions, heads and feet of turns
build.py      a conversation, or a stretch of it, as such pieces in the order in which they are read
messages.py   one message: who spoke; prose and thoughts joined, the place from which a turn was undone
parts.py      each kind of part; calls.py those with calls, arguments.py what a call was given
turns.py      heads and feet of turns, and the outline
nesting.py    which message is shown in which; frames.py branches and superseded turns
stage.py      what one walk over a conversation needs to know; prose.py joins prose, hunks.py takes diffs apart
about.py      what is known of a conversation as a whole
wording.py    numbers, times, places and labels in words; safe.py clean lines
"""

from __future__ import annotations

from copilog.view.build import View

__all__ = ["View"]
