"""A rich console that lets a closed pipe be handled where all errors are."""

from __future__ import annotations

from rich.console import Console


class PipeConsole(Console):
    """rich would end the process with 1 when the reader of our output goes away, as `head` does."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError
