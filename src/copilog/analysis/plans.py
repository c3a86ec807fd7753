"""The user's Copilot plan from the config file, and which of the two billing systems a turn belongs to.

A turn is billed by the system that its record names. If it names none, that is AI credits from 1 June 2026, and
premium requests before and in plans that still use them (`billing = "requests"`). That day is the user's, as all days
of figures are; `--utc` makes it GitHub's. One credit is a cent at list prices.
"""

from __future__ import annotations

import msgspec

from copilog.store.rows import Billing

FIRST_DAY_OF_CREDITS = "2026-06-01"
CREDITS_OF_A_DOLLAR = 100


class LongPrice(msgspec.Struct, frozen=True, kw_only=True):
    """Dollars for a million tokens of prompts that are longer than a number of tokens."""

    above: int
    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


class OwnPrice(msgspec.Struct, frozen=True, kw_only=True):
    """The entry of a model in the config file: prices, or the name of a model with the same prices."""

    same_as: str | None = None
    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    long: LongPrice | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The user's plan, as the config file describes it."""

    billing: Billing | None = None
    budget: float | None = None  # of a billing month: credits, or premium requests if these are billed
    billing_day: int = 1  # on which a billing month begins
    discount: float = 0  # of a contract: 0.1 takes a tenth from list prices
    prices: dict[str, OwnPrice] = {}


def system_sql(plan: Plan, recorded: str, day: str) -> str:
    """Return SQL for the billing system: the recorded one, else the one that follows from the plan and the day."""
    if plan.billing == "requests":
        return f"coalesce({recorded}, 'requests')"
    return f"coalesce({recorded}, CASE WHEN {day} >= '{FIRST_DAY_OF_CREDITS}' THEN 'credits' ELSE 'requests' END)"
