"""The end of a turn: how it ended, who answered, how long it took, what it cost, what came with it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from copilog.derive import agent_name
from copilog.derive.models import names_of
from copilog.derive.notes import error_facts, followup_words, notes_of_turn
from copilog.derive.references import used_files
from copilog.derive.running import status_words
from copilog.model import Conversation, Turn, TurnError, best_usage
from copilog.render.layout import Block, Scene, joined
from copilog.render.notes import note_blocks
from copilog.render.safe import clean, clean_line
from copilog.render.words import counted, duration_facts, model_words, usage_words, used_file_words

STATUS_STYLES = {"complete": "green", "failed": "red"}
MOST_REFERENCES = 5


def footer_blocks(turn: Turn, conversation: Conversation, scene: Scene, level: int) -> Iterator[Block]:
    """The facts of a turn as a whole, below its answer."""
    is_plainly_cancelled = turn.status == "cancelled" and turn.error is not None and turn.error.code == "canceled"
    if turn.error is not None and not is_plainly_cancelled:
        yield Block(_error_line(turn.error), level, hangs=True)
    status = status_words(turn)
    facts: list[Text | str] = [Text(status, STATUS_STYLES.get(status, "yellow"))] if status else []
    facts += [*_who(turn), *_how_long(turn), *_how_much(turn)]
    if turn.vote is not None:
        words = "voted up" if turn.vote.is_up else f"voted down {clean_line(turn.vote.reason or '', 80)}".rstrip()
        facts.append(Text(words, "green" if turn.vote.is_up else "red"))
    if facts:
        yield Block(joined(facts), level, hangs=True)
    for line in _what_came_with_it(turn, scene):
        yield Block(Text(line, "dim"), level, hangs=True)
    yield from note_blocks(notes_of_turn(turn, conversation), scene, level)
    for followup in turn.followups:
        yield Block(Text.assemble(("→ ", "cyan"), (clean_line(followup_words(followup), 300), "dim")), level)


def _error_line(error: TurnError) -> Text:
    line = Text("✗ ", "red").append(clean(error.message).strip() or "failed without a message")
    known = ", ".join(clean_line(fact, 200) for fact in error_facts(error))
    return line.append(f"  ({known})", "dim") if known else line


def _who(turn: Turn) -> Iterator[str]:
    if words := model_words(turn):
        yield words
    if turn.details:
        yield details_words(turn)
    if turn.mode is not None and (turn.mode.kind or turn.mode.name):
        yield clean_line(f"{turn.mode.kind or turn.mode.name} mode", 80)
    if turn.custom_agent is not None:
        yield clean_line(f"custom agent {turn.custom_agent.name or ''}", 100)
    if turn.agent is not None:
        yield clean_line(f"@{agent_name(turn.agent)}", 80)
    if turn.command:
        yield clean_line(f"/{turn.command}", 80)


def details_words(turn: Turn) -> str:
    """VS Code's line under the answer: the model as people call it, and its multiplier. Not the same name twice."""
    name, _, rest = clean_line(turn.details or "", 100).partition(" • ")
    names = names_of(turn)
    known = [*names, *(names[0] + name for name in names[1:])]
    is_known = _letters(name) in [_letters(word) for word in known]
    return rest if is_known else ", ".join(word for word in (name, rest) if word)


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def _how_long(turn: Turn) -> Iterator[str]:
    first, *more = duration_facts(turn) or [""]
    if first:
        yield first + (f" ({', '.join(more)})" if more else "")


def _how_much(turn: Turn) -> Iterator[str]:
    best = best_usage(turn)
    if best is not None:
        yield from usage_words(best)
    if best is None or best.credits is None:
        spent = next((usage.credits for usage in turn.usage if usage.credits is not None), None)
        if spent is not None:
            yield f"{spent:g} credits"


def _what_came_with_it(turn: Turn, scene: Scene) -> Iterator[str]:
    loaded = [clean_line(skill.name, 60) for skill in turn.skills if skill.is_loaded or scene.options.full]
    if loaded:
        yield f"skills: {', '.join(loaded)}"
    best = best_usage(turn)
    if scene.options.full and best is not None and best.by_category:
        shares = [
            f"{clean_line(share.label or share.category, 60)} {share.percent:g} %"
            for share in best.by_category
            if share.percent is not None
        ]
        yield f"the prompt: {', '.join(shares)}"
    if turn.references:
        yield _references_line(turn, scene)
    if turn.citations:
        licences = sorted({clean_line(citation.license or "unknown", 40) for citation in turn.citations})
        yield f"similar to public code: {counted(len(turn.citations), 'place')}, licences {', '.join(licences)}"
        if scene.options.full:
            yield from (clean_line(citation.uri) for citation in turn.citations if citation.uri)


def _references_line(turn: Turn, scene: Scene) -> str:
    names: list[str] = []
    for used in used_files(turn, scene.folder):
        name = used_file_words(used, scene.folder)
        names.append(f"{name} ({clean_line(used.status_words, 200)})" if used.status_words else name)
    shown = names if scene.options.full else names[:MOST_REFERENCES]
    more = f" and {len(names) - len(shown):,} more" if len(names) > len(shown) else ""
    return f"used {', '.join(shown)}{more}"
