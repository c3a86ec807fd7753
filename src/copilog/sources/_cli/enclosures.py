"""What a log encloses whole: the summary of a compaction, the text of a skill, the bytes of an image."""

from __future__ import annotations

from copilog.model import Attachment, Compaction, Place
from copilog.sources._cli.attachments import asset_attachment
from copilog.sources._cli.event import Event, ms_between
from copilog.sources._cli.lifecycle import offer_invoked
from copilog.sources._cli.notices import notice
from copilog.sources._cli.reader import Reader
from copilog.sources._vscode.take import take_dict, take_number, take_str


def compaction_start(reader: Reader, event: Event) -> None:
    reader.compaction_began_at = event.at
    notice(reader, event, "compaction-start")


def compaction_complete(reader: Reader, event: Event) -> None:
    """The history was replaced by a summary in later prompts; the log itself keeps all of it."""
    data = event.data
    began_at, reader.compaction_began_at = reader.compaction_began_at, None
    used = take_dict(data, "compactionTokensUsed")
    elapsed_ms = take_number(used, "duration") if used else None
    usage = reader.meter.add_compaction(used, event.stamp) if used else None
    if data.get("success") is False:
        notice(reader, event, "compaction-failed", "error")
        return
    text = take_str(data, "summaryContent")
    number = data.get("checkpointNumber")
    checkpoint = reader.checkpoints.find(
        path if isinstance(path := data.get("checkpointPath"), str) else None,
        number if isinstance(number, int) else None,
    )
    if checkpoint is not None:
        checkpoint.is_taken = True
        data["checkpoint"] = checkpoint.as_extra()
        if text is None:
            text = checkpoint.text
        elif checkpoint.text.strip() != text.strip():
            checkpoint.is_taken = False  # it says something else, and stays a document
    parent = reader.agents.parent_of(event)
    part = Compaction(
        text=text or "",
        title=checkpoint.title if checkpoint is not None else None,
        instructions=take_str(data, "customInstructions"),
        model=usage.model if usage else None,
        trigger=take_str(data, "trigger"),
        elapsed_ms=elapsed_ms if elapsed_ms is not None else ms_between(began_at, event.at),
        native=event.native,
    )
    part.extra = event.extra()
    reader.add(event, "system", [part], parent=parent)


def skill_invoked(reader: Reader, event: Event) -> None:
    """A skill was loaded, and here is all of it."""
    data = event.data
    offer_invoked(reader, event)
    parent = reader.agents.parent_of(event)
    path = take_str(data, "path")
    part = Attachment(
        type="skill",
        name=take_str(data, "name"),
        place=Place(path=path) if path is not None else None,
        text=take_str(data, "content"),
        description=take_str(data, "description"),
        is_automatic=True,
        native=event.native,
    )
    part.extra = event.extra()
    reader.add(event, "system", [part], parent=parent)


def binary_asset(reader: Reader, event: Event) -> None:
    parent = reader.agents.parent_of(event)
    part = asset_attachment(event.data, reader.assets)
    reader.add(event, "system", [part], parent=parent, extra={"envelope": event.rest} if event.rest else None)
