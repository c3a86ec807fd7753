"""Tokens and cost at list prices: by day, model, agent and more.

Recorded counts come first, and estimates are in separate fields. `breakdowns` adds up the rows of the archive's table
`spend`; the tokens of tools are not recorded, and are estimated here from the sizes of their arguments and results.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from copilog.analysis.breakdowns import BY_CELL, BY_CONVERSATION, Tallies
from copilog.analysis.credits import credits_section, ends_of
from copilog.analysis.estimate_method import calibration_rows
from copilog.analysis.facts import DIGITS, DISTINCT, Aggregate, Amount, SqlTable
from copilog.analysis.figures import AsModelRow, Prices, ShareRow, SpendRow, TokensSection
from copilog.analysis.periods import compared, month_section
from copilog.analysis.prices import PriceTable, price_table
from copilog.analysis.selection import NO_TURN, Chosen
from copilog.errors import UsageError

BYTES_OF_A_TOKEN = 4  # approximately, for arguments and results of tools
LONG_AFTER, END_OF_TIME = "9", "~"  # both sort after all days
ASKED_FOR = (
    "total", "day", "workspace", "model", "agent", "subagent", "skill", "conversation", "turn", "origin", "system",
    "payer", "outcome", "repository", "branch",
)  # fmt: skip
BY = tuple(sorted({*BY_CONVERSATION, *BY_CELL, "skill", "tool", "turn"} - {"total", "origin"}))
HIDDEN_WAYS = ("total",)


def tokens(chosen: Chosen, *, limit: int | None = 20, prices: bool = True, cache: Path | None = None) -> TokensSection:
    """Return all figures about tokens and cost. `cache` is the folder with the price cache, by default the user's."""
    models = models_of(chosen)
    table = price_table(models, cache, chosen.plan) if prices else None
    tallies = Tallies(ASKED_FOR, limit, table)
    tallies.add_all(chosen)
    least, most = ends_of(tallies.cells()) or (None, None)
    to_compare, period = compared(chosen, tallies, table)
    return TokensSection(
        total=next(iter(tallies.rows("total")), SpendRow(name="total")),
        by_day=tallies.rows("day"),
        by_workspace=tallies.rows("workspace"),
        by_model=tallies.rows("model"),
        by_agent=tallies.rows("agent"),
        by_subagent=tallies.rows("subagent"),
        by_skill=tallies.rows("skill"),
        by_tool=_by_tool(chosen, limit, table),
        by_conversation=tallies.rows("conversation"),
        by_turn=tallies.rows("turn"),
        by_system=tallies.rows("system"),
        by_payer=tallies.rows("payer"),
        by_outcome=tallies.rows("outcome"),
        by_repository=tallies.rows("repository"),
        by_branch=tallies.rows("branch"),
        cache_turns=tallies.cache_turns,
        missed_cache_turns=tallies.missed_turns,
        input_turns=tallies.input_turns,
        credit_turns=tallies.credit_turns,
        **SUPERSEDED.sums(chosen)[0],
        month=month_section(chosen, tallies, table),
        period=period,
        credits=credits_section(tallies.cells(), tallies.shown_model, to_compare),
        composition=composition(chosen),
        composition_turns=composed_turns(chosen),
        origins=tallies.origins(),
        calibration=calibration_rows(chosen.connection) if least is not None else [],
        at_least=least,
        at_most=most,
        prices=_prices_of(models, table, chosen.plan.discount),
    )


def spend_by(
    chosen: Chosen, by: str, limit: int | None = 20, *, prices: bool = True, cache: Path | None = None
) -> list[SpendRow]:
    """Return tokens and cost by a key: the most expensive first, or all days, weeks or months in the order of time.

    `by` is one of `BY`, or total.
    """
    if by not in (*BY, *HIDDEN_WAYS):
        raise UsageError(f"tokens cannot be grouped by {by!r}; choose one of {', '.join(BY)}")
    table = price_table(models_of(chosen), cache, chosen.plan) if prices else None
    if by == "tool":
        return _by_tool(chosen, limit, table)
    tallies = Tallies([by], limit, table)
    tallies.add_all(chosen)
    return tallies.rows(by)


def as_if(chosen: Chosen, model: str, *, cache: Path | None = None) -> AsModelRow:
    """Return all recorded usage at the prices of another model. Raise UsageError if that model has no price."""
    table = price_table([model], cache, chosen.plan)
    entry = table.models.get(model) if table is not None else None
    if table is None or entry is None:
        raise UsageError(f"no price is known of {model!r}; the config file may have one")
    tallies = Tallies(["total"], None, table, every_model=entry)
    tallies.add_all(chosen)
    row = next(iter(tallies.rows("total")), SpendRow(name="total"))
    return AsModelRow(
        **msgspec.structs.asdict(row),
        selected_turns=chosen.billed_turns(),
        turns_without_tokens=chosen.billed_turns() - tallies.input_turns,
    )


def models_of(chosen: Chosen) -> list[str]:
    """Return all models of the conversations in the bill; those of turns are needed for the calls of tools in them."""
    rows = chosen.connection.execute(
        """
        SELECT s.model FROM temp.billed AS c CROSS JOIN spend AS s ON s.conversation = c.conversation
        UNION
        SELECT coalesce(t.resolved_model, t.model)
        FROM temp.billed AS c CROSS JOIN turn AS t ON t.conversation = c.conversation
        """
    )
    return [model for (model,) in rows if model]


# The tokens of a number of bytes, rounded up.
TOKENS = Aggregate(f"total({{}}) / {BYTES_OF_A_TOKEN}", lambda amounts: math.ceil(sum(amounts) / BYTES_OF_A_TOKEN))
DOLLARS = Aggregate(
    f"sum({{}}) / {BYTES_OF_A_TOKEN} / 1e6",
    lambda amounts: sum(amounts) / BYTES_OF_A_TOKEN / 1e6 if amounts else None,
)


def _prepare(chosen: Chosen) -> None:
    chosen.note_bill()
    _put_prices(chosen, price_table(models_of(chosen), plan=chosen.plan))


# Arguments of tools are output of the turn's model, results are input. Both are estimated. A result is counted once,
# although it is sent again with every later call.
TOKENS_OF_TOOLS = SqlTable(
    name="tokens.by_tool",
    amounts={
        "conversations": Amount("f.conversation", "Conversations with calls", DISTINCT),
        "turns": Amount("f.conversation << 32 | f.turn", "Turns with calls", DISTINCT),
        "estimated_input": Amount("f.result_bytes", "Estimated tokens of results of calls", TOKENS, "tokens"),
        "estimated_output": Amount("f.arguments_bytes", "Estimated tokens of arguments of calls", TOKENS, "tokens"),
        "estimated_dollars": Amount(
            "coalesce(f.result_bytes, 0) * p.input + coalesce(f.arguments_bytes, 0) * p.output",
            "Estimated cost of calls",
            DOLLARS,
            "dollars",
        ),
    },
    keys=("name",),
    by=("f.name",),
    of=" of {}",
    source=f"""
        temp.billed AS k CROSS JOIN tool_call AS f ON f.conversation = k.conversation
        CROSS JOIN temp.billed_turn AS c ON c.conversation = f.conversation AND c.turn = coalesce(f.turn, {NO_TURN})
        LEFT JOIN turn AS u ON u.conversation = f.conversation AND u.position = f.turn
        LEFT JOIN temp.unit_price AS p ON p.model = coalesce(u.resolved_model, u.model)
            AND p.since <= coalesce(c.day, '{LONG_AFTER}') AND p.until > coalesce(c.day, '{LONG_AFTER}')""",
    prepare=_prepare,
)


SUPERSEDED = SqlTable(
    name="tokens",
    amounts={"superseded_turns": Amount("1", "Superseded turns that used a model")},
    source="turn AS t INDEXED BY turn_superseded"
    " CROSS JOIN temp.billed_turn AS c ON c.conversation = t.conversation AND c.turn = t.position",
    where="t.superseded IS NOT NULL"
    " AND EXISTS (SELECT 1 FROM spend AS s WHERE s.conversation = t.conversation AND s.turn = t.position)",
    prepare=Chosen.note_bill,
)


def _by_tool(chosen: Chosen, limit: int | None, table: PriceTable | None) -> list[SpendRow]:
    chosen.note_bill()
    _put_prices(chosen, table)
    order = "coalesce(estimated_dollars, 0) DESC, estimated_input + estimated_output DESC, 1"
    rows = TOKENS_OF_TOOLS.sums(chosen, order=order, limit=limit)
    for row in rows:
        dollars = row["estimated_dollars"]
        row |= {name: math.ceil(row[name]) for name in ("estimated_input", "estimated_output")}
        row["estimated_dollars"] = round(dollars, DIGITS) if dollars is not None else None
    return [SpendRow(**row) for row in rows]


def _put_prices(chosen: Chosen, table: PriceTable | None) -> None:
    """Create the temporary table `unit_price`: prices of a million tokens with the days of their validity."""
    rows = []
    for model, entry in table.models.items() if table is not None else ():
        for step, after in pairwise([*entry.prices, None] if entry is not None else []):
            assert step is not None
            until = after.since if after is not None else END_OF_TIME
            rows.append((model, step.since, until, step.input, step.output))
    names = ("model", "since", "until", "input", "output")
    values = ", ".join(f"json_extract(value, '$[{number}]') AS {name}" for number, name in enumerate(names))
    chosen.connection.execute("DROP TABLE IF EXISTS temp.unit_price")
    chosen.connection.execute(  # unlike an INSERT, this begins no transaction
        f"CREATE TEMP TABLE unit_price AS SELECT {values} FROM json_each(?)",  # noqa: S608 - names of our own
        (msgspec.json.encode(rows).decode(),),
    )
    chosen.connection.execute("CREATE INDEX temp.unit_price_model ON unit_price (model)")


HAS_SHARE = "f.percent IS NOT NULL"


class Among(NamedTuple):
    """Turns of which something is measured: SQL for rows with a conversation and a turn, and its parameters."""

    sql: str = "temp.chosen_turn"
    parameters: tuple[Any, ...] = ()

    def source(self) -> str:
        return f"""
            temp.chosen AS c CROSS JOIN prompt_share AS f ON f.conversation = c.conversation
            JOIN {self.sql} AS t ON t.conversation = f.conversation AND t.turn = coalesce(f.turn, {NO_TURN})
        """

    def shares(self) -> str:
        return f"{self.source()} WHERE {HAS_SHARE}"


ALL_TURNS = Among()
_TURN = "t.conversation << 32 | t.turn"
COMPOSED = SqlTable(
    name="tokens",
    amounts={"composition_turns": Amount(_TURN, "Turns that record what their prompt was made of", DISTINCT)},
    source=ALL_TURNS.source(),
    where=HAS_SHARE,
    turn="t.turn",
)
SHARES = SqlTable(
    name="tokens.composition",
    amounts={"turns": Amount(_TURN, "Turns", DISTINCT)},
    keys=("name",),
    by=("f.category || coalesce(': ' || nullif(f.label, ''), '')",),
    of=" whose prompt had {}",
    source=ALL_TURNS.source(),
    where=HAS_SHARE,
    turn="t.turn",
)


def composition(chosen: Chosen, among: Among = ALL_TURNS) -> list[ShareRow]:
    """Return the mean share of each category in prompts, over all turns with shares; a missing category counts as 0."""
    rows = chosen.connection.execute(
        f"""
        WITH share AS MATERIALIZED (
            SELECT t.conversation, t.turn, f.category, f.label, avg(f.percent) AS percent
            FROM {among.shares()} GROUP BY 1, 2, 3, 4
        )
        SELECT category, label, sum(percent) / (SELECT count(DISTINCT conversation << 32 | turn) FROM share), count(*)
        FROM share GROUP BY category, label ORDER BY 3 DESC, category, label
        """,  # noqa: S608
        among.parameters,
    )
    return [
        ShareRow(category=category, label=label, percent=percent, turns=turns)
        for category, label, percent, turns in rows
    ]


def composed_turns(chosen: Chosen, among: Among = ALL_TURNS) -> int:
    """Return the number of turns whose composition is recorded."""
    sql = f"SELECT count(DISTINCT t.conversation << 32 | t.turn) FROM {among.shares()}"  # noqa: S608
    (turns,) = chosen.connection.execute(sql, among.parameters).fetchone()
    return int(turns)


def _prices_of(models: Iterable[str], table: PriceTable | None, discount: float) -> Prices | None:
    """Return the prices that were used for these models; None without a price table."""
    if table is None:
        return None
    entries = {model: table.models.get(model) for model in models}
    return Prices(
        source=table.source,
        date=table.date,
        models={model: entry.name for model, entry in entries.items() if entry is not None},
        unpriced=[model for model, entry in entries.items() if entry is None],
        unknown=table.unknown,
        own=[model for model in table.own if model in entries],
        discount=discount or None,
    )
