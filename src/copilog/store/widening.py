"""Widen a search: conversations ranked by what they have of the words, where few messages have all of them."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from copilog.store.conditions import Conditions
from copilog.store.conversation_ranks import Ranked, Wanted, forms_of, rank_conversations
from copilog.store.plans import Plan
from copilog.store.query import Not, Text
from copilog.store.reading import Meant, required_of
from copilog.store.stop_words import stop_words_in

FEW = 5  # conversations with all words: with fewer, a search is widened
MOST_WIDENED = 50
LEAST_SHARE = 0.25  # of the best score


class Widened(NamedTuple):
    """Further conversations, best first, and the words that they were ranked by."""

    conversations: list[Ranked]
    words: list[Wanted]
    forms: list[str]  # of these words, as they occur
    silent: frozenset[str]  # words of the query that weigh nothing


NOT_WIDENED = Widened([], [], [], frozenset())


def widened(connection: sqlite3.Connection, meant: Meant, conditions: Conditions, known: set[int]) -> Widened:
    """Return the conversations that have some of the words, without those that are known to have all."""
    if not meant.may_widen or len(meant.query.loose) < 2 or len(known) >= FEW:
        return NOT_WIDENED
    silent = stop_words_in([text.value for text in meant.query.loose if text.kind == "words"])
    words = _words_of(meant, silent)
    ranked = rank_conversations(connection, words)
    allowed, refused = _insisted(connection, meant, conditions)
    least = LEAST_SHARE * max((each.score for each in ranked), default=0.0)
    found = [
        each
        for each in ranked
        if each.score >= least
        and each.conversation not in known
        and each.conversation not in refused
        and (allowed is None or each.conversation in allowed)
    ]
    forms = [form for word in words if word.text.isalpha() for form in forms_of(connection, word.text.lower())]
    return Widened(found[:MOST_WIDENED], words, forms, silent) if found else NOT_WIDENED


def _words_of(meant: Meant, silent: frozenset[str]) -> list[Wanted]:
    """Return the words that count, with those that are insisted on."""
    also = [node for node in required_of(meant.query) if isinstance(node, Text) and node.kind != "regex"]
    texts = [*meant.query.loose, *also]
    return [Wanted(text.value, is_prefix=text.is_prefix) for text in texts if text.value not in silent]


def _insisted(connection: sqlite3.Connection, meant: Meant, conditions: Conditions) -> tuple[set[int] | None, set[int]]:
    """Return the conversations that have all that is insisted on (None: all have), and those with what is refused."""
    allowed: set[int] | None = None
    refused: set[int] = set()
    for node in required_of(meant.query):
        if isinstance(node, Not):
            refused.update(Plan(node.item, conditions).conversations(connection))
        else:
            found = set(Plan(node, conditions).conversations(connection))
            allowed = found if allowed is None else allowed & found
    return allowed, refused
