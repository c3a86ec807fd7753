"""What a log contains in full: summaries of compactions, texts of skills, bytes of images."""

from __future__ import annotations

from hashlib import sha256

from copilog.fields import take_dict, take_number, take_str
from copilog.model import Attachment, Compaction, Place
from copilog.sources.cli.attachments import asset_attachment
from copilog.sources.cli.event import Event, ms_between, notes_in
from copilog.sources.cli.lifecycle import notice, offer_invoked
from copilog.sources.cli.reader import Reader
from copilog.sources.cli.user_messages import SKILL_SOURCE

# Content in full: the summary of a compaction, the text of a skill, the bytes of an image.


def compaction_start(reader: Reader, event: Event) -> None:
    reader.compaction_began_at = event.at
    notice(reader, event, "compaction-start")


def compaction_complete(reader: Reader, event: Event) -> None:
    """Read a summary that replaced the history in later prompts. The log itself still has all of the history."""
    data = event.data
    began_at, reader.compaction_began_at = reader.compaction_began_at, None
    used = take_dict(data, "compactionTokensUsed")
    model = take_str(used if used and "model" in used else data, "model")  # from the provider, else the program
    if used is not None and model is not None:
        used["model"] = model
    elapsed_ms = take_number(used, "duration") if used else None
    if used:
        reader.meter.add_compaction(used, event.stamp)
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
        data["checkpoint"] = checkpoint.as_extra()
        if text is None:
            text = checkpoint.text
    parent = reader.agents.parent_of(event)
    part = Compaction(
        text=text or "",
        title=checkpoint.title if checkpoint is not None else None,
        instructions=take_str(data, "customInstructions"),
        model=model,
        trigger=take_str(data, "trigger"),
        elapsed_ms=elapsed_ms if elapsed_ms is not None else ms_between(began_at, event.at),
        native=event.native,
    )
    part.notes = notes_in(data, part.text)
    part.extra = event.extra()
    reader.add(event, "system", [part], parent=parent)


def skill_invoked(reader: Reader, event: Event) -> None:
    """Read the text of a loaded skill, or the id of a text that an earlier event contains."""
    data = event.data
    offer_invoked(reader, event)
    parent = reader.agents.parent_of(event)
    path = take_str(data, "path")
    text = take_str(data, "content")
    if text is not None:
        reader.skill_texts[f"sha256:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"] = text
    part = Attachment(
        type="skill",
        name=take_str(data, "name"),
        place=Place(path=path) if path is not None else None,
        text=text if text is not None else _skill_text(reader, event),
        description=take_str(data, "description"),
        is_automatic=True,
        native=event.native,
    )
    part.extra = event.extra()
    reader.add(event, "system", [part], parent=parent)


def skill_context(reader: Reader, event: Event) -> None:
    """Read the text of a skill as the model got it: in full, or around a text that an earlier event contains."""
    data = event.data
    parent = reader.agents.parent_of(event)
    interaction = reader.started_interaction(event)
    source = data.get("source")
    text = take_str(data, "content")
    if text is None:
        inner = _skill_text(reader, event)
        around = take_str(data, "prefix") or "", take_str(data, "suffix") or ""
        text = (inner or "").join(around)
    part = Attachment(
        type="skill-context",
        name=source.removeprefix(SKILL_SOURCE) if isinstance(source, str) else None,
        text=text,
        is_automatic=True,
        native=event.native,
    )
    part.extra = event.extra()
    reader.add(event, "system", [part], interaction=interaction, parent=parent)


def _skill_text(reader: Reader, event: Event) -> str | None:
    """Return the text that an event names by its id, and remove the id. An unknown id stays."""
    name = event.data.get("contentId")
    text = reader.skill_texts.get(name) if isinstance(name, str) else None
    if text is not None:
        del event.data["contentId"]
    return text


def binary_asset(reader: Reader, event: Event) -> None:
    parent = reader.agents.parent_of(event)
    part = asset_attachment(event.data, reader.assets)
    reader.add(event, "system", [part], parent=parent, extra={"envelope": event.rest} if event.rest else None)
