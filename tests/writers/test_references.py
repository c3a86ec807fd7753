"""What an answer was based on: each file once, in the terminal, in HTML and in Markdown."""

from __future__ import annotations

from copilog.exports.markdown import markdown_page
from copilog.model import Conversation, Place, Range, Text, UsedReference, Workspace
from tests.writers.html_builders import answered, asked, told
from tests.writers.html_builders import shown as html_of
from tests.writers.text_builders import shown as text_of

TIDES = "/home/ana/tide-tables/tides.py"


def lines(first: int, last: int, path: str = TIDES) -> UsedReference:
    return UsedReference(place=Place(path=path, range=Range(start_line=first, end_line=last)))


def referring_to(*references: UsedReference) -> Conversation:
    made = told(asked(Text(text="Why?")), answered(Text(text="Because.")))
    made.turns[0].references = list(references)
    return made


def test_a_file_is_listed_once_with_all_its_ranges() -> None:
    made = referring_to(lines(3, 10), UsedReference(place=Place(path=TIDES)), lines(42, 42), lines(3, 10))

    assert "used tides.py:3-10, 42\n" in text_of(made)
    assert html_of(made).count("tides.py") == 1
    document = markdown_page(made)
    assert document.count("tides.py") == 1
    assert "Used 1 reference" in document


def test_a_file_is_one_however_windows_spells_it() -> None:
    upper, lower = lines(1, 2, "C:\\tides\\a.py"), lines(5, 6, "c:/tides/a.py")

    assert "used C:\\tides\\a.py:1-2, 5-6\n" in text_of(referring_to(upper, lower))


def test_a_file_is_one_however_its_path_is_written() -> None:
    spelled = [
        "/home/ana/tide-tables/./tides.py",
        "/home/ana/tide-tables/old/../tides.py",
        "/home/ana//tide-tables/tides.py",
    ]

    assert "used tides.py:1, 2\n" in text_of(referring_to(lines(1, 1), *(lines(2, 2, path) for path in spelled)))


def test_a_path_within_the_workspace_and_the_whole_path_are_one_file() -> None:
    spelled = [lines(1, 1, "tides.py"), lines(2, 2), lines(3, 3, "./tides.py")]
    made = referring_to(*spelled)

    assert "used tides.py:1, 2, 3\n" in text_of(made)
    assert "Used 1 reference" in markdown_page(made)
    assert html_of(made).count("tides.py") == 1

    made.workspace = Workspace(folder="c:\\Tide-tables")
    made.turns[0].references = [lines(1, 1, "src\\a.py"), lines(2, 2, "C:\\tide-tables\\src\\A.py")]
    assert "a.py:1, 2\n" in text_of(made)

    made.workspace = None
    made.turns[0].references = spelled
    assert "Used 2 references" in markdown_page(made)


def test_symbols_of_a_file_share_its_line() -> None:
    symbols = [UsedReference(place=Place(path=TIDES, name=name)) for name in ("ebb", "flood")]

    assert "used ebb, flood in tides.py\n" in text_of(referring_to(*symbols))


def test_a_file_that_was_sent_whole_is_not_called_partial() -> None:
    partial = UsedReference(place=Place(path=TIDES), status="partial")

    assert "used tides.py (partial)\n" in text_of(referring_to(partial))
    assert "used tides.py\n" in text_of(
        referring_to(partial, UsedReference(place=Place(path=TIDES), status="complete"))
    )


def test_files_texts_and_variables_stay_apart() -> None:
    others = [UsedReference(text="the harbour rules"), UsedReference(variable="selection")]

    assert "used tides.py:3, the harbour rules, selection\n" in text_of(referring_to(lines(3, 3), *others))
