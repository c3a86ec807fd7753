"""List the formats for exporting conversations. A new one is a module with a `FORMAT`, and a line here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from copilog.derive.estimating import DEFAULTS, Calibration
from copilog.errors import UsageError
from copilog.exports.left_out import Omissions
from copilog.exports.options import Options, check_options
from copilog.redaction.notice import NOTICE

if TYPE_CHECKING:
    from copilog.exports.folder_index import Line
    from copilog.exports.index import Entry
    from copilog.model import Conversation


MODULES = {
    "html": "copilog.exports.html",
    "markdown": "copilog.exports.markdown",
    "chat": "copilog.exports.chat",
    "vscode": "copilog.exports.vscode_session",
    "copilot-cli": "copilog.exports.copilot_cli",
    "trajectory": "copilog.exports.trajectory",
    "openai": "copilog.exports.openai",
    "sharegpt": "copilog.exports.sharegpt",
    "atif": "copilog.exports.atif",
    "otlp": "copilog.exports.otlp",
    "parquet": "copilog.exports.parquet",
    "csv": "copilog.exports.csv_list",
    "json": "copilog.exports.json",
    "bundle": "copilog.exports.bundle",
}
NAMES = tuple(MODULES)  # names on the command line

# document: a file may contain one conversation or several, with an index; several become a file each, if not asked for
# single:   a file contains one conversation
# lines:    a file contains any number of conversations, line after line; several become one file
# dataset:  a folder of files that belong together, whatever the number of conversations
Shape = Literal["document", "single", "lines", "dataset"]


class Making(msgspec.Struct, kw_only=True):
    """Facts about one export: what its files record, what the user chose, and what was left out so far."""

    by: str
    at: datetime | None = None
    options: Options = Options()
    is_redacted: bool = False  # whether secrets were replaced in the conversations, so that no file may go with them
    left_out: Omissions = msgspec.field(default_factory=Omissions)
    calibration: Calibration = msgspec.field(default_factory=lambda: DEFAULTS)  # the parameters of estimates
    memory: dict[str, Any] = {}  # what a format remembers from one file of the export to the next

    @property
    def notice(self) -> str:
        """Return what a file says of its redaction; empty if it was not redacted."""
        return NOTICE if self.is_redacted else ""


class Format(NamedTuple):
    """A kind of file, and the function that writes conversations to it, piece by piece."""

    name: str
    title: str
    ending: str  # of the file, with its dot
    media_type: str
    pieces: Callable[[Iterable[Conversation], Sequence[Entry], Making], Iterator[str | bytes]]
    shape: Shape = "document"
    # Whether it can carry one line of turns alone: a conversation with branches is written once for each end.
    is_linear: bool = False
    options: frozenset[str] = frozenset()  # names of fields of Options
    # Of a folder with a file for each conversation: the name of an index for people, and the function that draws it.
    folder_index: tuple[str, Callable[[Sequence[Line], Making], str]] | None = None
    # Of a dataset, instead of `pieces`: writes the files into an empty folder, and returns their paths.
    write_folder: Callable[[Iterable[Conversation], Path, Making], list[Path]] | None = None


def no_single_file(
    conversations: Iterable[Conversation],  # noqa: ARG001
    index: Sequence[Entry],  # noqa: ARG001
    making: Making,  # noqa: ARG001
) -> Iterator[bytes]:
    """Refuse to write a dataset as one file: what a dataset has in place of `pieces`."""
    raise UsageError("this format is a folder of files; name one, as in -o a-folder/")


def format_named(name: str) -> Format | None:
    """Import and return a format; None if no format has this name."""
    if name not in MODULES:
        return None
    found: Format = import_module(MODULES[name]).FORMAT
    return found


def formats() -> list[Format]:
    """Return all formats."""
    return [made for name in MODULES if (made := format_named(name)) is not None]


def options_for(kind: Format, chosen: dict[str, Any]) -> Options:
    """Return the options that the user chose; raise UsageError if the format has no use for one of them."""
    options = Options(**chosen)
    if options != Options():
        check_options(options, kind.options, kind.name, {each.name: each.options for each in formats()})
    return options
