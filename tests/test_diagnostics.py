"""Ledgers: what they count, and how."""

from __future__ import annotations

from copilog.diagnostics import LONGEST_KIND, LONGEST_REASON, Ledger, Tally


def test_kinds_are_counted_by_their_names() -> None:
    tally = Tally()
    for kind in ("content:audio", "x" * LONGEST_KIND, "content:audio"):
        tally.count_unknown(kind)

    assert tally.unknown == {"content:audio": 2, "x" * LONGEST_KIND: 1}


def test_any_value_instead_of_a_kind_is_cut_and_counted() -> None:
    tally = Tally()
    for ending in ("a", "b"):
        tally.count_unknown("content:" + "long " * 200_000 + ending)

    [(kind, count)] = tally.unknown.items()
    assert (len(kind), kind[-1], count) == (LONGEST_KIND + 1, "…", 2)


def test_reasons_and_locations_that_name_keys_of_a_file_are_cut() -> None:
    key = "k" * 1_000_000
    ledger = Ledger(path="state.vscdb", seen=2)
    ledger.reject("bad-record", f"nothing at {key}", table="ItemTable", row=key)
    ledger.reject("bad-record", "no object", pointer=f"/{key}")
    ledger.reject_part("no object", f"/{key}")
    ledger.note("wrong-index", f"the index has version {key}", pointer=f"/{key}")

    assert ledger.bad_count() == 2
    for told in ledger.diagnostics():
        for text in (told.reason, told.pointer, told.row):
            assert text is None or len(text) <= LONGEST_REASON or (len(text), text[-1]) == (LONGEST_REASON + 1, "…")
