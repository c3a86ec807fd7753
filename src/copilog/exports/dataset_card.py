"""Write the card of the dataset: its README.md, with the front matter that Hugging Face reads."""

from __future__ import annotations

from collections.abc import Mapping

from copilog.exports.dataset_schema import MONTH, TABLES, Table
from copilog.exports.formats import Making

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
LARGE = "1M<n<10M"
LOADING = """```python
import duckdb, pandas, polars

polars.scan_parquet("messages/**/*.parquet", hive_partitioning=True)
duckdb.sql("SELECT * FROM read_parquet('spending/*/*.parquet', hive_partitioning = true)")
pandas.read_parquet("turns")
spark.read.parquet("tool_calls")
```"""


def card(rows: Mapping[str, int], making: Making) -> str:
    """Return the card of a dataset with so many rows in each table."""
    size = next((name for limit, name in SIZES if rows.get("messages", 0) < limit), LARGE)
    configs = "".join(
        f"- config_name: {table.name}\n  data_files: {table.name}/*/*.parquet\n"
        + ("  default: true\n" if table is TABLES[0] else "")
        for table in TABLES
    )
    counts = "\n".join(f"| `{table.name}` | {rows.get(table.name, 0):,} | {table.meaning} |" for table in TABLES)
    at = f" at {making.at.isoformat(timespec='seconds')}" if making.at is not None else ""
    return f"""---
pretty_name: GitHub Copilot conversations
license: other
size_categories:
- {size}
tags:
- conversations
- github-copilot
- tool-use
configs:
{configs}---

# GitHub Copilot conversations

Written by {making.by}{at}. The files contain conversations as they were: texts, paths, commands and output of tools.
Check them before you share them.

| Table | Rows | What it has |
|---|---:|---|
{counts}

Each table is a folder of Parquet files, partitioned by `{MONTH}`, in which the conversation began (`unknown` if that is
not recorded). `conversation` joins the tables, with `turn`, `message` and `call_id`. Rows of turns that no longer count
have the reason in `superseded`; leave them out to get the figures of copilog, except in `spending`: they were paid for.

{LOADING}

{schema_text()}"""


def schema_text(level: int = 2) -> str:
    """Return the tables and their columns as Markdown."""
    return "\n".join(_table_text(table, level) for table in TABLES)


def _table_text(table: Table, level: int) -> str:
    columns = "\n".join(f"| `{name}` | {kind} | {meaning} |" for name, kind, meaning in table.columns)
    return f"{'#' * level} {table.name}\n\n{table.meaning}\n\n| Column | Type | Meaning |\n|---|---|---|\n{columns}\n"
