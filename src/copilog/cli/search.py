"""`copilog search`. The module imports nothing heavy, so that with --no-scan the answer is immediate."""

from __future__ import annotations

import re
from datetime import datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from copilog.cli.archives import reads_archive, searched_archive
from copilog.cli.common import (
    COUNT,
    OFFSET,
    CsvCommand,
    Settings,
    csv_option,
    folder_name,
    json_option,
    one_line,
    pass_settings,
    plural,
    printable,
    short_id,
)
from copilog.cli.dates import when
from copilog.cli.json_output import print_json
from copilog.cli.selection_options import utc_option
from copilog.diagnostics import Report
from copilog.store.query import QueryError
from copilog.store.selection import UnknownName

if TYPE_CHECKING:
    from copilog.store.reading import Reading
    from copilog.store.search import Group, Hit, SearchResult

READINGS = ("text", "query")
FOUND, FOUND_NOTHING, NO_QUERY = 0, 1, 2  # exit codes
LONGEST_REASON = 300
NEAR_ENOUGH = 0.75  # to an option: it is misspelt
SHOWN_BEFORE, SHOWN_AFTER = 60, 40  # of a query, around the error
_SPACE = re.compile(r"\s+")


class SearchCommand(CsvCommand):
    """A command whose words may begin with a dash, as in `copilog search rm -rf`; options near its own are refused."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = [name for parameter in self.get_params(ctx) for name in (*parameter.opts, *parameter.secondary_opts)]
        for argument in args:
            if argument == "--":
                break
            name = argument.partition("=")[0]
            near = get_close_matches(name, known, 3, NEAR_ENOUGH) if name.startswith("--") else []
            if near and name not in known:
                raise click.NoSuchOption(name, possibilities=near, ctx=ctx)
        return super().parse_args(ctx, args)


@click.command(
    "search",
    cls=SearchCommand,
    context_settings={"ignore_unknown_options": True},
    epilog="""\b
Examples:
  copilog search tide table
  copilog search '"flaky test" workspace:tide-tables after:30d'
  copilog search 'parse* AND NOT role:tool' --newest
  copilog search "'self.cache[key]'" --json
  copilog search rm -rf
  copilog search why is the tide lookup slow
  copilog search --regex 'TODO\\(\\w+\\)' file:forecast.py""",
)
@click.argument("query", nargs=-1, metavar="QUERY...")
@click.option("--regex", metavar="PATTERN", help="Only texts that match this regular expression (Python syntax).")
@click.option("--newest", is_flag=True, help="Print the newest hits first, instead of the best matches.")
@click.option("-n", "--limit", metavar="N", type=COUNT, default=50, show_default=True, help="The most hits to print.")
@click.option("--offset", type=OFFSET, default=0, metavar="N", help="Skip the first N hits.")
@click.option(
    "--reading",
    type=click.Choice(READINGS),
    help="Take the query as the text that was typed, or as a query. Default: text if some message has it.",
)
@utc_option
@csv_option("Print the hits as CSV.")
@json_option
@pass_settings
@reads_archive
def command(
    settings: Settings,
    /,
    query: tuple[str, ...],
    regex: str | None,
    newest: bool,
    limit: int,
    offset: int,
    reading: Reading | None,
    utc: bool,
    as_csv: str | None,
    as_json: bool,
) -> int:
    """Search all conversations for words, phrases and code.

    A message matches if it contains all words of the query. Where few messages do, conversations with some of the
    words follow, so that a question finds its conversation; +word and "quotes" insist. What was pasted finds itself:
    if some message has exactly what you typed, such as `rm -rf`, that is what is found.

    A query may also contain "a phrase" in double quotes, 'exact text' in single quotes, begin* for words with this
    beginning, AND, OR, NOT or -word, parentheses, and fields: workspace:, model:, tool:, file:, role:, agent:, skill:,
    mode:, source:, title:, has:error, has:edit, since:, until:. Your shell removes quotes: write another pair around
    the query, as in the examples.

    The archive is updated, then searched; with --root or --sample, those files are searched instead. The exit code is
    0 if there are hits, 1 if there are none, and 2 if the query is invalid or names something that no conversation
    has.
    """
    if as_json and as_csv:
        raise click.UsageError("give either --json or --csv, not both")
    text = " ".join(query)
    if not text.strip() and not regex:
        raise click.UsageError("nothing to search for; use `copilog search WORDS`, or --regex PATTERN")
    try:
        with searched_archive(settings, Report()) as archive:
            order = "newest" if newest else "rank"
            options = {"regex": regex, "order": order, "utc": utc, "reading": reading}
            result = archive.search(text, limit=limit, offset=offset, **options)
    except QueryError as error:
        if as_json:
            _print_fault(error, text)
        click.echo(_explained(error, text), err=True)
        return NO_QUERY
    except UnknownName as error:
        if as_json:
            unknown = {"reason": str(error), "field": error.field, "value": error.value, "nearest": error.nearest}
            print_json({"query": text, "error": unknown})
        raise
    if as_json:
        _print_json(result)
    elif as_csv:
        _print_csv(result, for_excel=as_csv == "excel")
    else:
        _print(result, in_colour=settings.in_color())
    click.echo(_summary_line(result, offset), err=True)
    for note in result.notes:
        click.echo(printable(note), err=True)
    return FOUND if result.total else FOUND_NOTHING


def _explained(error: QueryError, text: str) -> str:
    """Return the error, its position in the query, and a query that would work."""
    from copilog.view.terminal_text import clean_line

    lines = [f"copilog: {clean_line(error.reason, LONGEST_REASON)}"]
    if error.suggestion is not None:
        start = max(0, error.position - SHOWN_BEFORE)
        shown = _SPACE.sub(" ", text[start : error.position + SHOWN_AFTER])
        lines += [f"  {printable(shown)}", "  " + " " * (error.position - start) + "^"]
        lines.append(f"the nearest query that works: {printable(error.suggestion)}")
    return "\n".join(lines)


def _print_fault(error: QueryError, text: str) -> None:
    fault = {"reason": error.reason, "position": error.position, "suggestion": error.suggestion}
    print_json({"query": text, "error": fault})


def _print_json(result: SearchResult) -> None:
    import msgspec

    document = {name: value for name, value in msgspec.structs.asdict(result).items() if name != "hits"}
    document["groups"] = result.groups()
    print_json(document)


def _print_csv(result: SearchResult, *, for_excel: bool) -> None:
    from copilog.cli.tables import print_csv_lines
    from copilog.store.search import Hit

    names = Hit.__struct_fields__
    print_csv_lines(names, [[getattr(hit, name) for name in names] for hit in result.hits], for_excel=for_excel)


# --- as text ----------------------------------------------------------------------------------------------------


def _print(result: SearchResult, *, in_colour: bool) -> None:
    for number, group in enumerate(result.groups()):
        lines = ["", _headline(group)] if number else [_headline(group)]
        lines += [_line(hit) for hit in group.hits]
        click.echo("\n".join(lines), color=in_colour)


def _headline(group: Group) -> str:
    touched = when(datetime.fromisoformat(group.updated_at)) if group.updated_at else "-"
    words = [click.style(short_id(group.conversation), fg="cyan"), touched]
    if group.workspace:
        words.append(click.style(folder_name(group.workspace), dim=True))
    return "  ".join([*words, click.style(one_line(group.title), bold=True)])


def _line(hit: Hit) -> str:
    place = f"--turn {hit.number}" if hit.number is not None else ""
    kind = hit.document or hit.field
    title = f"{one_line(hit.document_title)}: " if hit.document_title else ""
    return f"  {click.style(f'{place:<9}', fg='green')}  {click.style(f'{kind:<9}', dim=True)}  {title}{_marked(hit)}"


def _marked(hit: Hit) -> str:
    """Return the snippet as one line, with the matches highlighted."""
    pieces: list[str] = []
    end = 0
    for start, stop in hit.highlights:
        pieces.append(_plain(hit.snippet[end:start]))
        pieces.append(click.style(_plain(hit.snippet[start:stop]), fg="yellow", bold=True))
        end = stop
    return "".join([*pieces, _plain(hit.snippet[end:])]).strip()


def _plain(text: str) -> str:
    return printable(_SPACE.sub(" ", text))


def _summary_line(result: SearchResult, offset: int) -> str:
    """Return the result in one line, with the command that continues."""
    shown = len(result.hits)
    if not result.total:
        return "no hits"
    total = f"{'' if result.total_is_exact else 'at least '}{result.total:,} {plural(result.total, 'hit')}"
    number = result.conversations
    place = f"{'' if result.conversations_is_exact else 'at least '}{number:,} {plural(number, 'conversation')}"
    if not shown:
        return f"{total} in {place}; --offset {offset:,} skips all of them"
    line = f"{total} in {place}"
    if offset or shown < result.total:
        line = f"hits {offset + 1:,}-{offset + shown:,} of {line} (--limit N and --offset {offset + shown} for more)"
    other = " or `--document NAME`" if any(hit.document and hit.number is None for hit in result.hits) else ""
    return f"{line}; `copilog show ID --turn N`{other} opens one"
