"""Texts that people read beside the main one of an event: reasons, warnings, plans, what was answered."""

from __future__ import annotations

import re

from copilog.sources._vscode.take import Json, json_text

# Fields of the data of an event, with what they are called. Codes and ids are not among them.
TOLD = {
    "activeWorkflowSummary": "active workflow",
    "additionalContext": "additional context",
    "blocker": "blocker",
    "content": "content",
    "cron": "schedule",
    "context": "context",
    "degradedReason": "why it was degraded",
    "description": "description",
    "diff": "diff",
    "displayPrompt": "prompt as shown",
    "error": "error",
    "errorMessage": "error",
    "failureReason": "reason of the failure",
    "fact": "fact",
    "feedback": "feedback",
    "fullCommandText": "command",
    "hint": "workflow",
    "initialMessage": "first message",
    "intention": "intention",
    "message": "message",
    "modelOverrideReason": "reason for the model",
    "modifiedArgs": "arguments as modified",
    "modifiedPrompt": "prompt as modified",
    "modifiedResult": "result as modified",
    "newFileContents": "new contents",
    "objective": "objective",
    "planContent": "plan",
    "projectionMessage": "message for the answer",
    "prompt": "prompt",
    "reason": "reason",
    "remediation": "remedy",
    "riskAssessment": "risk",
    "stopReason": "reason for stopping",
    "summary": "summary",
    "summaryContent": "summary",
    "systemMessage": "message",
    "tip": "tip",
    "url": "link",
    "verdict": "verdict",
    "warning": "warning",
}
OBJECTS = frozenset({"blocker", "content", "error", "modifiedArgs", "modifiedResult", "riskAssessment"})
_LETTER = re.compile(r"[^\W\d_]{2}")


def notes_in(data: Json, *known: str | None) -> dict[str, str]:
    """Return the texts of an object by what they are, without those that are known. The object stays as it is."""
    notes: dict[str, str] = {}
    for key in data.keys() & TOLD.keys():
        value = data[key]
        text = value if isinstance(value, str) else json_text(value) if key in OBJECTS and value else None
        if text and text not in known and (_LETTER.search(text) or key == "cron"):
            notes[TOLD[key]] = text
    return dict(sorted(notes.items())) if len(notes) > 1 else notes
