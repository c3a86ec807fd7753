"""A copy of a file that brings nothing new changes nothing that is stored, whichever file it is."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from copilog.derive.prompts import HISTORIES
from copilog.ingest import find_roots
from copilog.ingest.scanning import scan
from copilog.sample import home as sample_home
from copilog.store.archive import Archive
from tests.export_places import Places, asked, beans, ids

LEVELS = 3  # of folders that tell what a file is


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "data" / "archive.db", write=True) as opened:
        yield opened


def stored(archive: Archive) -> dict[str, Any]:
    """Return what is stored, but for the places it is from. Typed prompts are of the file that has them."""
    found: dict[str, Any] = {}
    for name in ids(archive):
        conversation = archive.get(name)
        if conversation.source in HISTORIES:
            continue
        told = msgspec.to_builtins(conversation)
        told.pop("provenance")
        told["relations"] = [one for one in told.get("relations", []) if one["kind"] != "prompts-in"]
        for each in (*told.get("turns", []), *told.get("documents", [])):
            each.pop("traces", None)
        found[name] = told
    return found


def copies_of(archive: Archive, folder: Path) -> list[tuple[Path, Path]]:
    """Copy every file that is a trace of some conversation, with the folders that tell what it is."""
    paths = {place.path for name in ids(archive) for place in archive.get(name).provenance}
    made: list[tuple[Path, Path]] = []
    for number, path in enumerate(sorted(path for path in map(Path, paths) if path.is_file())):
        copy = folder / str(number) / Path(*path.parts[-LEVELS:])
        copy.parent.mkdir(parents=True)
        shutil.copy(path, copy)
        made.append((path, copy))
    return made


def tried_copies(archive: Archive, home: Path, folder: Path) -> int:
    """Scan copies of all files, again and again, and assert that nothing changes; return their number."""
    scan(archive, roots=find_roots([home]))
    before = stored(archive)
    made = copies_of(archive, folder)
    for original, copy in made:
        scan(archive, paths=[copy])
        assert stored(archive) == before, original
    for original, copy in made:  # read again, beside all the others
        os.utime(copy)
        scan(archive, paths=[copy])
        assert stored(archive) == before, original
    for original, _ in made:
        os.utime(original)
    scan(archive, roots=find_roots([home]))
    assert stored(archive) == before
    for original, copy in made:
        copy.unlink()
        os.utime(original)
    scan(archive, roots=find_roots([home]))
    assert stored(archive) == before
    return len(made)


def test_copies_of_the_files_of_the_sample_change_nothing(archive: Archive, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(sample_home(), home)
    assert tried_copies(archive, home, tmp_path / "copies") > 20


@pytest.mark.corpus
def test_copies_of_real_files_change_nothing(corpus: Path, tmp_path: Path) -> None:
    tried = 0
    for source in sorted((corpus / "homes").iterdir()):
        home = tmp_path / source.name / "home"
        shutil.copytree(source, home, symlinks=True)
        with Archive(tmp_path / source.name / "archive.db", write=True) as archive:
            tried += tried_copies(archive, home, tmp_path / source.name / "copies")
    assert tried > 20


# --- copies that have less ------------------------------------------------------------------------------------------


def with_calls(number: int, random: Random) -> dict[str, Any]:
    """Return a request with up to two calls, and with everything that some copies lack."""
    names = [f"call_{number}_{step}" for step in range(random.randint(0, 2))]
    shown = {"kind": "toolInvocationSerialized", "toolId": "copilot_readFile", "isComplete": True}
    messages = {"invocationMessage": "Reading", "pastTenseMessage": "Read"}
    rounds = [
        {
            "id": name,
            "response": "",
            "toolCalls": [{"id": name, "name": "read_file", "arguments": f'{{"n": "{name}"}}'}],
        }
        for name in names
    ]
    results = {name: {"content": [{"value": f"The text of {name}, which tells of the harbour"}]} for name in names}
    timings = {"firstProgress": 1_000, "totalElapsed": 5_000 + number}
    return asked(
        "beans",
        number,
        response=[*({**shown, **messages, "toolCallId": name} for name in names), {"value": f"Answer {number}."}],
        result={"timings": timings, "metadata": {"toolCallRounds": rounds, "toolCallResults": results}},
        modelId="copilot/gpt-4.1",
        vote=1,
        followups=[{"kind": "reply", "message": f"And the {number}th?", "agentId": "x"}],
    )


def written_copies(folder: Path, random: Random) -> list[Path]:
    """Write a session, and copies of its beginning that lack some fields."""
    whole = [with_calls(number, random) for number in range(random.randint(1, 4))]
    made: list[Path] = []
    for number in range(random.randint(2, 4)):
        requests = [dict(request) for request in (whole[: random.randint(1, len(whole))] if number else whole)]
        for request in requests if number else ():
            for name in ("vote", "followups", "modelId", "result"):
                if random.random() < 0.3:
                    del request[name]
        path = folder / f"{random.random()}" / "chatSessions" / "kept.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"version": 3, "sessionId": "kept", "requests": requests}))
        made.append(path)
    return made


def without_traces(archive: Archive) -> Any:
    told = stored(archive)["vscode:kept"]
    for turn in told["turns"]:
        turn.pop("pointer", None)
    return told


@pytest.mark.parametrize("seed", range(6))
def test_copies_that_lack_something_are_one_whole_in_any_order(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    paths = written_copies(tmp_path / "copies", random)
    with Archive(tmp_path / "together.db", write=True) as archive:
        scan(archive, paths=[tmp_path / "copies"])
        expected = without_traces(archive)
    random.shuffle(paths)
    with Archive(tmp_path / "apart.db", write=True) as archive:
        for path in paths:
            scan(archive, paths=[path])
        assert without_traces(archive) == expected


# --- copies that contradict each other ------------------------------------------------------------------------------


def measured(number: int, **fields: Any) -> dict[str, Any]:
    result = {"timings": {"firstProgress": 1_000, "totalElapsed": number}}
    return asked("beans", 0, result=result, promptTokens=number, completionTokens=number // 10, **fields)


def numbers_in(value: Any) -> set[int]:
    if isinstance(value, dict):
        return set().union(*map(numbers_in, value.values()))
    if isinstance(value, list):
        return set().union(*map(numbers_in, value))
    return {value} if isinstance(value, int) else set()


@pytest.mark.parametrize("is_fuller", [False, True], ids=["loses", "wins"])
def test_the_numbers_of_a_copy_outlive_it(archive: Archive, tmp_path: Path, is_fuller: bool) -> None:
    places = Places(tmp_path)
    kept = places.keep("kept", measured(41_000))
    other = tmp_path / "backup" / "chatSessions" / kept.name
    other.parent.mkdir(parents=True)
    shutil.copy(kept, other)
    places.keep("kept", measured(77_000), *(() if is_fuller else beans(3)[1:]))
    places.scan_home(archive)
    scan(archive, paths=[other])

    def has_both() -> bool:
        return {41_000, 77_000} <= numbers_in(msgspec.to_builtins(archive.get("vscode:kept")))

    assert has_both()
    other.unlink()
    for _ in range(2):
        os.utime(kept)
        places.scan_home(archive)
        assert has_both()


def test_a_copy_that_only_moved_leaves_nothing_behind(archive: Archive, tmp_path: Path) -> None:
    places = Places(tmp_path)
    kept = places.keep("kept", measured(41_000))
    old, new = (tmp_path / name / "chatSessions" / kept.name for name in ("old", "new"))
    old.parent.mkdir(parents=True)
    new.parent.mkdir(parents=True)
    shutil.copy(kept, old)
    places.keep("kept", measured(77_000))
    places.scan_home(archive)
    scan(archive, paths=[old])
    old.rename(new)
    scan(archive, paths=[new])

    assert {Path(place.path) for place in archive.get("vscode:kept").provenance} == {kept, new}
