"""How the user pays for Copilot: what the config file says of it, and which of its two systems bills a turn.

A turn is billed by the system that its record names. Where it names none, it is AI credits from 1 June 2026, and
premium requests before and in plans that kept them (`billing = "requests"`). One credit is a cent at list prices.
"""

from __future__ import annotations

from typing import Literal

import msgspec

System = Literal["requests", "credits"]

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
    """What the config file says of a model: prices, or the name of the model whose prices it has."""

    same_as: str | None = None
    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    long: LongPrice | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The user's plan, as the config file describes it."""

    billing: System | None = None
    budget: float | None = None  # of a billing month: credits, or premium requests where these are billed
    billing_day: int = 1  # on which a billing month begins
    discount: float = 0  # of a contract: 0.1 takes a tenth from list prices
    prices: dict[str, OwnPrice] = {}


def system_sql(plan: Plan, recorded: str, at: str) -> str:
    """Return SQL for the system that bills: what is recorded, else what the time and the plan say."""
    if plan.billing == "requests":
        return f"coalesce({recorded}, 'requests')"
    return f"coalesce({recorded}, CASE WHEN {at} >= '{FIRST_DAY_OF_CREDITS}' THEN 'credits' ELSE 'requests' END)"
