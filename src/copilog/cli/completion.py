"""`copilog completion`"""

from __future__ import annotations

import click

# `compdef` exists only after `compinit` has run, which a new .zshrc does not do. The first line of a script for zsh
# has to remain the first.
COMPINIT = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }"


@click.command(
    "completion",
    epilog="""\b
Examples:
  copilog completion bash >> ~/.bashrc
  copilog completion zsh  >> ~/.zshrc
  copilog completion fish > ~/.config/fish/completions/copilog.fish""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print a script for tab completion in your shell.

    Add it to the start file of the shell, as the examples do, and open a new terminal.
    """
    from click.shell_completion import get_completion_class

    completion = get_completion_class(shell)
    assert completion is not None
    script = completion(ctx.find_root().command, {}, "copilog", "_COPILOG_COMPLETE").source()
    click.echo(script.replace("\n", f"\n{COMPINIT}\n", 1) if shell == "zsh" else script)
    return 0
