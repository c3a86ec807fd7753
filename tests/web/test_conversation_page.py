"""The page of a conversation: what it serves, and how it reads in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, Route, expect
from starlette.testclient import TestClient

from copilog.model import (
    Attachment,
    Conversation,
    FileEdit,
    Message,
    Model,
    Provenance,
    Relation,
    ResultItem,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
)
from copilog.store.archive import Archive
from copilog.writers.html.conversation import warm_up
from tests.stored import concluded_entry

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d494844520000000100000001080600000 01f15c489".replace(" ", "")
    + "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)

DIFF = "--- a/src/tides.py\n+++ b/src/tides.py\n@@ -1,2 +1,2 @@\n import math\n-low = 1\n+low = 2\n"
FULL = "vscode:4a0c3cbc-935d-4c2d-b31d-bfe59e1b8723"  # of the sample: sub-agents, edits, lists, hooks


def where(conversation_id: str, below: str = "", **values: object) -> str:
    return f"/conversation{below}?{urlencode({'id': conversation_id, **values})}"


def stored(path: Path, conversation: Conversation) -> Path:
    with Archive(path, write=True) as archive:
        archive.put(concluded_entry(conversation), f"signature {len(conversation.messages)}")
        archive.index_pending()
    return path


def told(messages: list[Message], turns: int) -> Conversation:
    return Conversation(
        id="vscode:tides",
        native_id="tides",
        source="vscode-session",
        title="About tides",
        turns=[
            Turn(
                index=index,
                pointer=f"/requests/{index}",
                status="complete",
                model=Model(id="copilot/gpt-5", name="gpt-5"),
            )
            for index in range(turns)
        ],
        messages=messages,
        provenance=[Provenance(source="vscode-session", path="/home/ana/chatSessions/tides.json", size=100)],
    )


def many_messages(count: int) -> Conversation:
    """Return a long conversation with thinking and a tool call, and one word that occurs only in the middle."""
    messages: list[Message] = []
    for turn in range(count // 4):
        answer = f"Answer {turn}: **{turn}** cm" + (" with kelp" if turn == count // 8 else "")
        messages += [
            Message(role="user", turn=turn, parts=[Text(text=f"Question {turn}?")]),
            Message(
                role="assistant",
                turn=turn,
                parts=[
                    Thinking(text=f"thought {turn}"),
                    ToolCall(id=f"c{turn}", name="read_file", status="complete", arguments='{"filePath": "/t.py"}'),
                ],
            ),
            Message(role="tool", turn=turn, parts=[ToolResult(call_id=f"c{turn}", text=f"height = {turn}")]),
            Message(role="assistant", turn=turn, parts=[Text(text=answer)]),
        ]
    return told(messages, count // 4)


@pytest.fixture
def with_pictures(tmp_path: Path) -> Path:
    """Return an archive with pictures, and with files that only have the name of one."""
    vector = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
    attachments = [
        Attachment(type="image", name="chart.png", data=PNG, mime_type="image/png"),
        Attachment(type="image", name="x.svg", data=vector, mime_type="image/png"),
        Attachment(type="image", name="../../etc/passwd", mime_type="image/png"),
    ]
    call = ToolCall(id="c1", name="draw")
    items = [ResultItem(text="x" * 50_000), ResultItem(data=PNG, mime_type="text/html")]
    messages = [
        Message(role="user", turn=0, parts=[Text(text="Look"), *attachments]),
        Message(role="assistant", turn=0, parts=[call]),
        Message(role="tool", turn=0, parts=[ToolResult(call_id="c1", text="<b>" + "y" * 50_000, items=items)]),
    ]
    return stored(tmp_path / "pictures.db", told(messages, 1))


# --- what is served ---------------------------------------------------------------------------------------------


def test_every_conversation_of_the_sample_has_a_page(client: TestClient, viewer_archive: Path) -> None:
    with Archive(viewer_archive) as archive:
        ids = [summary.id for summary in archive.list(include_empty=True)]

    for conversation_id in ids:
        assert client.get(where(conversation_id)).status_code == 200
        for part in ("/messages", "/outline", "/panel"):
            assert client.get(where(conversation_id, part)).status_code == 200


def test_the_page_opens_at_a_message_and_at_a_turn(client_of: Callable[[Path], TestClient], tmp_path: Path) -> None:
    client = client_of(stored(tmp_path / "many.db", many_messages(400)))

    assert 'id="m-300"' not in client.get(where("vscode:tides")).text
    assert 'id="m-300"' in client.get(where("vscode:tides", message=300)).text
    assert 'id="t-60"' in client.get(where("vscode:tides", turn=60)).text
    assert 'id="m-399"' in client.get(where("vscode:tides", "/messages", around=100_000)).text


def test_words_are_found_in_messages_that_are_not_on_the_page(
    client_of: Callable[[Path], TestClient], tmp_path: Path
) -> None:
    client = client_of(stored(tmp_path / "many.db", many_messages(400)))

    assert client.get(where("vscode:tides", "/find", q="KELP")).json()["messages"] == [203]
    assert len(client.get(where("vscode:tides", "/find", q="height =")).json()["messages"]) == 100
    assert client.get(where("vscode:tides", "/find", q=" ")).json()["messages"] == []


def test_raw_json_comes_with_its_file_and_place(client: TestClient) -> None:
    part = client.get(where(FULL, "/raw", message=1, part=3)).text
    turn = client.get(where(FULL, "/raw", turn=0)).text
    message = client.get(where(FULL, "/raw", message=1)).text

    assert "4a0c3cbc-935d-4c2d-b31d-bfe59e1b8723.jsonl" in part
    assert "thinking_YzgBOxaA" in part
    assert "Part of the response" in part
    assert "pointer" in turn
    assert "Message 2" in message


def test_related_conversations_are_links_where_they_can_be_opened(
    client_of: Callable[[Path], TestClient], own_archive: Path
) -> None:
    forked = told([Message(role="user", turn=0, parts=[Text(text="Again?")])], 1)
    forked.relations = [Relation(kind="fork", other_id=FULL), Relation(kind="fork", other_id="vscode:elsewhere")]
    panel = client_of(stored(own_archive, forked)).get(where(forked.id, "/panel")).text

    assert f'<a href="{where(FULL)}">' in panel
    assert "vscode:elsewhere" in panel
    assert where("vscode:elsewhere") not in panel


def test_pictures_come_from_the_conversation_and_are_pictures(
    client_of: Callable[[Path], TestClient], with_pictures: Path
) -> None:
    client = client_of(with_pictures)

    picture = client.get(where("vscode:tides", "/attachment", message=0, part=1))
    assert picture.content == PNG
    assert picture.headers["content-type"] == "image/png"
    assert "sandbox" in picture.headers["content-security-policy"]
    assert picture.headers["x-content-type-options"] == "nosniff"
    assert picture.headers["content-disposition"] == 'inline; filename="picture.png"'
    drawn = client.get(where("vscode:tides", "/attachment", message=2, part=0, item=1))
    assert drawn.headers["content-type"] == "image/png"
    for part in (0, 2, 3, 9):
        assert client.get(where("vscode:tides", "/attachment", message=0, part=part)).status_code == 404


def test_long_texts_are_served_as_plain_text(client_of: Callable[[Path], TestClient], with_pictures: Path) -> None:
    client = client_of(with_pictures)

    text = client.get(where("vscode:tides", "/text", message=2, part=0, field="text"))
    assert text.text.startswith("<b>yyy")
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    assert "sandbox" in text.headers["content-security-policy"]
    assert len(client.get(where("vscode:tides", "/text", message=2, part=0, field="item-0")).text) == 50_000
    for field in ("__class__", "call_id", "item-7", "item-x"):
        assert client.get(where("vscode:tides", "/text", message=2, part=0, field=field)).status_code == 404


@pytest.mark.parametrize(
    ("address", "status"),
    [
        (where("vscode:nobody"), 404),
        ("/conversation", 404),
        (where(FULL, message="x"), 400),
        (where(FULL, "/messages", **{"from": "-1"}), 400),
        (where(FULL, "/raw", message=999), 404),
        (where(FULL, "/raw", message=0, part=999), 404),
        (where(FULL, "/raw", turn=999), 404),
        (where(FULL, "/attachment", message=0), 404),
        (where(FULL, "/text", message=0, part=0, field="nothing"), 404),
        (where(FULL, "/below", call="nobody", skip=3), 200),
    ],
)
def test_missing_messages_and_parts_are_404s(client: TestClient, address: str, status: int) -> None:
    assert client.get(address).status_code == status


def test_a_conversation_of_5000_messages_opens_with_one_window(
    client_of: Callable[[Path], TestClient], tmp_path: Path
) -> None:
    client = client_of(stored(tmp_path / "many.db", many_messages(5000)))
    warm_up()
    took: list[float] = []
    for address in (where("vscode:tides"), where("vscode:tides"), where("vscode:tides", message=2500)):
        begun = perf_counter()
        page = client.get(address).text
        took.append((perf_counter() - begun) * 1000)
        assert len(re.findall(r' id="m-\d+"', page)) <= 60
    told = ", ".join(f"{each:.0f} ms" for each in took)
    print(f"5,000 messages: opened for the first time, again, and in the middle: {told}")  # noqa: T201 - pytest -s


# --- in a browser -----------------------------------------------------------------------------------------------


@contextmanager
def as_is(page: Page) -> Iterator[None]:
    """Check that what happens does not move the message at the top of the screen."""
    script = "() => { const it = document.elementFromPoint(700, 450).closest('.msg'); window.kept = it; return 0 }"
    page.evaluate(script)
    before = page.evaluate("() => window.kept.getBoundingClientRect().top")
    yield
    after = page.evaluate("() => document.getElementById(window.kept.id).getBoundingClientRect().top")
    assert abs(after - before) < 3


def test_a_long_conversation_is_loaded_as_one_reads(
    open_page: Callable[..., Page], served: Callable[[Path], str], tmp_path: Path
) -> None:
    address = served(stored(tmp_path / "many.db", many_messages(5000)))
    page = open_page(address, where("vscode:tides"))
    expect(page.locator("#outline a")).to_have_count(1250)
    assert page.locator("#m-2500").count() == 0

    page.locator("#outline a[data-turn='625']").click()
    expect(page.locator("#t-625")).to_be_in_viewport()
    expect(page.locator("#outline a[aria-current]")).to_have_attribute("data-turn", "625")
    expect(page.locator("#t-615")).to_be_attached()  # loaded upwards, and nothing has moved
    expect(page.locator("#t-625")).to_be_in_viewport()
    page.mouse.move(700, 450)
    page.mouse.wheel(0, 200_000)
    expect(page.locator("#t-640")).to_be_attached()
    numbers = page.evaluate("() => [...document.querySelectorAll('.turn-head')].map(it => Number(it.dataset.turn))")
    assert numbers == list(range(numbers[0], numbers[-1] + 1))


def test_without_scripts_plain_links_lead_through_a_long_conversation(
    open_page: Callable[..., Page], served: Callable[[Path], str], tmp_path: Path
) -> None:
    address = served(stored(tmp_path / "many.db", many_messages(5000)))
    page = open_page(address, where("vscode:tides"), java_script_enabled=False)
    outline = page.locator("#outline a[data-turn]")

    page.get_by_role("link", name="Turns 301 to 600").click()
    expect(outline).to_have_count(300)
    expect(outline.first).to_have_attribute("data-turn", "300")
    expect(page.locator("#t-300")).to_be_in_viewport()
    page.get_by_role("link", name="Turns 1201 to 1250").click()
    expect(outline).to_have_count(50)
    outline.nth(10).click()
    expect(page.locator("#t-1210")).to_be_in_viewport()

    page.get_by_role("link", name="The messages before these").click()
    expect(page.locator("#t-1199")).to_be_attached()
    expect(page.locator("#t-1210")).not_to_be_attached()
    page.get_by_role("link", name="The next messages").click()
    expect(page.locator("#t-1210")).to_be_attached()


def test_without_scripts_the_panel_is_a_link_away(
    open_page: Callable[..., Page], served: Callable[[Path], str], tmp_path: Path
) -> None:
    address = served(stored(tmp_path / "many.db", many_messages(1200)))  # 300 turns
    page = open_page(address, where("vscode:tides"), java_script_enabled=False)
    page.locator("#panel summary").click()
    page.get_by_role("link", name="Show them").click()
    rows = page.locator("#panel .turns a[data-turn]")
    expect(rows).to_have_count(200)
    expect(page.locator("#panel")).to_contain_text("/home/ana/chatSessions/tides.json")

    page.get_by_role("link", name="100 more turns").click()
    expect(rows).to_have_count(100)
    expect(rows.first).to_have_text("201")
    page.get_by_role("link", name="200 earlier turns").click()
    expect(rows).to_have_count(200)


def test_keys_lead_through_turns_and_fold_things(
    open_page: Callable[..., Page], served: Callable[[Path], str], tmp_path: Path
) -> None:
    conversation = many_messages(40)
    conversation.messages[-1].parts.append(FileEdit(path="/t/tides.py", diff=DIFF))
    page = open_page(served(stored(tmp_path / "some.db", conversation)), where("vscode:tides"))

    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("#outline a[aria-current]")).to_have_attribute("data-turn", "2")
    page.keyboard.press("k")
    expect(page.locator("#outline a[aria-current]")).to_have_attribute("data-turn", "1")
    expect(page.locator("details.thought").first).not_to_have_attribute("open", "")
    page.keyboard.press("t")
    expect(page.locator("details.thought").first).to_have_attribute("open", "")
    page.keyboard.press("e")
    expect(page.locator("details.call").first).to_have_attribute("open", "")
    page.keyboard.press("d")
    expect(page.locator(".split-view").first).to_be_visible()
    expect(page.locator(".both .unified-view").first).to_be_hidden()
    page.keyboard.press("u")
    page.wait_for_url(re.compile(r"/$"))


def test_find_leads_from_hit_to_hit_wherever_they_are(
    open_page: Callable[..., Page], served: Callable[[Path], str], tmp_path: Path
) -> None:
    page = open_page(served(stored(tmp_path / "many.db", many_messages(2000))), where("vscode:tides"))

    page.keyboard.press("/")
    page.keyboard.type("kelp")
    page.keyboard.press("Enter")
    expect(page.locator("#find-count")).to_have_text("1 of 1")
    expect(page.get_by_text("with kelp")).to_be_in_viewport()

    page.locator("#find-words").fill("height = 3")
    page.keyboard.press("Enter")
    expect(page.locator("#find-count")).to_have_text(re.compile(r"\d+ of 111"))
    page.keyboard.press("Escape")
    first = page.locator("#find-count").text_content()
    page.keyboard.press("n")
    expect(page.locator("#find-count")).not_to_have_text(first or "")
    expect(page.locator(".is-target samp, .is-target code").first).to_be_visible()
    page.keyboard.press("p")
    expect(page.locator("#find-count")).to_have_text(first or "")


def test_enter_waits_for_words_that_are_being_looked_for(
    open_page: Callable[..., Page], served: Callable[[Path], str], tmp_path: Path
) -> None:
    page = open_page(served(stored(tmp_path / "many.db", many_messages(40))), where("vscode:tides"))
    asked: list[Route] = []
    page.route("**/conversation/find*", lambda route: asked.append(route))  # held until Enter was pressed

    page.keyboard.press("/")
    with page.expect_request("**/conversation/find*"):
        page.keyboard.type("height = 3")
    page.keyboard.press("Enter")
    page.wait_for_timeout(50)
    for route in asked:
        route.continue_()
    expect(page.locator("#find-count")).to_have_text(re.compile(r"\d+ of \d+"))


def test_a_conversation_grows_while_one_reads_it(
    open_page: Callable[..., Page], served: Callable[[Path], str], tmp_path: Path
) -> None:
    archive = stored(tmp_path / "growing.db", many_messages(40))
    page = open_page(served(archive), where("vscode:tides"))
    page.locator("#m-17 details.thought summary").click()
    page.locator("#m-17").scroll_into_view_if_needed()
    stored(archive, many_messages(48))

    with as_is(page):
        detail = "{detail: {ids: ['vscode:tides'], new: 0}}"
        page.evaluate(f"() => document.dispatchEvent(new CustomEvent('copilog:changed', {detail}))")
        expect(page.locator("#m-47")).to_be_attached()
        expect(page.locator("#outline a")).to_have_count(12)
        expect(page.locator("#conv-facts")).to_contain_text("12 turns")
        expect(page.locator("#outline-box summary")).to_have_text("Turns 12")
    expect(page.locator("#m-17 details.thought")).to_have_attribute("open", "")
    numbers = page.evaluate("() => [...document.querySelectorAll('.turn-head')].map(it => Number(it.dataset.turn))")
    assert numbers == list(range(12))


def test_links_raw_json_labels_and_notes_work(
    open_page: Callable[..., Page], served: Callable[[Path], str], own_archive: Path
) -> None:
    page = open_page(served(own_archive), where(FULL, message=20))
    expect(page.locator("#m-20")).to_be_in_viewport()

    page.locator("#m-20 a.anchor").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_be_visible()
    assert page.url.endswith("message=20#m-20")
    page.locator("#m-20 .msg-head a.raw").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#raw-dialog .facts")).to_contain_text(".jsonl")
    page.keyboard.press("Escape")
    expect(page.locator("#raw-dialog")).to_be_hidden()

    page.locator("#new-label").fill("beds")
    page.keyboard.press("Enter")
    expect(page.locator(".labels .chip")).to_contain_text("beds")
    page.locator("button.star").click()
    expect(page.locator("button.star")).to_have_attribute("aria-pressed", "true")
    page.locator("#panel summary").first.click()
    page.locator("#note-text").fill("Read this again.")
    page.get_by_role("button", name="Save the note").click()
    expect(page.get_by_text("The note was saved.")).to_be_visible()
    page.reload()
    expect(page.locator(".labels .chip")).to_contain_text("beds")
    page.get_by_label("Remove the label beds").click()
    expect(page.locator(".labels .chip")).to_have_count(0)


def test_on_a_phone_nothing_sticks_out(open_page: Callable[..., Page], address: str) -> None:
    page = open_page(address, where(FULL), viewport={"width": 390, "height": 844})

    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    expect(page.locator("#outline")).to_be_hidden()
