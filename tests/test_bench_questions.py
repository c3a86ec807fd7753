"""Questions find their conversations as often as is wanted: the sample, and the corpus where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.bench_questions import Question, of_questions, of_titles
from copilog.sample import home


def check(questions: list[Question]) -> None:
    first = sum(question.rank == 1 for question in questions)
    five = sum(1 <= question.rank <= 5 for question in questions)
    missed = [question for question in questions if question.rank != 1]
    assert first >= 0.7 * len(questions), missed
    assert five >= 0.9 * len(questions), missed


def test_titles_of_the_sample_find_their_conversation_without_them() -> None:
    questions = of_titles(home())

    assert len(questions) > 10
    check(questions)


def test_questions_in_other_words_find_their_conversation() -> None:
    questions = of_questions()

    assert len(questions) == 30
    check(questions)


@pytest.mark.corpus
def test_titles_of_real_sessions_find_their_conversation_without_them(corpus: Path) -> None:
    check(of_titles(corpus))
