"""List what users can choose about exported files. A format names the options that it has a use for."""

from __future__ import annotations

import msgspec

from copilog.errors import UsageError


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The choices of one export; None for those that the user did not make."""

    prompts_only: bool | None = None  # leave out everything but what the user wrote
    system_prompt: bool | None = None  # include system prompts
    thinking: bool | None = None  # include the thinking of models
    max_tokens: int | None = None  # leave out conversations, or turns, that are longer
    kept_only: bool | None = None  # only turns whose edits were kept
    unique: bool | None = None  # leave out conversations that nearly repeat another one
    no_annotations: bool | None = None  # leave out stars, labels and notes
    release: str | None = None  # of the program that is to read the files
    new_id: bool | None = None  # another id than the conversation's, so that it can be placed beside it


def check_options(
    options: Options, known: frozenset[str], format_name: str, by_format: dict[str, frozenset[str]]
) -> None:
    """Raise UsageError if the user chose something that a format has no use for."""
    for name in Options.__struct_fields__:
        if getattr(options, name) is not None and name not in known:
            formats = " and ".join(each for each, names in by_format.items() if name in names)
            raise UsageError(f"the format {format_name} has no use for --{name.replace('_', '-')}; {formats} have one")
