"""The catalogue of prompt tags: what it knows, and catalogues of one's own."""

import re
from pathlib import Path
from typing import get_args

import pytest

from copilog.tags import INJECTED_ALONE, Origin, Role, blocks, is_html_name, load_catalogue, user_text

CONVERSATION_TAGS = {
    *("userRequest", "user_query", "prompt", "userPrompt", "UserRequest", "user"),
    *("environment_info", "workspace_info", "context", "todoList", "editorContext", "repoContext"),
    *("reminderInstructions", "additional_skills_reminder", "attachments", "attachment", "error", "toolReferences"),
    *("conversation-summary", "analysis", "summary", "instructions", "instruction", "modeInstructions"),
    *("customInstructions", "skills", "skill", "agents", "agent"),
    *("userMemory", "sessionMemory", "repoMemory", "repository_memories"),
    *("memoryInstructions", "memoryScopes", "memoryGuidelines", "repoMemoryInstructions", "examples", "factsCriteria"),
    *("availableDeferredTools", "toolSearchInstructions", "dynamicToolDiscovery", "resource"),
    *("match", "file", "cell-output", "notebook-cell-output", "execution-summaries", "cell-execution-error"),
    *("skill-context", "skill_instructions"),
}
RULE_TAGS = {"toolUseInstructions", "good-example", "values", "principle", "principles", "extensionSearchResponseRules"}
OTHER_TAGS = {
    "file-selection",
    "selected-code",
    "reminder",
    "codeToTest",
    "code-changes",
    "settings",
    "Response",
    "schema",
}


def test_the_catalogue_lists_each_name_once_with_valid_origin_and_roles() -> None:
    tags = load_catalogue().tags

    assert len({tag.name for tag in tags}) == len(tags)
    assert {tag.origin for tag in tags} == set(get_args(Origin))
    assert all(tag.roles and set(tag.roles) <= set(get_args(Role)) for tag in tags)
    assert all(re.compile(tag.pattern) for tag in tags if tag.pattern)


@pytest.mark.parametrize("expected", [CONVERSATION_TAGS, RULE_TAGS, OTHER_TAGS])
def test_the_catalogue_has_the_tags_of_every_surface(expected: set[str]) -> None:
    assert expected <= {tag.name for tag in load_catalogue().tags}


def test_rules_of_the_product_belong_to_the_system_message() -> None:
    found = [load_catalogue().get(name) for name in sorted(RULE_TAGS)]

    assert {(tag.origin, tag.roles) for tag in found if tag} == {("injected", ("system",))}


def test_context_of_an_injected_message_is_never_the_users_text() -> None:
    assert load_catalogue().context_names >= INJECTED_ALONE


def test_tags_say_where_a_context_scan_files_them() -> None:
    keys = {tag.name: tag.key for tag in load_catalogue().tags}

    assert keys["context"] == "context_info"
    assert keys["editorContext"] == "editor_context"
    assert keys["user_query"] == "user_request"
    assert keys["selected-code"] == "code_to_edit"
    assert keys["toolUseInstructions"] is None


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("channel_use_instructions", "channel_*_instructions"),
        ("settingExample", "*Example"),
        ("testExample", "testExample"),
    ],
)
def test_a_family_answers_for_names_that_have_no_entry(name: str, family: str) -> None:
    tag = load_catalogue().get(name)

    assert tag is not None
    assert tag.name == family


def test_an_unknown_name_and_the_name_of_a_family_are_no_tags() -> None:
    assert load_catalogue().get("div") is None
    assert load_catalogue().get("channel_*_instructions") is None


def test_the_bundled_catalogue_is_read_once() -> None:
    assert load_catalogue() is load_catalogue()


def test_a_custom_catalogue_replaces_the_bundled_one(tmp_path: Path) -> None:
    file = tmp_path / "tags.json"
    file.write_text('[{"name": "house", "key": null, "origin": "injected", "roles": ["user"], "is_context": true}]')
    catalogue = load_catalogue(file)

    assert user_text("<house>\nrules\n</house>\nhello", catalogue) == "hello"
    assert user_text("<context>\nmine\n</context>", catalogue) is None, "what makes a message injected is fixed"
    assert [block.name for block in blocks("<context>x</context><house>y</house>", catalogue=catalogue)] == ["house"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{}", "array"),
        ("[{", "truncated"),
        ('[{"name": "a", "origin": "heaven", "roles": []}]', "heaven"),
        ('[{"name": "a", "origin": "user", "roles": ["boss"]}]', "boss"),
        ('[{"name": "a", "origin": "user", "roles": [], "keys": 1}]', "keys"),
        ('[{"name": "a b", "origin": "user", "roles": []}]', '"a b" cannot be a tag name'),
        ('[{"name": "a*", "pattern": "(", "origin": "user", "roles": []}]', 'pattern of the tag "a*"'),
        (
            '[{"name": "a", "origin": "user", "roles": []}, {"name": "a", "origin": "user", "roles": []}]',
            '"a" is listed',
        ),
    ],
)
def test_a_malformed_catalogue_is_named_with_the_reason(tmp_path: Path, content: str, reason: str) -> None:
    file = tmp_path / "mine.json"
    file.write_text(content)

    with pytest.raises(ValueError) as failure:
        load_catalogue(file)

    assert "mine.json is not a tag catalogue" in str(failure.value)
    assert reason in str(failure.value)


def test_the_catalogue_caches_a_limited_number_of_names() -> None:
    catalogue = load_catalogue()

    for number in range(30_000):
        assert catalogue.get(f"name{number}") is None
    assert catalogue.get("context") is not None
    assert catalogue.get("channel_x_instructions") is not None


def test_names_of_html_are_recognised_in_any_case() -> None:
    assert is_html_name("div")
    assert is_html_name("TABLE")
    assert not is_html_name("context")
