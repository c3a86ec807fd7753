"""The command line. One module per command, imported when that command runs: `copilog --help` stays light."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from copilog import __version__
from copilog.cli.common import Settings, archive_options, printable, reading_options
from copilog.errors import CopilogError, UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Command -> (module, one line of help), by purpose. The help is here so that `copilog --help` imports no command.
# `module:attribute` where a module defines several commands.
GROUPS = {
    "Read": {
        "serve": ("copilog.cli.serve", "Read, search and measure conversations in the browser."),
        "list": ("copilog.cli.listing", "List conversations, newest first."),
        "show": ("copilog.cli.show", "Show one conversation."),
        "diff": ("copilog.cli.diff", "Show what a conversation did to files, or write it as a patch."),
        "commands": ("copilog.cli.commands", "List the commands that conversations ran, and how they ended."),
        "memories": ("copilog.cli.memories", "List what Copilot's memory tool wrote, over all workspaces."),
        "digest": ("copilog.cli.digest", "Write pages about what was learnt, with indexes by time, topic and file."),
    },
    "Search": {
        "search": ("copilog.cli.search", "Search all conversations for words, phrases and code."),
        "similar": ("copilog.cli.similar", "List the conversations that are related to one, or to a text."),
        "blame": ("copilog.cli.blame:blame", "Find the conversations that edited a file or a line."),
        "why": ("copilog.cli.why", "Explain why a line of a file is there."),
        "commit": ("copilog.cli.blame:commit", "Find the conversations that wrote the lines of a commit."),
    },
    "Measure": {
        "stats": ("copilog.cli.stats", "Measure usage: tokens, cost, models, tools, work, time."),
        "agents": ("copilog.cli.agents:agents", "List custom agents and sub-agents: which ran, and which never did."),
        "skills": ("copilog.cli.agents:skills", "List skills: which were offered and loaded, and which never were."),
        "graph": ("copilog.cli.graph", "Draw which tools, skills and sub-agents each agent uses."),
        "statusline": ("copilog.cli.statusline", "Print one line of figures for a prompt or a status bar."),
    },
    "Share": {
        "export": ("copilog.cli.export", "Write conversations to HTML or Markdown files."),
        "report": ("copilog.cli.report", "Write all figures of a period to one HTML page."),
        "secrets": ("copilog.cli.secrets", "List secrets that conversations contain, masked."),
        "mcp": ("copilog.cli.mcp", "Let coding agents search and read the archive (Model Context Protocol)."),
    },
    "Repair": {
        "recover": ("copilog.cli.recover", "List conversations that VS Code or Copilot CLI do not show, and why."),
        "repair": ("copilog.cli.repair", "Repair session files that VS Code refuses."),
        "doctor": ("copilog.cli.doctor", "Show which folders copilog searches, what it found, and what is wrong."),
        "problems": ("copilog.cli.problems", "List the records and files that could not be read, and why."),
        "inspect": ("copilog.cli.inspecting", "Report what was read of each file, and what was not."),
        "archive": ("copilog.cli.archive_commands", "Check the archive, and get back what a damaged one still has."),
    },
    "Telemetry": {
        "extract": ("copilog.cli.extract", "Rebuild conversations from telemetry, one JSON line each."),
        "check": ("copilog.cli.check", "Check what raw telemetry contains, and whether it is consistent."),
        "tags": ("copilog.cli.tags", "List the tags in the messages of conversations, known and new."),
        "compare": ("copilog.cli.compare", "Compare two files of trajectories by conversation."),
        "diff-messages": ("copilog.cli.diff_messages", "Compare the messages of one conversation, field by field."),
    },
    "Manage": {
        "scan": ("copilog.cli.scan", "Update the archive from the files on disk."),
        "watch": ("copilog.cli.watch", "Update the archive whenever files change, until stopped."),
        "star": ("copilog.cli.annotate:star", "Star conversations."),
        "unstar": ("copilog.cli.annotate:unstar", "Remove stars."),
        "label": ("copilog.cli.annotate:label", "Add labels to a conversation, or remove them."),
        "note": ("copilog.cli.annotate:note", "Write a note on a conversation, or show it."),
        "rm": ("copilog.cli.remove:remove", "Remove conversations from the archive, and keep them out."),
        "restore": ("copilog.cli.remove:restore", "Let the next scan read removed conversations again."),
        "vacuum": ("copilog.cli.remove:vacuum", "Free the space that the archive no longer needs."),
        "config": ("copilog.cli.config", "Show the settings in use, and where each comes from."),
        "schema": ("copilog.cli.schema", "Print the JSON Schema of a conversation."),
        "completion": ("copilog.cli.completion", "Print a script for tab completion in your shell."),
    },
}
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}

# Older names of commands, which scripts may use.
ALIASES = {"conversation-tags": "tags"}


COMPLETION = "_COPILOG_COMPLETE"  # the variable by which a shell asks for completions

EXIT_BROKEN, EXIT_USAGE, EXIT_INTERRUPTED, EXIT_TERMINATED = 1, 2, 130, 143


class Terminated(BaseException):
    """Raised when the system asks the process to end (SIGTERM)."""


class LazyGroup(click.Group):
    """A group that knows the names of its commands, and imports each only when it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        name = ALIASES.get(name, name)
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name][0].partition(":")
        command = getattr(import_module(module), attribute or "command")
        assert isinstance(command, click.Command)
        return _completing(command) if COMPLETION in os.environ else command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands, without importing any."""
        from click.shell_completion import CompletionItem

        found = [CompletionItem(name, help=text) for name, (_, text) in COMMANDS.items() if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        width = max(map(len, COMMANDS))  # so that the help texts of all groups start in the same column
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, (_, text) in group.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = _nearest(args[0])
            if near is None:
                raise
            raise click.UsageError(f"{error.message} Did you mean '{near}'?", ctx) from None


def _completing(command: click.Command) -> click.Command:
    from copilog.cli.completing import prepare

    return prepare(command)


def _nearest(word: str) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, COMMANDS, 1)), None)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Without a command, copilog prints a summary of what it found on this machine. "
    "Start with `copilog list`, then `copilog show ID`, or with `copilog search WORDS`. "
    "`copilog COMMAND --help` has examples.",
)
@click.version_option(__version__, "-V", "--version", message="copilog %(version)s")
@click.option(
    "--color/--no-color", default=None, help="Print colours, or none; default: as the terminal and NO_COLOR allow."
)
@click.option("--debug", is_flag=True, help="Show the traceback when a command fails.")
@archive_options
@reading_options
@click.pass_context
def cli(ctx: click.Context, /, color: bool | None, debug: bool, **reading: Any) -> None:
    """Find and read the conversations that GitHub Copilot leaves on this machine.

    copilog changes no file of Copilot, except by `copilog repair --apply`, and sends nothing to any other machine. It
    stores what it reads in an archive, a database file of its own. Commands that read the archive update it from the
    files on disk first.
    """
    if debug:
        os.environ["COPILOG_RAISE"] = "1"  # otherwise an exception in a reader is reported as a bad file
    ctx.obj = Settings.load(ctx.invoked_subcommand, color=color, debug=debug, **reading)
    if ctx.invoked_subcommand is None:
        from copilog.cli.overview import show_overview

        show_overview(ctx.obj)


def run() -> None:
    """Run the command line and end the process with the exit code of the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character shows a question mark
    signal.signal(signal.SIGTERM, _end)
    if COMPLETION in os.environ:
        from copilog.cli.completing import register

        register()
    code = main(sys.argv[1:])
    gc.freeze()  # what is left ends with the process: no search for cycles in it
    sys.exit(code)


def _end(_number: int, _frame: FrameType | None) -> None:
    """End as an interruption does, so that no unfinished file and no worker process remains."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second signal changes nothing
    raise Terminated


def main(arguments: list[str]) -> int:
    """Run one command: 0 done, 1 broken run or failed check, 2 usage or path, 130 interrupted, 143 ended."""
    debug = "--debug" in arguments
    try:
        outcome = cli.main(arguments, prog_name="copilog", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except UsageError as error:
        _complain(str(error))
        return EXIT_USAGE
    except Terminated:
        _complain("ended by the system")
        return EXIT_TERMINATED
    except (KeyboardInterrupt, click.Abort):
        _complain("interrupted")
        return EXIT_INTERRUPTED
    except (BrokenPipeError, SystemExit):  # click turns the former into the latter
        # The reader of our output has closed the pipe, as `head` does. Python would print another error when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (CopilogError, OSError) as error:
        if debug:
            raise
        _complain(str(error))
        return EXIT_BROKEN
    except Exception as error:
        if debug:
            raise
        _complain(f"failed with {type(error).__name__}: {error}; run it again with `copilog --debug` for a traceback")
        return EXIT_BROKEN
    return outcome if isinstance(outcome, int) else 0


def _complain(message: str) -> None:
    """Print an error message, made safe for the terminal because file names and titles may be part of it."""
    click.echo(f"copilog: {printable(message)}", err=True)


__all__ = ["cli", "main", "run"]
