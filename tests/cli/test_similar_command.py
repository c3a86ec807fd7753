"""`copilog similar`: output and exit codes."""

from __future__ import annotations

import csv
import io

from tests.cli.homes import run


def test_similar_conversations_of_one_and_of_a_text() -> None:
    outcome = run("similar", "--sample", "115d7669", "-n", "1")

    assert outcome.code == 0
    head, shared = outcome.out.splitlines()
    assert head.split()[0] == "5152790e"
    assert {"app.py", "pytest"} <= set(shared.replace(",", " ").split())
    assert outcome.err == "1 conversation\n"
    [found] = run("similar", "--sample", "-n", "1", "--json", "read", "the", "station", "table", "once").json
    assert found["id"] == "vscode:115d7669-fedf-4b5f-8567-9e11ee66c6cb"


def test_csv_has_the_fields_of_json() -> None:
    found = run("similar", "--sample", "115d7669", "--json").json
    rows = list(csv.DictReader(io.StringIO(run("similar", "--sample", "115d7669", "--csv").out)))

    assert [row["id"] for row in rows] == [each["id"] for each in found]
    assert list(rows[0]) == list(found[0])


def test_nothing_similar_is_told_by_the_exit_code() -> None:
    outcome = run("similar", "--sample", "xylophone")

    assert (outcome.code, outcome.out, outcome.err) == (1, "", "0 conversations\n")


def test_last_is_the_last_active_conversation() -> None:
    newest = run("list", "--sample", "-n", "1", "--json").json[0]["id"]

    assert run("similar", "--sample", "last", "--json").json == run("similar", "--sample", newest, "--json").json
