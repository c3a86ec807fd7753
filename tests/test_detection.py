"""Detection: which agent was at work, which skills were offered and loaded, and by what evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog import ingest
from copilog.definitions import Definition, definitions_in
from copilog.detection import detect, usage_of_definitions
from copilog.model import (
    Agent,
    AnyPart,
    Attachment,
    Conversation,
    CustomAgent,
    Mention,
    Message,
    Mode,
    Place,
    Prompt,
    Role,
    Skill,
    SubAgent,
    Text,
    ToolCall,
    ToolResult,
    Turn,
)

WORKSPACE = Path(__file__).parent / "data" / "definitions" / "workspace"
FROST = "/home/ana/herbarium/.github/skills/frost-chart/SKILL.md"
INDEX = f"""<skills>
Here is what there is.
<skill>
<name>Frost chart</name>
<description>Draws nights with frost</description>
<file>{FROST}</file>
</skill>
<skill>
<name>pressing</name>
<file>vscode-chat-internal:/skills/pressing/SKILL.md</file>
</skill>
</skills>"""
TUTOR = Definition(
    kind="mode",
    name="tutor",
    path="/home/ana/herbarium/.github/chatmodes/tutor.chatmode.md",
    body="Explain plants and programs\nstep by step, and ask a question back.\n",
)
FROST_SKILL = Definition(kind="skill", name="Frost chart", path=FROST, description="Draws nights with frost")


def says(role: Role, *parts: AnyPart, turn: int | None = 0, parent: str | None = None) -> Message:
    return Message(role=role, parts=list(parts), turn=turn, parent_call_id=parent)


def conversation(*messages: Message, turns: list[Turn] | None = None) -> Conversation:
    return Conversation(id="x:1", source="x", turns=turns or [Turn(index=0)], messages=list(messages))


def after(*messages: Message, turn: Turn | None = None, definitions: list[Definition] | None = None) -> Turn:
    """Return the one turn of a conversation with these messages, after detection."""
    made = conversation(*messages, turns=[turn or Turn(index=0)])
    detect(made, definitions or [])
    return made.turns[0]


def call(name: str, status: Literal["complete", "denied"] = "complete", **arguments: Any) -> Message:
    return says("assistant", ToolCall(id="c1", name=name, arguments=json.dumps(arguments), status=status))


def told(turn: Turn) -> list[tuple[str, bool, str]]:
    return [(skill.name, skill.is_loaded, skill.evidence) for skill in turn.skills]


def mode_prompt(name: str) -> str:
    lead = f'You are currently running in "{name}" mode. Below are your instructions.'
    return f"<rules>\nBe good.\n</rules>\n<modeInstructions>\n{lead}\n\nLook closely.\nSay why.\n</modeInstructions>\n"


# --- the agent in the prompt ------------------------------------------------------------------------------------


def test_the_prompt_names_the_mode_it_runs_in() -> None:
    turn = after(says("system", Prompt(text=mode_prompt("Reviewer"), scope="system")))

    assert turn.custom_agent == CustomAgent(
        name="Reviewer", instructions="Look closely.\nSay why.", evidence="modeInstructions"
    )


def test_the_evidence_names_the_file_that_defines_the_agent() -> None:
    reviewer = Definition(kind="agent", name="Reviewer", path="/home/ana/reviewer.agent.md")

    turn = after(says("user", Prompt(text=mode_prompt("Reviewer"))), definitions=[reviewer])

    assert turn.custom_agent is not None
    assert turn.custom_agent.evidence == "modeInstructions, defined in /home/ana/reviewer.agent.md"
    assert turn.custom_agent.uri == "file:///home/ana/reviewer.agent.md"


@pytest.mark.parametrize("name", ["Plan", "Ask", "Edit", "Agent", "Explore"])
def test_a_built_in_mode_is_not_a_custom_agent_unless_it_is_defined(name: str) -> None:
    prompt = says("system", Prompt(text=mode_prompt(name), scope="system"))

    assert after(prompt).custom_agent is None
    defined = after(prompt, definitions=[Definition(kind="agent", name=name, path="/x.md")]).custom_agent
    assert defined is not None
    assert defined.name == name


def test_recorded_agents_are_not_replaced() -> None:
    recorded = CustomAgent(name="gardener", evidence="modeInfo")
    prompt = says("system", Prompt(text=mode_prompt("Reviewer"), scope="system"))

    assert after(prompt, turn=Turn(index=0, custom_agent=recorded)).custom_agent == recorded
    assert after(prompt, turn=Turn(index=0, mode=Mode(kind="agent", is_builtin=True))).custom_agent is None


def test_a_mode_that_a_source_read_from_the_prompt_is_enough() -> None:
    mode = Mode(kind="agent", name="Reviewer", evidence="prompt text")
    recorded = Mode(kind="agent", name="plan", evidence="agentMode")

    found = after(turn=Turn(index=0, mode=mode)).custom_agent
    assert found == CustomAgent(name="Reviewer", evidence="prompt text")
    assert after(turn=Turn(index=0, mode=recorded)).custom_agent is None


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("Explain plants and programs step by step,\r\n  and ask a question back.", "the text of"),
        ("The user has more to say.\n\nExplain plants and programs step by step, and ask a question back.", "holding"),
    ],
)
def test_instructions_without_a_name_are_compared_with_the_definitions(text: str, relation: str) -> None:
    prompt = Prompt(text=f"<customInstructions>\n{text}\n</customInstructions>", scope="system")

    agent = after(says("system", prompt), definitions=[TUTOR]).custom_agent

    assert agent is not None
    assert (agent.name, agent.instructions) == ("tutor", text)
    assert agent.evidence.startswith(f"customInstructions, {relation}")
    assert agent.evidence.endswith(TUTOR.path)


def test_instructions_without_a_definition_are_of_an_unnamed_agent() -> None:
    prompt = Prompt(text="<customInstructions>\nSing.\n</customInstructions>", scope="system")
    short = Definition(kind="agent", name="short", path="/short.md", body="Si")

    agent = after(says("system", prompt), definitions=[TUTOR, short]).custom_agent

    assert agent == CustomAgent(instructions="Sing.", evidence="customInstructions")


def test_a_file_about_copilot_is_no_evidence() -> None:
    text = f'<attachments>\n<attachment id="notes">\n{mode_prompt("Reviewer")}{INDEX}\n</attachment>\n</attachments>\n'

    turn = after(says("user", Prompt(text=f"{text}<userRequest>\n{mode_prompt('Critic')}\n</userRequest>")))

    assert turn.custom_agent is None
    assert turn.skills == []


def test_the_instructions_of_a_sub_agent_are_not_those_of_the_turn() -> None:
    prompt = says("system", Prompt(text=mode_prompt("Reviewer") + INDEX, scope="system"), parent="c1")

    turn = after(prompt)

    assert turn.custom_agent is None
    assert [skill.name for skill in turn.skills] == ["Frost chart", "pressing"]


# --- the agent that was called ----------------------------------------------------------------------------------


def test_a_mentioned_agent_counts_if_it_is_defined() -> None:
    message = says("user", Text(text="@TUTOR why?"), Mention(type="agent", name="TUTOR"))

    assert after(message).custom_agent is None
    agent = after(message, definitions=[TUTOR]).custom_agent
    assert agent is not None
    assert (agent.name, agent.evidence) == ("TUTOR", f"@mention, defined in {TUTOR.path}")


def test_a_mentioned_participant_is_a_custom_agent_unless_it_is_copilots_own() -> None:
    message = says("user", Text(text="@herbs why?"), Mention(type="agent", name="herbs"))
    herbs = Turn(index=0, agent=Agent(id="ana.herbs", name="herbs", extension="ana.herbs"))
    own = Turn(index=0, agent=Agent(id="github.copilot.herbs", name="herbs", extension="GitHub.copilot-chat"))

    assert after(message, turn=herbs).custom_agent == CustomAgent(name="herbs", evidence="@mention of a participant")
    assert after(message, turn=own).custom_agent is None


def test_a_name_in_the_text_counts_only_in_its_exact_spelling() -> None:
    definitions = [TUTOR]

    agent = after(says("user", Text(text="ask @tutor, please")), definitions=definitions).custom_agent
    assert agent is not None
    assert agent.evidence == f"@mention in the text, defined in {TUTOR.path}"
    for words in ("write to ana@tutor.example.com", "@Tutor class in pasted code", "@somebody", "tutor"):
        assert after(says("user", Text(text=words)), definitions=definitions).custom_agent is None
    assert after(says("assistant", Text(text="ask @tutor")), definitions=definitions).custom_agent is None


# --- skills on offer --------------------------------------------------------------------------------------------


def test_skills_in_the_prompt_and_in_an_attachment_are_on_offer() -> None:
    prompt = says("system", Prompt(text=INDEX, scope="system"))
    attached = says("user", Text(text="hello"), Attachment(type="prompt-text", text=INDEX))

    assert told(after(prompt)) == [("Frost chart", False, "prompt index"), ("pressing", False, "prompt index")]
    turn = after(prompt, attached)
    assert told(turn)[0] == ("Frost chart", False, "prompt index; attached index")
    assert (turn.skills[0].file, turn.skills[0].description) == (FROST, "Draws nights with frost")


def test_a_prompt_before_the_first_turn_belongs_to_it() -> None:
    early = says("system", Prompt(text=INDEX, scope="system"), turn=None)
    late = says("tool", ToolResult(call_id="c9", text='<skill-context name="lost">'), turn=None)

    turn = after(early, says("user", Text(text="hello")), late)

    assert [skill.name for skill in turn.skills] == ["Frost chart", "pressing"]


# --- skills that were loaded ------------------------------------------------------------------------------------


def test_the_skill_tool_loads_a_skill() -> None:
    assert told(after(call("skill", skill="packing"))) == [("packing", True, "tool call")]
    assert told(after(call("skill", status="denied", skill="packing"))) == []
    assert told(after(call("skill", skill=3))) == []

    turn = after(call("skill", skill="frost CHART"), definitions=[FROST_SKILL])
    assert turn.skills == [
        Skill(
            name="Frost chart",
            file=FROST,
            description="Draws nights with frost",
            is_loaded=True,
            evidence="tool call",
        )
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "name"),
    [
        ("read_file", {"filePath": FROST, "startLine": 1}, "frost-chart"),
        ("copilot_readFile", {"filePath": r"C:\Users\Ana\skills\Frost\skill.MD"}, "Frost"),
        ("view", {"path": "/home/ana/.copilot/skills/packing/SKILL.md"}, "packing"),
        ("Read", {"file_path": ".claude/skills/pressing/SKILL.md"}, "pressing"),
        ("read_file", {"filePath": "vscode-chat-internal:/skills/pressing%20paper/SKILL.md"}, "pressing paper"),
        ("read_file", {"filePath": "copilot-skill:/pressing/SKILL.md"}, "pressing"),
        ("str_replace_editor", {"command": "view", "path": "/x/pressing/SKILL.md"}, "pressing"),
    ],
)
def test_reading_the_file_of_a_skill_loads_it(tool: str, arguments: dict[str, Any], name: str) -> None:
    assert told(after(call(tool, **arguments))) == [(name, True, "SKILL.md read")]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("create_file", {"filePath": FROST}),
        ("str_replace_editor", {"command": "create", "path": FROST}),
        ("read_file", {"filePath": "/home/ana/notes/MYSKILL.md"}),
        ("read_file", {"filePath": "SKILL.md"}),
        ("read_file", {"filePath": "/" * 5000 + "x/SKILL.md"}),
        ("read_file", {"filePath": None}),
    ],
)
def test_other_calls_load_nothing(tool: str, arguments: dict[str, Any]) -> None:
    assert told(after(call(tool, **arguments))) == []


def test_the_index_names_a_skill_and_reading_it_in_pieces_counts_once() -> None:
    prompt = says("system", Prompt(text=INDEX, scope="system"))
    first = call("read_file", filePath=FROST, startLine=1, endLine=50)
    second = call("read_file", filePath=f"file://{FROST}", startLine=51)

    turn = after(prompt, first, second)

    assert told(turn) == [("Frost chart", True, "prompt index; SKILL.md read"), ("pressing", False, "prompt index")]


def test_a_definition_gives_a_skill_its_name() -> None:
    turn = after(call("read_file", filePath=FROST), definitions=[FROST_SKILL])

    assert told(turn) == [("Frost chart", True, "SKILL.md read")]
    assert turn.skills[0].description == "Draws nights with frost"


def test_a_shown_path_is_enough_evidence_of_reading() -> None:
    shown = {"pastTenseMessage": {"value": f"Read [](file://{FROST}#1-1), lines 1 to 9"}}
    read = ToolCall(id="c1", name="copilot_readFile", status="complete", extra=shown)

    assert told(after(says("assistant", read))) == [("frost-chart", True, "SKILL.md read")]


def test_a_skill_that_came_with_a_result_is_loaded() -> None:
    result = ToolResult(call_id="c1", text='\n<skill-context name="packing">\nDry first.\n</skill-context>')
    quoted = ToolResult(call_id="c1", text='The tag is <skill-context name="packing">, as the notes say.')

    assert told(after(says("tool", result))) == [("packing", True, "skill-context")]
    assert told(after(says("tool", quoted))) == []


def test_a_skill_that_was_put_into_a_prompt_is_loaded() -> None:
    text = 'The user called a skill.\n<skill-context name="packing">\nDry first.\n</skill-context>'

    assert told(after(says("user", Prompt(text=text)))) == [("packing", True, "skill-context")]


def test_a_slash_command_may_be_a_skill() -> None:
    request = f'<userRequest>\n<attachment id="prompt:frost" filePath="{FROST}">\nDraw.\n</attachment>\n</userRequest>'
    attached = Attachment(type="prompt-file", place=Place(uri=f"file://{FROST}", path=FROST))
    mention = Mention(type="prompt", name="packing")
    packing = Definition(kind="skill", name="packing", path="/p/packing/SKILL.md")
    same_name = Definition(kind="prompt", name="packing", path="/p/packing.prompt.md")

    assert told(after(says("user", Prompt(text=request)))) == [("frost-chart", True, "slash command")]
    assert told(after(says("user", attached))) == [("frost-chart", True, "slash command")]
    assert told(after(says("user", mention))) == []
    assert told(after(says("user", mention), definitions=[packing])) == [("packing", True, "slash command")]
    assert told(after(says("user", mention), definitions=[packing, same_name])) == []


def test_a_file_in_the_folder_of_a_skill_is_a_resource_and_does_not_load_it() -> None:
    assert told(after(call("read_file", filePath="/x/.agents/skills/Sorting/lists/a.md"))) == [
        ("Sorting", False, "skill resource")
    ]
    elsewhere = Definition(kind="skill", name="Far away", path="/opt/pack/far/SKILL.md")
    assert told(after(call("read_file", filePath="/opt/pack/far/deep/a.md"), definitions=[elsewhere])) == [
        ("Far away", False, "skill resource")
    ]
    assert told(after(call("read_file", filePath="/opt/pack/near/a.md"), definitions=[elsewhere])) == []


def test_recorded_fields_of_a_skill_stay_and_loaded_has_priority_over_offered() -> None:
    recorded = [
        Skill(name="packing", file="/p/SKILL.md", evidence="session.skills_loaded"),
        Skill(name="Packing", is_loaded=True, evidence="skill.invoked"),
    ]

    turn = after(call("skill", skill="packing"), turn=Turn(index=0, skills=recorded))

    assert turn.skills == [
        Skill(
            name="packing",
            file="/p/SKILL.md",
            is_loaded=True,
            evidence="session.skills_loaded; skill.invoked; tool call",
        )
    ]


def test_each_turn_has_its_own_skills() -> None:
    made = conversation(
        says("system", Prompt(text=INDEX, scope="system"), turn=0),
        says("assistant", ToolCall(id="c1", name="skill", arguments='{"skill":"pressing"}'), turn=1),
        turns=[Turn(index=0), Turn(index=1), Turn(index=2)],
    )

    detect(made)

    assert [[skill.is_loaded for skill in turn.skills] for turn in made.turns] == [[False, False], [True], []]
    assert made.turns[1].skills[0].file == "vscode-chat-internal:/skills/pressing/SKILL.md"


# --- use --------------------------------------------------------------------------------------------------------


def test_use_is_counted_by_turn_and_undefined_names_are_listed() -> None:
    definitions = list(definitions_in(WORKSPACE))
    path_of = {made.name: made.path for made in definitions}
    offers = "<agents>\n<agent>\n<name>gardener</name>\n</agent>\n</agents>"
    made = conversation(
        says("system", Prompt(text=mode_prompt("Reviewer") + offers, scope="system"), turn=0),
        says("user", Mention(type="prompt", name="release"), turn=0),
        says("assistant", ToolCall(id="c1", name="runSubagent", subagent=SubAgent(name="archivist")), turn=0),
        says("assistant", ToolCall(id="c2", name="runSubagent", subagent=SubAgent(name="Explore")), turn=0),
        says("user", Attachment(type="prompt-file", place=Place(path=path_of["AGENTS"])), turn=1),
        says("assistant", ToolCall(id="c3", name="skill", arguments='{"skill":"unheard"}'), turn=1),
        says("assistant", ToolCall(id="c4", name="view", arguments=json.dumps({"path": path_of["sorting"]})), turn=1),
        says("system", Prompt(text=mode_prompt("Stranger"), scope="system"), turn=1),
        turns=[Turn(index=0), Turn(index=1)],
    )
    detect(made, definitions)

    usage = usage_of_definitions([made, made], definitions)

    used = {use.name: (use.used, use.conversations) for use in usage.definitions if use.used}
    assert used == dict.fromkeys(("Reviewer", "archivist", "release", "AGENTS", "sorting"), (2, 2))
    assert {use.name: use.offered for use in usage.definitions if use.offered} == {"gardener": 2}
    assert usage.undefined_agents == {"Stranger": 2}
    assert usage.undefined_skills == {"unheard": 2}
    assert [use.name for use in usage.never_used if use.kind == "agent"] == ["gardener"]
    assert msgspec.json.encode(usage)


# --- any conversation -------------------------------------------------------------------------------------------

PIECES = [
    *(
        "<modeInstructions>",
        "</modeInstructions>",
        'You are currently running in "tutor" mode.',
        "<customInstructions>",
    ),
    *("</customInstructions>", INDEX, "<skills>", "</skills>", "<skill>", "<name>", "</name>", "<file>", "</file>"),
    *('<skill-context name="packing">', "<userRequest>", "</userRequest>", f'<attachment filePath="{FROST}">'),
    *("</attachment>", "@tutor", "SKILL.md", "/", "\\", "%20", "file://", ":", '"', "{", "}", "\n", "x", "ß", "\ud800"),
]
texts = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
paths = st.one_of(
    texts,
    st.sampled_from(
        [FROST, "/opt/a/SKILL.md", "/opt/a/b.md", "/x/.agents/skills/A/b.md", "/y/skills/packing/skill.md"]
    ),
)
arguments = st.one_of(st.none(), texts, paths.map(lambda path: json.dumps({"path": path, "skill": path})))
names = st.sampled_from(["read_file", "view", "skill", "tutor", "packing", "Frost chart", "A", ""])
parts: st.SearchStrategy[AnyPart] = st.one_of(
    st.builds(Text, text=texts),
    st.builds(Prompt, text=texts),
    st.builds(ToolCall, id=st.just("c1"), name=names, arguments=arguments),
    st.builds(ToolResult, call_id=st.just("c1"), text=texts),
    st.builds(Mention, type=st.sampled_from(["agent", "prompt", "file"]), name=names),
    st.builds(Attachment, type=st.sampled_from(["prompt-text", "prompt-file"]), text=texts),
    st.builds(Attachment, type=st.just("prompt-file"), place=st.builds(Place, uri=paths)),
)
messages = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    parts=st.lists(parts, max_size=4),
    turn=st.sampled_from([None, 0, 1, 2, 7]),
    parent_call_id=st.sampled_from([None, None, "c1"]),
)
skills = st.builds(Skill, name=names, file=st.none() | paths, is_loaded=st.booleans(), evidence=st.just("recorded"))
conversations = st.builds(
    lambda messages, skills: conversation(
        *messages, turns=[Turn(index=0), Turn(index=1, skills=skills), Turn(index=2, mode=Mode(name="x"))]
    ),
    st.lists(messages, max_size=6),
    st.lists(skills, max_size=3, unique_by=lambda skill: skill.name.casefold()),
)


@given(conversations, st.sampled_from([[], [TUTOR], [TUTOR, FROST_SKILL]]))
def test_detection_accepts_any_conversation_and_is_idempotent(
    made: Conversation, definitions: list[Definition]
) -> None:
    recorded = list(made.turns[1].skills)

    detect(made, definitions)
    first_look = [(turn.custom_agent, list(turn.skills)) for turn in made.turns]
    detect(made, definitions)

    assert [(turn.custom_agent, turn.skills) for turn in made.turns] == first_look
    for turn in made.turns:
        keys = [skill.name.casefold() for skill in turn.skills]
        assert len(keys) == len(set(keys))
    for skill in recorded:
        [kept] = [found for found in made.turns[1].skills if found.name.casefold() == skill.name.casefold()]
        assert kept.is_loaded >= skill.is_loaded
        assert "recorded" in kept.evidence
    usage_of_definitions([made], definitions)


@pytest.mark.corpus
def test_detection_accepts_real_conversations_and_is_idempotent(corpus: Path) -> None:
    definitions = list(definitions_in(WORKSPACE))
    for made in ingest.read(corpus):
        detect(made, definitions)
        first_look = [(turn.custom_agent, list(turn.skills)) for turn in made.turns]
        detect(made, definitions)
        assert [(turn.custom_agent, turn.skills) for turn in made.turns] == first_look
