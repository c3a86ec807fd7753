"""A rich console that raises an error for a closed pipe, so that it is handled like all other errors."""

from __future__ import annotations

from rich.console import Console


class PipeConsole(Console):
    """A console that does not end the process with 1 when the reader closes the pipe, as `head` does."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError
