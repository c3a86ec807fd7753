"""Fine-tuning data: each call with its result, roles that alternate, published checks passed, omissions counted."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copilog.exports.near_duplicates import NearDuplicates, likeness, sketch_of
from copilog.exports.writing import NothingToWrite
from copilog.model import (
    Branch,
    Conversation,
    FileEdit,
    FileState,
    Message,
    Terminal,
    Text,
    TextEdit,
    ToolCall,
    ToolResult,
    Turn,
)
from tests.exports.conversations import (
    a_conversation,
    corpus_conversations,
    exported,
    hostile_conversations,
    left_out_of,
    sample_conversations,
    with_subagent,
)
from tests.exports.training_checks import check_openai, check_sharegpt, lines_of

CHECKS: dict[str, Any] = {"openai": check_openai, "sharegpt": check_sharegpt}


def lines(conversations: list[Conversation], folder: Path, kind: str = "openai", **options: Any) -> list[Any]:
    exported(conversations, kind, folder / "lines.jsonl", **options)
    return lines_of(folder / "lines.jsonl")


def turn(index: int, prompt: str, answer: str, **fields: Any) -> tuple[Turn, list[Message]]:
    messages = [
        Message(role="user", turn=index, parts=[Text(text=prompt)]),
        Message(role="assistant", turn=index, parts=[Text(text=answer)]),
    ]
    return Turn(index=index, **fields), messages


def of_turns(*made: tuple[Turn, list[Message]]) -> Conversation:
    return Conversation(
        id="vscode:many",
        native_id="many",
        source="vscode-session",
        turns=[each for each, _ in made],
        messages=[message for _, messages in made for message in messages],
    )


def prompts(line: Any) -> list[str]:
    return [message["content"] for message in line["messages"] if message["role"] == "user"]


# --- published checks -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("thinking", [None, True])
@pytest.mark.parametrize("kind", CHECKS)
def test_the_sample_passes_the_published_checks(kind: str, thinking: bool | None, tmp_path: Path) -> None:
    made = lines(sample_conversations(), tmp_path, kind, thinking=thinking)
    assert len(made) > 15
    for line in made:
        CHECKS[kind](line, **({"with_thinking": True} if thinking and kind == "openai" else {}))


@pytest.mark.parametrize("kind", CHECKS)
def test_hostile_texts_pass_the_published_checks(kind: str, tmp_path: Path) -> None:
    made = lines(hostile_conversations(), tmp_path, kind)
    assert len(made) == len(hostile_conversations())
    for line in made:
        CHECKS[kind](line)


@pytest.mark.corpus
@pytest.mark.parametrize("kind", CHECKS)
def test_the_corpus_passes_the_published_checks(kind: str, tmp_path: Path, corpus: Path) -> None:
    for line in lines(list(corpus_conversations(corpus)), tmp_path, kind):
        CHECKS[kind](line)


parts = st.lists(
    st.one_of(
        st.builds(Text, text=st.sampled_from(["a", "", " ", "long"])),
        st.builds(ToolCall, id=st.sampled_from("12"), name=st.just("read"), arguments=st.sampled_from(["{}", "x", ""])),
    ),
    max_size=3,
)
messages = st.lists(
    st.one_of(
        st.builds(Message, role=st.just("assistant"), parts=parts, turn=st.integers(0, 2)),
        st.builds(
            Message,
            role=st.just("tool"),
            parts=st.lists(st.builds(ToolResult, call_id=st.sampled_from("123"), text=st.just("r")), max_size=2),
            turn=st.integers(0, 2),
        ),
        st.builds(
            Message,
            role=st.sampled_from(["user", "system"]),
            parts=st.lists(st.builds(Text, text=st.sampled_from(["q", ""])), max_size=2),
            turn=st.integers(0, 2),
        ),
    ),
    max_size=10,
)


@pytest.mark.parametrize("kind", CHECKS)
@settings(max_examples=150, deadline=None)
@given(messages=messages)
def test_any_messages_give_lines_that_pass_or_none(
    kind: str, tmp_path_factory: pytest.TempPathFactory, messages: list[Message]
) -> None:
    whole = Conversation(
        id="vscode:x", source="vscode-session", turns=[Turn(index=index) for index in range(3)], messages=messages
    )
    folder = tmp_path_factory.mktemp("lines")
    try:
        made = lines([whole], folder, kind)
    except NothingToWrite:
        return
    for line in made:
        CHECKS[kind](line)


# --- calls and their results ----------------------------------------------------------------------------------------


def test_a_line_has_the_system_prompt_calls_results_and_definitions_of_tools(tmp_path: Path) -> None:
    [line] = lines([a_conversation()], tmp_path)
    assert [message["role"] for message in line["messages"]] == ["system", "user", "assistant", "tool", "assistant"]
    call = line["messages"][2]["tool_calls"][0]
    assert call["function"] == {"name": "read_file", "arguments": '{"path": "tides.csv"}'}
    assert line["messages"][3] == {"role": "tool", "tool_call_id": call["id"], "content": "12 lines"}
    assert line["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {}}


def test_recorded_definitions_of_tools_are_used(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    function = {"name": "read_file", "description": "Read a file", "parameters": schema}
    for extra in (
        {"tools": [[{"type": "function", **function}]]},
        {"agent": {"tool_definitions": [{"type": "function", "function": function}]}},
    ):
        whole = msgspec.structs.replace(a_conversation(), extra=extra)
        [line] = lines([whole], tmp_path)
        assert line["tools"] == [{"type": "function", "function": function}]


def test_in_sharegpt_calls_of_one_message_follow_each_other_with_their_results(tmp_path: Path) -> None:
    whole = a_conversation()
    whole.messages[2].parts.append(ToolCall(id="call-2", name="stat", arguments="{}"))
    whole.messages.insert(4, Message(role="tool", turn=0, parts=[ToolResult(call_id="call-2", text="400 bytes")]))
    done = exported([whole], "sharegpt", tmp_path / "lines.jsonl")
    [line] = lines_of(tmp_path / "lines.jsonl")
    assert [message["from"] for message in line["conversations"]] == [
        "human", "function_call", "observation", "function_call", "observation", "gpt",
    ]  # fmt: skip
    assert line["system"] == "You answer briefly."
    assert left_out_of(done)["texts beside tool calls"] == 1


def test_a_call_without_a_result_and_a_result_without_a_call_are_dropped_and_counted(tmp_path: Path) -> None:
    whole = a_conversation()
    whole.messages[3].parts = [ToolResult(call_id="other", text="?")]
    done = exported([whole], "openai", tmp_path / "lines.jsonl")
    [line] = lines_of(tmp_path / "lines.jsonl")
    assert [message["content"] for message in line["messages"][2:]] == ["Let me look.\n\nIt has 12 lines."]
    assert "tools" not in line
    counted = left_out_of(done)
    assert counted["tool calls without a result"] == 1
    assert counted["results of tools without a call"] == 1


def test_a_call_without_a_result_takes_what_the_terminal_recorded(tmp_path: Path) -> None:
    whole = a_conversation()
    whole.messages[2].parts.append(Terminal(call_id="call-1", command="wc -l", output="12"))
    del whole.messages[3]
    [line] = lines([whole], tmp_path)
    assert line["messages"][3]["content"] == "12"


def test_a_late_result_moves_to_its_call(tmp_path: Path) -> None:
    whole = a_conversation()
    whole.messages.append(whole.messages.pop(3))
    [line] = lines([whole], tmp_path)
    assert [message["role"] for message in line["messages"]] == ["system", "user", "assistant", "tool", "assistant"]


def test_a_text_after_a_call_in_the_same_message_comes_after_its_result(tmp_path: Path) -> None:
    whole = a_conversation()
    whole.messages[2].parts += whole.messages.pop(4).parts
    [line] = lines([whole], tmp_path)
    assert [message["content"] for message in line["messages"][2:]] == ["Let me look.", "12 lines", "It has 12 lines."]


def test_calls_at_the_end_of_a_turn_are_dropped_with_their_results(tmp_path: Path) -> None:
    whole = a_conversation()
    del whole.messages[4]
    done = exported([whole], "openai", tmp_path / "lines.jsonl")
    [line] = lines_of(tmp_path / "lines.jsonl")
    assert line["messages"][-1] == {"role": "assistant", "content": "Let me look."}
    assert left_out_of(done)["tool calls after which nothing was answered"] == 1


def test_arguments_that_are_no_object_become_one(tmp_path: Path) -> None:
    whole = a_conversation()
    whole.messages[2].parts[-1] = ToolCall(id="call-1", name="apply patch!", arguments="*** Begin Patch")
    [line] = lines([whole], tmp_path)
    function = line["messages"][2]["tool_calls"][0]["function"]
    assert json.loads(function["arguments"]) == {"input": "*** Begin Patch"}
    assert function["name"] == line["tools"][0]["function"]["name"] == "apply_patch_"


def test_ids_that_are_long_or_occur_twice_are_replaced(tmp_path: Path) -> None:
    whole = a_conversation()
    long = "c" * 60
    whole.messages[2].parts[-1:] = [ToolCall(id=long, name="read"), ToolCall(id=long, name="read")]
    whole.messages[3].parts = [ToolResult(call_id=long, text="1"), ToolResult(call_id=long, text="2")]
    [line] = lines([whole], tmp_path)
    assert [message["content"] for message in line["messages"][3:5]] == ["1", "2"]
    check_openai(line)


def test_a_subagent_is_an_example_of_its_own(tmp_path: Path) -> None:
    main, helper = lines([with_subagent()], tmp_path)
    assert prompts(main) == ["Read the tide file"]
    assert prompts(helper) == ["Count them"]
    assert helper["messages"][-1]["content"] == "There are 12."


# --- turns ----------------------------------------------------------------------------------------------------------


def test_turns_that_no_longer_count_are_in_no_line(tmp_path: Path) -> None:
    whole = of_turns(turn(0, "One", "1"), turn(1, "Two", "2", superseded="undone"), turn(2, "Three", "3"))
    [line] = lines([whole], tmp_path)
    assert prompts(line) == ["One", "Three"]


def test_a_turn_that_was_undone_in_part_is_in_no_line(tmp_path: Path) -> None:
    whole = of_turns(turn(0, "One", "1"), turn(1, "Two", "2", undone_from=3))
    whole.messages[3].parts[0].position = 2
    assert prompts(lines([whole], tmp_path)[0]) == ["One", "Two"]
    whole.messages[3].parts[0].position = 3
    done = exported([whole], "openai", tmp_path / "lines.jsonl")
    assert prompts(lines_of(tmp_path / "lines.jsonl")[0]) == ["One"]
    assert left_out_of(done) == {"turns that were undone in part": 1}


def test_a_branched_conversation_has_a_line_for_each_end(tmp_path: Path) -> None:
    branch = Branch(leaves_from=0, trace="other.json")
    whole = of_turns(turn(0, "One", "1"), turn(1, "Two", "2"), turn(2, "Other", "3", branch=branch))
    assert [prompts(line) for line in lines([whole], tmp_path)] == [["One", "Two"], ["One", "Other"]]


def test_a_prompt_without_an_answer_is_dropped(tmp_path: Path) -> None:
    whole = of_turns(turn(0, "One", "1"), turn(1, "Two", ""))
    done = exported([whole], "openai", tmp_path / "lines.jsonl")
    assert prompts(lines_of(tmp_path / "lines.jsonl")[0]) == ["One"]
    assert left_out_of(done) == {"prompts without an answer": 1}


# --- options --------------------------------------------------------------------------------------------------------


def test_system_prompts_and_thinking_are_a_choice(tmp_path: Path) -> None:
    done = exported([a_conversation()], "openai", tmp_path / "lines.jsonl", system_prompt=False)
    [line] = lines_of(tmp_path / "lines.jsonl")
    assert line["messages"][0]["role"] == "user"
    counted = left_out_of(done)
    assert (counted["system prompts"], counted["thoughts of models"]) == (1, 1)

    [line] = lines([a_conversation()], tmp_path, thinking=True)
    assert line["messages"][2]["reasoning_content"] == "A file, then."
    [line] = lines([a_conversation()], tmp_path, "sharegpt", thinking=True)
    assert line["conversations"][1]["value"].startswith("<think>\nA file, then.\n</think>\n\n{")


def test_an_example_is_cut_after_an_answer_at_the_maximum_of_tokens(tmp_path: Path) -> None:
    whole = of_turns(*(turn(index, f"{index}" + "a" * 199, "b" * 200) for index in range(5)))  # 100 tokens each
    done = exported([whole], "openai", tmp_path / "lines.jsonl", max_tokens=250)
    [line] = lines_of(tmp_path / "lines.jsonl")
    assert [prompt[0] for prompt in prompts(line)] == ["0", "1"]
    assert left_out_of(done) == {"prompts with their answers beyond the maximum of tokens": 3}
    with pytest.raises(NothingToWrite):
        exported([whole], "openai", tmp_path / "none.jsonl", max_tokens=99)


def edited(decision: Any) -> Conversation:
    whole = of_turns(turn(0, "Edit", "Done"), turn(1, "And?", "Nothing"))
    edit = FileEdit(uri="file:///a.py", path="/a.py", batches=[[TextEdit(1, 1, 1, 1, "x = 1\n")]])
    whole.messages[1].parts.append(edit)
    whole.files = [FileState(uri="file:///a.py", decision=decision)]
    return whole


@pytest.mark.parametrize(
    ("decision", "reason"),
    [
        ("accepted", None),
        ("rejected", "turns whose edits were not kept"),
        ("undecided", "turns whose edits were not kept"),
        (None, "turns whose edits have no recorded decision"),
    ],
)
def test_only_turns_whose_edits_were_kept(decision: Any, reason: str | None, tmp_path: Path) -> None:
    both = [edited(decision), msgspec.structs.replace(edited("accepted"), id="vscode:kept", native_id="kept")]
    done = exported(both, "openai", tmp_path / "lines.jsonl", kept_only=True)
    found = [prompts(line) for line in lines_of(tmp_path / "lines.jsonl")]
    counted = left_out_of(done)
    assert counted["turns without edits"] == 2
    assert len(found) == (1 if reason else 2)
    assert all(each == ["Edit"] for each in found)
    assert reason is None or counted[reason] == 1


def test_near_duplicates_are_left_out_over_all_files_of_an_export(tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(200)]
    first = of_turns(turn(0, " ".join(words), "An answer to this."))
    second = of_turns(turn(0, " ".join([*words[:100], "other", *words[101:]]), "An answer to this."))
    third = of_turns(turn(0, " ".join(reversed(words)), "Something else."))
    second.id, third.id = "vscode:second", "vscode:third"

    made = lines([first, second, third], tmp_path, unique=True)
    assert len(made) == 2
    done = exported([first, second, third], "openai", tmp_path / "folder", unique=True)
    assert left_out_of(done)["examples that nearly repeat another one"] == 1
    assert len([path for path in done.paths if path.suffix == ".jsonl"]) == 2


# --- near duplicates ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [0.0, 0.3, 0.6, 0.9, 1.0])
def test_the_likeness_of_sketches_is_about_that_of_the_texts(shared: float) -> None:
    seeded = random.Random(7)
    errors = []
    for _ in range(20):
        common = [str(seeded.random()) for _ in range(int(2000 * shared))]
        one, other = ([*common, *(str(seeded.random()) for _ in range(2000 - len(common)))] for _ in "12")
        union = 4000 - len(common)
        errors.append(likeness(sketch_of(" ".join(one)), sketch_of(" ".join(other))) - len(common) / union)
    assert abs(sum(errors) / len(errors)) < 0.1


@given(st.text(max_size=500))
def test_any_text_repeats_itself(text: str) -> None:
    seen = NearDuplicates()
    assert not seen.has_like(text)
    assert seen.has_like(text)


def test_time_grows_with_the_number_of_texts_and_not_with_its_square() -> None:
    def seconds(number: int) -> float:
        seeded, seen = random.Random(number), NearDuplicates()
        texts = [" ".join(str(seeded.randrange(5000)) for _ in range(120)) for _ in range(number)]
        started = time.process_time()
        assert sum(map(seen.has_like, texts)) == 0
        return time.process_time() - started

    assert seconds(2000) < 20 * seconds(200)
