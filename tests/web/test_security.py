"""Who is let in, and what every answer carries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from copilog.store.archive import Archive
from copilog.web.app import create_app
from copilog.web.security import HEADERS, POLICY
from copilog.web.viewer import ViewerSettings
from tests.web.serving import PORT, TOKEN, app_for

HOME = f"127.0.0.1:{PORT}"
PAGE = "/problems"  # any that needs nothing but the archive


@pytest.fixture
def stranger(viewer_archive: Path) -> TestClient:
    """Return a client without the token."""
    return TestClient(app_for(viewer_archive), base_url=f"http://{HOME}", follow_redirects=False)


def conversation_in(archive: Path) -> str:
    with Archive(archive) as opened:
        return opened.list(limit=1)[0].id


def is_starred(archive: Path, conversation_id: str) -> bool:
    with Archive(archive) as opened:
        return opened.summaries([conversation_id])[conversation_id].is_starred


# --- the name ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "evil.example.com",
        f"evil.example.com:{PORT}",
        f"127.0.0.1.example.com:{PORT}",
        "127.0.0.1:9999",
        "127.0.0.1",
        f"localhost.example.com:{PORT}",
        f"@127.0.0.1:{PORT}",
        "",
    ],
)
def test_a_foreign_host_name_is_refused(client: TestClient, host: str) -> None:
    answer = client.get(PAGE, headers={"Host": host})

    assert answer.status_code == 400
    assert "copilog serve" in answer.text


def test_our_own_host_names_are_accepted(client: TestClient) -> None:
    assert client.get(PAGE, headers={"Host": f"localhost:{PORT}"}).status_code == 200
    assert client.get(PAGE, headers={"Host": f"LOCALHOST:{PORT}"}).status_code == 200


def test_a_name_without_a_port_means_all_ports(viewer_archive: Path) -> None:
    settings = ViewerSettings(archive=viewer_archive, token=TOKEN, hosts=frozenset({"127.0.0.1", "[::1]"}))
    forwarded = TestClient(
        create_app(settings), base_url=f"http://{HOME}", headers={"Authorization": f"Bearer {TOKEN}"}
    )

    for host, status in {
        "127.0.0.1:9999": 200,
        "127.0.0.1": 200,
        "[::1]:9999": 200,
        "[::1]": 200,
        "[::2]:9999": 400,
        "evil.example.com:9999": 400,
    }.items():
        assert forwarded.get(PAGE, headers={"Host": host}).status_code == status, host


# --- the token --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", PAGE, "/events", "/conversation?id=x", "/static/css/page.css", "/nowhere"])
def test_requests_without_the_token_are_refused(stranger: TestClient, path: str) -> None:
    answer = stranger.get(path)

    assert answer.status_code == 403
    assert "token" in answer.text
    assert "copilog serve" in answer.text
    assert "set-cookie" not in answer.headers


def test_a_wrong_token_is_refused(stranger: TestClient) -> None:
    assert stranger.get(PAGE, params={"token": "wrong"}).status_code == 403
    assert stranger.get(PAGE, params={"token": ""}).status_code == 403
    assert stranger.get(PAGE, params={"token": TOKEN + "x"}).status_code == 403
    assert stranger.get(PAGE, params={"token": "\N{SNOWMAN}"}).status_code == 403
    assert stranger.get(PAGE, headers={"Authorization": "Bearer wrong"}).status_code == 403
    assert stranger.get(PAGE, headers={"Cookie": "copilog_token=wrong"}).status_code == 403


def test_the_token_in_the_address_becomes_a_cookie_and_leaves_the_address(stranger: TestClient) -> None:
    entrance = stranger.get("/problems", params={"token": TOKEN, "level": "error", "q": "a&b"})

    assert entrance.status_code == 303
    assert entrance.headers["location"] == "/problems?level=error&q=a%26b"
    cookie = entrance.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "path=/" in cookie
    assert stranger.get("/problems").status_code == 200


def test_the_entrance_leads_to_no_other_host(stranger: TestClient) -> None:
    for path in ("//evil.example.com/", "/\\evil.example.com/", "///evil.example.com"):
        place = stranger.get(f"http://{HOME}{path}?token={TOKEN}").headers["location"]
        assert place.startswith("/")
        assert not place.startswith(("//", "/\\")), path


def test_after_a_link_from_another_page_our_own_page_leads_on(stranger: TestClient) -> None:
    coming = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}

    entrance = stranger.get("/problems", params={"token": TOKEN}, headers=coming)

    # A strict cookie is not sent along a redirect that began elsewhere.
    assert entrance.status_code == 200
    assert entrance.headers["refresh"] == "0; url=/problems"
    assert "copilog_token" in entrance.headers["set-cookie"]


def test_the_entrance_token_works_once(viewer_archive: Path) -> None:
    settings = ViewerSettings(archive=viewer_archive, token=TOKEN, entry="just-once", hosts=frozenset({HOME}))
    first, second = (
        TestClient(app, base_url=f"http://{HOME}", follow_redirects=False) for app in [create_app(settings)] * 2
    )

    assert first.get(PAGE, params={"token": "just-once"}).status_code == 303
    assert first.get(PAGE).status_code == 200
    assert second.get(PAGE, params={"token": "just-once"}).status_code == 403
    assert second.get(PAGE, headers={"Cookie": "copilog_token=just-once"}).status_code == 403


def test_programs_can_send_the_token_in_a_header(stranger: TestClient) -> None:
    assert stranger.get(PAGE, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_cookies_of_other_servers_on_this_machine_do_no_harm(stranger: TestClient) -> None:
    cookies = f'_xsrf=2|"; theme="\N{SNOWMAN}; copilog_token_9000=other; copilog_token_{PORT}={TOKEN}; =; a b=c'

    assert stranger.get(PAGE, headers={b"Cookie": cookies.encode()}).status_code == 200


def test_a_token_in_the_address_does_not_allow_changes(stranger: TestClient, viewer_archive: Path) -> None:
    wanted = {"id": conversation_in(viewer_archive), "star": True}

    assert stranger.post(f"/annotate?token={TOKEN}", json=wanted).status_code == 403


# --- who asks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example.com"},
        {"Origin": "http://127.0.0.1:3000"},
        {"Origin": f"http://127.0.0.1:{PORT}.example.com"},
        {"Origin": f"http://localhost:{PORT}"},  # ours by name, but not the one that was asked
        {"Origin": f"file://127.0.0.1:{PORT}"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "cross-site", "Origin": f"http://{HOME}"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example.com"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    ],
)
def test_another_page_cannot_change_anything(
    client_of: Callable[[Path], TestClient], own_archive: Path, headers: dict[str, str]
) -> None:
    conversation_id = conversation_in(own_archive)

    answer = client_of(own_archive).post("/annotate", json={"id": conversation_id, "star": True}, headers=headers)

    assert answer.status_code == 403
    assert not is_starred(own_archive, conversation_id)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": f"http://{HOME}", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "null", "Sec-Fetch-Site": "same-origin"},
        {"Origin": f"http://{HOME}"},
        {},
    ],
)
def test_our_own_pages_and_programs_can(
    client_of: Callable[[Path], TestClient], own_archive: Path, headers: dict[str, str]
) -> None:
    conversation_id = conversation_in(own_archive)

    answer = client_of(own_archive).post("/annotate", json={"id": conversation_id, "star": True}, headers=headers)

    assert answer.status_code == 200
    assert is_starred(own_archive, conversation_id)


@pytest.mark.parametrize(
    ("mode", "destination"), [("no-cors", "image"), ("no-cors", "script"), ("cors", "empty"), ("navigate", "iframe")]
)
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_cannot_frame_our_pages(client: TestClient, site: str, mode: str, destination: str) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": destination}

    assert client.get(PAGE, headers=headers).status_code == 403


def test_no_cors_headers_are_sent(client: TestClient) -> None:
    asked = {"Origin": "https://evil.example.com", "Access-Control-Request-Method": "POST"}

    for answer in (client.options("/annotate", headers=asked), client.get(PAGE, headers={"Origin": asked["Origin"]})):
        assert not [name for name in answer.headers if name.lower().startswith("access-control-")]
    assert client.options("/annotate", headers=asked).status_code == 403


def test_web_sockets_are_not_served(viewer_archive: Path) -> None:
    from starlette.websockets import WebSocketDisconnect

    client = TestClient(app_for(viewer_archive), base_url=f"http://{HOME}", cookies={"copilog_token": TOKEN})
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/events"):
        pass


# --- reading changes nothing ------------------------------------------------------------------------------------


def test_get_requests_change_nothing(client_of: Callable[[Path], TestClient], own_archive: Path) -> None:
    conversation_id = conversation_in(own_archive)
    client = client_of(own_archive)
    with Archive(own_archive) as archive:
        before = archive.fingerprint()

    for method in ("GET", "HEAD"):
        answer = client.request(method, "/annotate", params={"id": conversation_id, "star": "1", "note": "x"})
        assert answer.status_code == 405
    for path in ("/", "/dashboard", "/graph", "/trajectories", "/problems", f"/conversation?id={conversation_id}"):
        client.get(path, params={"star": "1", "_method": "POST"}, headers={"X-HTTP-Method-Override": "POST"})

    with Archive(own_archive) as archive:
        assert archive.fingerprint() == before
        assert not archive.summaries([conversation_id])[conversation_id].is_starred


# --- headers ----------------------------------------------------------------------------------------------------


def test_every_answer_has_the_headers(client: TestClient, stranger: TestClient) -> None:
    answers = [
        client.get(PAGE),
        client.get("/nowhere"),
        client.post("/annotate", content=b"{"),
        client.get("/static/css/page.css"),
        client.get("/static/nothing.js"),
        client.get(PAGE, headers={"Host": "evil.example.com"}),
        stranger.get(PAGE),
        stranger.get(PAGE, params={"token": TOKEN}),
    ]

    for answer in answers:
        for name, value in HEADERS.items():
            if name != "Cache-Control":
                assert answer.headers[name] == value
        assert "server" not in answer.headers
    assert client.get(PAGE).headers["Cache-Control"] == "no-store"


def test_the_policy_allows_no_other_hosts_and_no_inline_scripts() -> None:
    rules = dict(rule.strip().split(" ", 1) for rule in POLICY.split(";"))

    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == "'self'"
    assert rules["connect-src"] == "'self'"
    assert "unsafe-eval" not in POLICY
    assert not [where for where in rules.values() if "http" in where or "*" in where]
