"""Read response parts that ask the user something: confirmations, elicitations, questions, plans to review."""

from __future__ import annotations

from typing import Any

from copilog.derive.notes import ARGUMENTS
from copilog.fields import (
    Json,
    put_back,
    rest,
    strings_at,
    take_list,
    take_markdown,
    take_notes,
    take_str,
    take_strings,
    text_from,
    texts_at,
)
from copilog.model import AnyPart, Confirmation, Question
from copilog.uris import paths_at

DEFAULTS, VALUES = "default answer", "values of the options"


def confirmation(part: Json) -> AnyPart:
    """Read a question with buttons. The next request records which one the user pressed."""
    used = part.get("isUsed")
    return Confirmation(
        type="confirmation",
        title=take_str(part, "title"),
        message=take_markdown(part, "message"),
        options=take_strings(part, "buttons"),
        notes={ARGUMENTS: _text_of(part["data"]) or ""} if strings_at(part, "data") else {},
        state=None if used is None else ("answered" if used else "unanswered"),
    )


def elicitation(part: Json) -> AnyPart:
    """Read a question that a tool or server asked through VS Code."""
    return Confirmation(
        type="elicitation",
        title=take_markdown(part, "title"),
        message=take_markdown(part, "message"),
        state=take_str(part, "state"),
        answer=text_from(part.get("acceptedResult")),
        notes=take_notes(part, {"subtitle": "subtitle"}) | _requester_notes(part) | _automatic_reply(part),
    )


def questions(part: Json) -> AnyPart:
    """Read several questions at once, with the answers by question."""
    answers = part.get("data")
    given = answers if isinstance(answers, dict) else {}
    asked: list[Question] = []
    notes: dict[str, list[str]] = {DEFAULTS: [], VALUES: []}
    left: list[Any] = []
    for item in take_list(part, "questions") or []:
        if isinstance(item, dict):
            notes[DEFAULTS] += [text] if (text := _text_of(item.get("defaultValue"))) else []
            notes[VALUES] += _values_of(item.get("options"))
            asked.append(_question(item, given))
        else:
            left.append(item)
    put_back(part, "questions", left)
    known = {question.id for question in asked}
    others = [text for key, answer in given.items() if key not in known and (text := _answer_text(answer))]
    is_answered = bool(others) or any(question.answer is not None for question in asked)
    return Confirmation(
        type="questions",
        message=take_markdown(part, "message"),
        questions=asked,
        answer="\n".join(others) or None,
        state="answered" if is_answered else "unanswered",
        notes={name: "\n".join(texts) for name, texts in notes.items() if texts} | _automatic_reply(part),
    )


def _requester_notes(part: Json) -> dict[str, str]:
    """Return the server or extension that asks, as the user saw it."""
    name = texts_at(part.get("source"), "label", "serverLabel")
    return {"asked by": name} if name else {}


def _automatic_reply(part: Json) -> dict[str, str]:
    """Return the automatic reply that was given for the user; a flag that there was one has no text."""
    text = _text_of(part.get("autoReply"))
    return {"automatic reply": text} if text else {}


def data_of_buttons(buttons: object) -> str | None:
    """Return the arguments of the buttons below an error."""
    given = [button.get("data") for button in buttons if isinstance(button, dict)] if isinstance(buttons, list) else []
    return "\n".join(filter(None, map(_text_of, given))) or None


def _text_of(value: object) -> str | None:
    """Return a value that holds text: a string unchanged, a list or an object as JSON; None for flags and numbers."""
    return text_from(value) if isinstance(value, str | list | dict) and value else None


def _question(item: Json, answers: Json) -> Question:
    native_id = take_str(item, "id")
    asked = [take_markdown(item, key) for key in ("message", "description", "detailedMessage")]
    return Question(
        id=native_id,
        title=take_markdown(item, "title"),
        text="\n\n".join(text for text in asked if text) or None,
        type=take_str(item, "type"),
        options=_options(item),
        answer=_answer_text(answers.get(native_id)) if native_id is not None else None,
        extra=rest(item),
    )


def _options(item: Json) -> list[str]:
    """Return the labels to choose from, without their ids and values."""
    options = item.get("options")
    if not isinstance(options, list):
        return []
    return take_strings(item, "options") or labels_of(options)


def labels_of(options: list[Any]) -> list[str]:
    """Return the texts of options: their labels, else their values or ids."""
    labels: list[str] = []
    for option in options:
        names = [option.get(key) for key in ("label", "value", "id")] if isinstance(option, dict) else [option]
        label = next((name for name in names if isinstance(name, str)), None)
        if label is not None:
            labels.append(label)
    return labels


def _values_of(options: object) -> list[str]:
    """Return the values of options, each after its label if the label is another text."""
    found: list[str] = []
    for option in options if isinstance(options, list) else []:
        value = _text_of(option.get("value")) if isinstance(option, dict) else None
        label = next(iter(labels_of([option])), None)
        if value and value != label:
            found.append(f"{label}: {value}" if label else value)
    return found


def _described(options: list[Any]) -> dict[str, str]:
    """Return the descriptions of options, by their labels."""
    return {
        labels_of([option])[0]: text
        for option in options
        if labels_of([option]) and (text := texts_at(option, "description"))
    }


def _answer_text(answer: object) -> str | None:
    """Return an answer as text: the text itself, or the selected options together with what the user typed."""
    if not isinstance(answer, dict):
        return text_from(answer)
    chosen = answer.get("selectedValues", answer.get("selectedValue"))
    values = [*(chosen if isinstance(chosen, list) else [chosen]), answer.get("freeformValue")]
    return ", ".join(text for text in map(text_from, values) if text) or None


def _plan_file(part: Json) -> dict[str, str]:
    path = paths_at(part, "planUri")
    return {"file": path} if path else {}


def plan(part: Json) -> AnyPart:
    """Read a plan that the user was asked to review."""
    data = part.get("data")
    decision = data if isinstance(data, dict) else {}
    actions = part.get("actions")
    written = [decision.get(key) for key in ("action", "feedback", "feedbackOverall", "feedbackInlineMarkdown")]
    answers = dict.fromkeys(text for said in written if said and (text := text_from(said)))
    verdict = "rejected" if decision.get("rejected") else "accepted"
    return Confirmation(
        type="plan",
        title=take_str(part, "title"),
        message=take_markdown(part, "content"),
        options=labels_of(actions) if isinstance(actions, list) else [],
        notes=(_described(actions) if isinstance(actions, list) else {}) | _plan_file(part),
        answer="\n".join(answers) or None,
        state=verdict if decision else "unanswered",
    )
