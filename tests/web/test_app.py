"""The application: its files, its errors, and how pages are made."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from copilog.render.pages import environment, harmless, render_page, styles_folder
from copilog.store.archive import Archive
from copilog.web.assets import STATIC, Assets
from copilog.web.security import HEADERS
from copilog.web.viewer import Viewer, ViewerSettings, conversation_url, is_partial
from tests.web.serving import PORT, TOKEN, app_for

PAGE = "/problems"


@pytest.fixture
def viewer(own_archive: Path) -> Viewer:
    return Viewer(ViewerSettings(archive=own_archive, token=TOKEN, hosts=frozenset()))


def asset_in(text: str, name: str) -> str:
    found = re.search(rf'"(/static/[^"]*{re.escape(name)})"', text)
    assert found
    return found[1]


# --- files ------------------------------------------------------------------------------------------------------


def test_files_of_a_version_are_kept_for_good_and_others_are_not(client: TestClient) -> None:
    address = asset_in(client.get(PAGE).text, "css/page.css")

    with_version, without = client.get(address), client.get("/static/css/page.css")

    assert with_version.content == without.content == (styles_folder() / "page.css").read_bytes()
    assert with_version.headers["content-type"].startswith("text/css")
    assert "immutable" in with_version.headers["cache-control"]
    assert without.headers["cache-control"] == "no-cache"
    assert client.get(re.sub("v-[0-9a-f]+", "v-000000", address)).headers["cache-control"] == "no-cache"


def test_a_changed_file_has_another_address(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("1")
    before = Assets(tmp_path).address("a.js")
    (tmp_path / "a.js").write_text("2")

    assert Assets(tmp_path).address("a.js") != before


@pytest.mark.parametrize(
    "path",
    [
        "../app.py",
        "..%2fapp.py",
        "%2e%2e/%2e%2e/app.py",
        "css/../../pages.py",
        "css/..%2f..%2fpages.py",
        "v-000000/../../app.py",
        "//etc/passwd",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "..\\app.py",
        "..%5capp.py",
        "js/app.js%00",
        "js/",
        "js",
        "",
    ],
)
def test_no_path_leads_out_of_our_files(client: TestClient, path: str) -> None:
    answer = client.get(f"http://127.0.0.1:{PORT}/static/{path}")

    assert answer.status_code == 404
    assert "root:" not in answer.text
    assert "import" not in answer.text


def test_only_kinds_of_files_that_pages_use_are_served(tmp_path: Path) -> None:
    (tmp_path / "page.js").write_text("")
    (tmp_path / "secret.py").write_text("")
    (tmp_path / ".env").write_text("")
    assets = Assets(tmp_path)

    assert assets.answer("page.js").status_code == 200
    assert assets.answer("secret.py").status_code == 404
    assert assets.answer(".env").status_code == 404


def test_our_scripts_are_modules_without_anything_inline() -> None:
    for template in sorted((styles_folder().parent / "templates").glob("*.html")):
        text = template.read_text(encoding="utf-8")
        assert not re.search(r"\son[a-z]+\s*=", text), f"{template.name} has an event handler"
        if template.name != "export.html":  # a file that stands alone; its policy names its script by hash
            assert not re.search(r"<script(?![^>]*\bsrc=)", text), f"{template.name} has an inline script"
        assert "http://" not in text.replace("http://www.w3.org/", ""), f"{template.name} names a host"
        assert "https://" not in text, f"{template.name} names a host"
    for script in sorted((STATIC / "js").glob("*.js")):
        text = script.read_text(encoding="utf-8")
        assert not re.search(r"\beval\(|new Function\(|document\.write\(", text), script.name


def test_both_ways_to_dark_have_the_same_colours() -> None:
    text = (styles_folder() / "tokens.css").read_text(encoding="utf-8")
    chosen, by_system = re.findall(
        r"(?:\[data-theme=\"dark\"\]|\[data-theme=\"dark\"\]\)) \{(.*?)\n *\}", text, re.DOTALL
    )

    def colours(block: str) -> dict[str, str]:
        return dict(re.findall(r"(--[\w-]+): ([^;]+);", block))

    assert colours(chosen) == colours(by_system) != {}


# --- errors -----------------------------------------------------------------------------------------------------


def failing_app(archive: Path, error: Exception) -> TestClient:
    def fail(request: Request) -> Response:
        raise error

    app = app_for(archive)
    app.router.routes.insert(0, Route("/fails", fail))
    cookies = {"copilog_token": TOKEN}
    return TestClient(app, base_url=f"http://127.0.0.1:{PORT}", cookies=cookies, raise_server_exceptions=False)


def test_a_bug_is_a_page_without_a_traceback(viewer_archive: Path, caplog: pytest.LogCaptureFixture) -> None:
    answer = failing_app(viewer_archive, KeyError("secret of a conversation")).get("/fails")

    assert answer.status_code == 500
    assert "KeyError" in answer.text
    assert "--debug" in answer.text
    assert "Traceback" not in answer.text
    assert "test_app.py" not in answer.text
    assert "secret" not in answer.text
    assert "secret" not in caplog.text
    for name, value in HEADERS.items():
        assert answer.headers[name] == value


def test_a_missing_page_says_what_to_do_next(client: TestClient) -> None:
    answer = client.get("/nowhere<script>")

    assert answer.status_code == 404
    assert "To the library" in answer.text
    assert "<script>" not in answer.text


def test_a_wrong_method_says_so(client: TestClient) -> None:
    answer = client.get("/annotate")

    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"


def test_a_part_of_a_page_fails_in_one_line(client: TestClient) -> None:
    answer = client.get("/nowhere", headers={"HX-Request": "true"})

    assert answer.status_code == 404
    assert "<html" not in answer.text
    assert 'role="alert"' in answer.text


def test_a_missing_archive_is_reported_with_what_to_do(tmp_path: Path, client_of: Callable[[Path], TestClient]) -> None:
    answer = client_of(tmp_path / "archive.db").get(PAGE)

    assert answer.status_code == 503
    assert "copilog scan" in answer.text


def test_quoted_text_in_a_message_is_escaped(viewer_archive: Path) -> None:
    from copilog.errors import UsageError

    answer = failing_app(viewer_archive, UsageError("<img src=x> \u202e no such label")).get("/fails")

    assert answer.status_code == 400
    assert "<img" not in answer.text
    assert "\u202e" not in answer.text


# --- conversations ----------------------------------------------------------------------------------------------


def test_conversations_are_cached_until_they_change(viewer: Viewer) -> None:
    with viewer.archive() as archive:
        first, second = archive.list(limit=2)
    kept = viewer.conversation(first.id)

    assert viewer.conversation(first.id) is kept
    assert viewer.conversation(second.id) is not kept

    with Archive(viewer.settings.archive, write=True) as archive, archive.connection:
        archive.connection.execute("UPDATE conversation SET digest = x'00' WHERE id = ?", (first.id,))
    assert viewer.conversation(first.id) is not kept
    assert viewer.conversation(first.id) == kept


def test_only_a_few_conversations_are_cached(viewer: Viewer) -> None:
    with viewer.archive() as archive:
        ids = [summary.id for summary in archive.list(limit=12, include_empty=True)]
    first = viewer.conversation(ids[0])
    for conversation_id in ids[1:]:
        viewer.conversation(conversation_id)

    assert viewer.conversation(ids[-1]) is viewer.conversation(ids[-1])
    assert viewer.conversation(ids[0]) is not first


def test_a_missing_conversation_is_a_404(viewer: Viewer) -> None:
    with pytest.raises(HTTPException) as caught:
        viewer.conversation("vscode:nothing")

    assert caught.value.status_code == 404


def test_addresses_of_conversations_hold_any_id() -> None:
    assert conversation_url("cli:a/b c&d#e") == "/conversation?id=cli%3Aa%2Fb+c%26d%23e"
    assert conversation_url("vscode:x", message=3) == "/conversation?id=vscode%3Ax&message=3#m-3"
    assert conversation_url("vscode:x", turn=2) == "/conversation?id=vscode%3Ax&turn=2#t-2"
    assert conversation_url("vscode:x", page="/conversation/timeline") == "/conversation/timeline?id=vscode%3Ax"


def test_going_back_in_history_needs_a_whole_page() -> None:
    def asked(**headers: str) -> Request:
        raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        return Request({"type": "http", "headers": raw})

    assert is_partial(asked(hx_request="true"))
    assert not is_partial(asked())
    assert not is_partial(asked(hx_request="true", hx_history_restore_request="true"))


# --- pages ------------------------------------------------------------------------------------------------------


def test_text_in_templates_is_escaped_and_loses_what_hides_or_turns_it() -> None:
    template = environment().from_string('<p title="{{ text }}">{{ text }}</p>')

    assert template.render(text='"><script>') == '<p title="&#34;&gt;&lt;script&gt;">&#34;&gt;&lt;script&gt;</p>'
    assert harmless("a\u202eb\u200bc\x1b[31m\nd") == "a\ufffdb\ufffdc\u241b[31m\nd"


def test_a_name_that_a_template_does_not_know_is_an_error() -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError):
        render_page("error_part.html", title="x")


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("1234567 | number", "1,234,567"),
        ("1234567 | short_number", "1.2 M"),
        ("none | number", "–"),
        ("185000 | duration", "3 min 05 s"),
        ("none | duration", "–"),
        ("2048 | bytes", "2.0 kB"),
        ("'/home/ana/tide-tables/' | folder_name", "tide-tables"),
        ("'C:\\\\Users\\\\Ana\\\\tides' | folder_name", "tides"),
        ("none | folder_name", ""),
        ("'a\\n b' | line", "a b"),
        ("none | moment", "–"),
        ("2 | counted('turn')", "2 turns"),
    ],
)
def test_template_filters_format_values(expression: str, shown: str) -> None:
    assert environment().from_string("{{ " + expression + " }}").render() == shown


def test_the_notice_is_on_every_page(viewer_archive: Path) -> None:
    from copilog.web.app import create_app

    host = f"127.0.0.1:{PORT}"
    settings = ViewerSettings(archive=viewer_archive, token=TOKEN, hosts=frozenset({host}), notice="All <made up>.")
    client = TestClient(create_app(settings), base_url=f"http://{host}", cookies={"copilog_token": TOKEN})

    for path in ("/", "/problems", "/nowhere"):
        assert "All &lt;made up&gt;." in client.get(path).text
