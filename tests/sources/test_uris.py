from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.uris import Uri, take_location, uri_parts, uri_to_path, uri_to_string


def uri(path: str | None = None, scheme: str = "file", **others: Any) -> dict[str, Any]:
    return {"$mid": 1, "scheme": scheme, **({} if path is None else {"path": path}), **others}


@pytest.mark.parametrize(
    ("value", "string", "path"),
    [
        (uri("/home/ana/proj/main.py"), "file:///home/ana/proj/main.py", "/home/ana/proj/main.py"),
        (uri("/home/ana/proj x"), "file:///home/ana/proj%20x", "/home/ana/proj x"),
        (uri("/home/ana/100%25#1?"), "file:///home/ana/100%2525%231%3F", "/home/ana/100%25#1?"),
        (uri("/home/ana/né.txt"), "file:///home/ana/n%C3%A9.txt", "/home/ana/né.txt"),
        (uri("/C:/src/App"), "file:///c%3A/src/App", "c:/src/App"),
        (uri("/c:/src/app", _sep=1, fsPath="c:\\src\\app"), "file:///c%3A/src/app", "c:/src/app"),
        (uri("/share/x y", authority="Server"), "file://server/share/x%20y", "//Server/share/x y"),
        (
            uri("/home/ana/p", "vscode-remote", authority="ssh-remote+host"),
            "vscode-remote://ssh-remote%2Bhost/home/ana/p",
            "/home/ana/p",
        ),
        (uri("/c:/p", "vscode-remote", authority="wsl+Ubuntu"), "vscode-remote://wsl%2Bubuntu/c%3A/p", "c:/p"),
        (
            uri("/n.ipynb", "vscode-notebook-cell", fragment="W0s=", query="a=b"),
            "vscode-notebook-cell:/n.ipynb?a%3Db#W0s%3D",
            "/n.ipynb",
        ),
        (uri("Untitled-1", "untitled"), "untitled:Untitled-1", "Untitled-1"),
        (uri("/a", "https", authority="me@localhost:8080"), "https://me@localhost:8080/a", None),
        ({"scheme": "file", "path": "/no/mid"}, "file:///no/mid", "/no/mid"),
        ({"$mid": 1, "path": "/no/scheme"}, "file:///no/scheme", "/no/scheme"),
        (uri("/half\ud800"), "file:///half%3F", "/half\ud800"),
    ],
)
def test_uri_objects_are_converted(value: dict[str, Any], string: str, path: str | None) -> None:
    assert uri_to_string(value) == string
    assert uri_to_path(value) == path


def test_the_path_wins_over_the_caches() -> None:
    value = uri("/home/ana/real", fsPath="/etc/other", external="file:///etc/other")

    assert uri_to_string(value) == "file:///home/ana/real"
    assert uri_to_path(value) == "/home/ana/real"


@pytest.mark.parametrize(
    ("value", "string", "path"),
    [
        (uri(external="file:///c%3A/a%20b?q#f", fsPath="/other"), "file:///c%3A/a%20b?q#f", "c:/a b"),
        (uri(fsPath="/home/ana/x"), "file:///home/ana/x", "/home/ana/x"),
        (uri(fsPath="c:\\src\\a b", _sep=1), "file:///c%3A/src/a%20b", "c:/src/a b"),
        (uri(fsPath="C:\\src"), "file:///c%3A/src", "c:/src"),
        (uri(fsPath="\\\\server\\share\\x"), "file://server/share/x", "//server/share/x"),
        (uri(), "file:///", "/"),
        (uri(scheme="untitled"), "untitled:", None),
    ],
)
def test_without_a_path_the_caches_must_do(value: dict[str, Any], string: str, path: str | None) -> None:
    assert uri_to_string(value) == string
    assert uri_to_path(value) == path


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("file:///home/ana/proj", "/home/ana/proj"),
        ("file:///home/ana/proj%20x", "/home/ana/proj x"),
        ("file:///home/ana/proj x", "/home/ana/proj x"),
        ("file:///c%3A/src/app", "c:/src/app"),
        ("file:///C:/src/app", "c:/src/app"),
        ("FILE:///C:/src/app", "c:/src/app"),
        ("file://server/share/x", "//server/share/x"),
        ("vscode-remote://ssh-remote%2Bhost/home/ana/p", "/home/ana/p"),
        ("vscode-vfs://github/owner/repo", "/owner/repo"),
        ("file:///a/b.py#L10", "/a/b.py"),
        ("file:///a/%FF", "/a/\N{REPLACEMENT CHARACTER}"),
        ("untitled:Untitled-1", "Untitled-1"),
        ("https://example.org/a", None),
        ("data:text/plain,x", None),
    ],
)
def test_strings_stay_unchanged(value: str, path: str | None) -> None:
    assert uri_to_string(value) == value
    assert uri_to_path(value) == path


@pytest.mark.parametrize(
    "value",
    [None, 7, [], {}, "", "/home/ana", "c:\\src", "C:/src", "note: a text", {"path": "/x"}, uri("/x") | {"path": 3}],
)
def test_values_that_are_not_uris_are_refused(value: object) -> None:
    assert uri_to_string(value) is None
    assert uri_to_path(value) is None
    assert uri_parts(value) is None


def test_the_parts_are_decoded() -> None:
    parts = Uri("vscode-remote", "ssh-remote+host", "/home/a b", "x=1", "")

    assert uri_parts("vscode-remote://ssh-remote%2Bhost/home/a%20b?x%3D1") == parts
    assert uri_parts(uri("/home/a b", "vscode-remote", authority="ssh-remote+host", query="x=1")) == parts


@given(st.text(st.characters(exclude_categories=["Cs"])).map("/home/".__add__))
def test_a_path_survives_conversion_to_a_string_and_back(path: str) -> None:
    string = uri_to_string(uri(path))
    assert string is not None
    assert uri_to_path(string) == path


@given(
    st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.dictionaries(st.text(), inner), max_leaves=5)
)
def test_any_result_can_be_cached(value: object) -> None:
    for odd in (value, {"scheme": value}, {"$mid": 1, "path": value}, {"$mid": 1, "fsPath": value, "external": value}):
        uri_to_string(odd)
        uri_to_path(odd)


paths = st.text(st.characters(codec="ascii"), max_size=8).map("/home/".__add__) | st.sampled_from(["", "/C:/a", "x", 3])
uris = st.fixed_dictionaries(
    {"$mid": st.just(1)},
    optional={
        "fsPath": st.sampled_from(["/other", 7]),
        "_sep": st.just(1),
        "external": st.just("file:///other"),
        "path": paths,
        "scheme": st.sampled_from(["file", "https", "untitled", 7]),
        "authority": st.sampled_from(["host", ""]),
        "other": st.none(),
    },
)
numbers = st.sampled_from([1, 7, True, 1.0, None])
spans = st.fixed_dictionaries(
    {"startLineNumber": numbers, "startColumn": numbers, "endLineNumber": numbers, "endColumn": numbers},
    optional={"other": st.none()},
)


@given(uris | st.fixed_dictionaries({"uri": uris}, optional={"range": spans | st.none(), "other": st.none()}))
def test_the_order_of_fields_does_not_matter(value: dict[str, Any]) -> None:
    """Places as VS Code writes them are known by the order of their fields; any other order says the same."""
    holder = {"place": value}
    turned = {"place": _turned(value)}

    assert take_location(holder, "place") == take_location(turned, "place")
    assert holder == turned
    assert uri_to_string(value) == uri_to_string(_turned(value))
    assert uri_to_path(value) == uri_to_path(_turned(value))


def test_a_location_without_a_scheme_is_a_file() -> None:
    """As VS Code does it, and as the URI says, too."""
    value = {"$mid": 1, "path": "/home/ana/a.py", "scheme": ""}

    place = take_location({"place": value}, "place")

    assert place is not None
    assert (place.uri, place.path) == (uri_to_string(value), uri_to_path(value))
    assert place.uri == "file:///home/ana/a.py"


def _turned(value: Any) -> Any:
    """Return the same with the fields of all objects in the opposite order."""
    if not isinstance(value, dict):
        return value
    return {key: _turned(inner) for key, inner in reversed(value.items())}
