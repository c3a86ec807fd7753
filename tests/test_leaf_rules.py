"""Which texts are ids or times, and which reasons cover which paths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from copilog.ingest.leaves.rules import PROTECTED, REASONS, RULES, is_id_or_time, matches
from tests import leaf_table

DATA = Path(__file__).parent / "data"
MARK = "zq planted words that nobody reads"


# --- rules --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("/x", "3f1c6d2e-0000-4000-8000-00000000000a", True),
        ("/x", "request_3f1c6d2e-0000-4000-8000-00000000000a", True),
        ("/x", "2026-01-02T03:04:05.678Z", True),
        ("/x", "1766000009000", True),
        ("/x", "toolu_01VxF8Rb0vSmqW32pl3yKS4d", True),
        ("/agent/extensionId", "GitHub.copilot-chat", True),
        ("/ids/*", "some-name-of-something", True),
        ("/agent/extensionId", "words with spaces between", False),
        ("/x", "GitHub.copilot-chat", False),
        ("/x", "call me when you are done", False),
        ("/validity", "for-ever-and-ever", False),
    ],
)
def test_ids_and_times_are_recognised(path: str, text: str, expected: bool) -> None:
    assert is_id_or_time(path, text) is expected


def test_every_rule_has_a_reason_of_the_closed_list() -> None:
    assert {reason for rules in RULES.values() for _, reason in rules if reason} <= REASONS.keys()


def reasons_without_protection(source: str, path: str) -> list[str]:
    """Return the reasons that rules give a path, whether or not it is protected."""
    first = next(([reason] for pattern, reason in RULES.get(source, ()) if matches(pattern, path)), [])
    return [reason for reason in first if reason]


WRITTEN = {
    "vscode-session": """
        /requests/*/message/text /requests/*/message/parts/*/text /requests/*/response/*/value
        /requests/*/response/*/content/value /requests/*/response/*/toolSpecificData/commandLine/original
        /requests/*/response/*/toolSpecificData/terminalCommandOutput/text /requests/*/response/*/resultDetails/input
        /requests/*/response/*/resultDetails/output/*/value /requests/*/response/*/edits/*/*/text
        /requests/*/result/metadata/toolCallRounds/*/response /requests/*/result/metadata/toolCallRounds/*/thinking/text
        /requests/*/result/metadata/toolCallRounds/*/toolCalls/*/arguments
        /requests/*/result/metadata/toolCallResults/*/content/*/value /requests/*/followups/*/message
        /inputState/inputText /pendingRequests/*/request/message/text
        /pendingRequests/*/sendOptions/instructionContext/text""",
    "vscode-editing": """
        /timeline/operations/*/edits/*/text /timeline/fileBaselines/*/*/content /initialFileContents/*/*
        /linearHistory/*/stops/*/entries/*/originalToCurrentEdit/*/txt""",
    "vscode-state": """
        /ItemTable/interactive.sessions/#/*/requests/*/message/text
        /ItemTable/memento~1interactive-session/#/history/*/*/inputText
        /ItemTable/memento~1interactive-session/#/history/*/*/text
        /ItemTable/chat.customModes/#/*/modeInstructions/content
        /ItemTable/chat.customModes/#/*/body /ItemTable/chat.untitledInputState/#/inputText""",
    "cli-events": """
        /user.message/data/content /assistant.message/data/content /assistant.message/data/reasoningText
        /assistant.message/data/toolRequests/*/arguments/command /assistant.message_delta/data/deltaContent
        /tool.execution_start/data/arguments/command /tool.execution_complete/data/result/content
        /tool.execution_complete/data/error/message /tool.execution_partial_result/data/partialOutput
        /hook.start/data/input/toolArgs/command /session.compaction_complete/data/summaryContent
        /model.model_call_success/data/responseChunk/choices/*/delta/content /model.message/data/message/content
        /model.model_call_success/data/responseChunk/choices/*/delta/tool_calls/*/function/arguments
        /model.response/data/response/content /model.messages_snapshot/data/messages/*/content""",
    "session-store": """
        /turns/user_message /turns/assistant_response /checkpoints/overview /sessions/summary /search_index/content""",
    "debug-logs": """
        /user_message/attrs/content /agent_response/attrs/response /agent_response/attrs/reasoning
        /llm_request/attrs/inputMessages /tool_call/attrs/args /tool_call/attrs/result""",
    "otel-file": """
        /attributes/gen_ai.input.messages /attributes/gen_ai.tool.call.arguments /attributes/gen_ai.tool.call.result
        /attributes/copilot_chat.reasoning_content /attributes/github.copilot.tool.parameters.command
        /attributes/github.copilot.user.message.content /attributes/github.copilot.zqNew""",
    "chat-replay": """
        /prompts/*/prompt /prompts/*/logs/*/requestMessages/messages/*/content/*/text
        /prompts/*/logs/*/response/message/* /prompts/*/logs/*/args /prompts/*/logs/*/thinking/text
        /prompts/*/logs/*/response/*""",
    "atif": "/steps/*/message /steps/*/tool_calls/*/arguments/command /steps/*/observation/results/*/content",
    "trajectory-file": "/messages/*/content /messages/*/reasoning /messages/*/tool_calls/*/function/arguments",
}


@pytest.mark.parametrize(("source", "paths"), WRITTEN.items(), ids=WRITTEN.keys())
def test_no_reason_covers_texts_of_users_and_models(source: str, paths: str) -> None:
    """The paths are listed here again, so that a rule that is too wide fails even where protection hides it."""
    assert {path: found for path in paths.split() if (found := reasons_without_protection(source, path))} == {}


@pytest.mark.parametrize("source", sorted(PROTECTED))
def test_no_rule_covers_a_protected_path(source: str) -> None:
    """Names below such a path have rules only if they are part of an address or a kind."""
    paths = [path for pattern in PROTECTED[source] for path in paths_of(pattern)]

    assert all(any(matches(pattern, path) for pattern in PROTECTED[source]) for path in paths)
    assert {path: found for path in paths if (found := reasons_without_protection(source, path))} == {}


def paths_of(pattern: str) -> Iterator[str]:
    """Yield paths that a pattern matches: each choice, and one and two names for a wildcard of any number."""
    start = pattern.find("{")
    if start >= 0:
        end = pattern.index("}", start)
        for choice in pattern[start + 1 : end].split(","):
            yield from paths_of(pattern[:start] + choice + pattern[end + 1 :])
    elif "**" in pattern:
        for filling in ("zqName", "zqName/zqOther"):
            yield from paths_of(pattern.replace("**", filling, 1))
    else:
        yield pattern


def test_the_reasons_are_documented() -> None:
    page = (leaf_table.PAGE.parent.parent / "diagnostics.md").read_text()

    for reason, meaning in REASONS.items():
        assert f"| `{reason}` | {meaning} |" in page


def test_the_table_of_leaves_by_source_and_reason_is_up_to_date(updates_golden: bool) -> None:
    expected = leaf_table.page()
    if updates_golden:
        leaf_table.PAGE.write_text(expected)

    assert leaf_table.PAGE.read_text() == expected
