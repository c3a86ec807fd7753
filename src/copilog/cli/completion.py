"""`copilog completion`"""

from __future__ import annotations

import click

# Each script asks the program for candidates, a line for each: type, value, description.
BASH = r"""
_copilog_completion() {
    local IFS=$'\n' line kind value
    COMPREPLY=()
    for line in $(COMP_LINE="${COMP_LINE:0:$COMP_POINT}" COMP_TYPE="$COMP_TYPE" COMP_WORDBREAKS="$COMP_WORDBREAKS" \
        _COPILOG_COMPLETE=copilog-bash_complete "$1" 2> /dev/null); do
        kind=${line%%$'\t'*}
        value=${line#*$'\t'}
        case $kind in
            plain) COMPREPLY+=("$value") ;;
            file) compopt -o default 2> /dev/null ;;
            dir) compopt -o dirnames 2> /dev/null ;;
        esac
    done
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]]; then
        compopt -o nospace 2> /dev/null
    fi
}
complete -o nosort -F _copilog_completion copilog 2> /dev/null || complete -F _copilog_completion copilog
"""
# `compdef` exists only after `compinit` has run, which a new .zshrc does not do. The first line of a script for zsh
# has to remain the first.
ZSH = r"""
#compdef copilog
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
_copilog_completion() {
    local line kind value about
    local -a values shown fields
    for line in "${(@f)$(COMP_WORDS="${(pj:\n:)${(@Q)words[1,CURRENT-1]}}"$'\n'"${(Q)PREFIX}" \
        _COPILOG_COMPLETE=copilog-zsh_complete ${words[1]} 2> /dev/null)}"; do
        kind=${line%%$'\t'*}
        value=${${line#*$'\t'}%%$'\t'*}
        about=${line##*$'\t'}
        case $kind in
            plain)
                if [[ $value == *: ]]; then
                    fields+=("$value")
                else
                    values+=("$value")
                    [[ -n $about ]] && shown+=("$value  -- $about") || shown+=("$value")
                fi ;;
            file) _files ;;
            dir) _files -/ ;;
        esac
    done
    (( $#fields )) && compadd -U -S '' -V fields -a fields
    (( $#values )) && compadd -U -l -V values -d shown -a values
    return 0
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _copilog_completion "$@"
else
    compdef _copilog_completion copilog
fi
"""
FISH = r"""
function __copilog_completion
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    for line in (env COMP_WORDS=(string join \n -- $words | string collect) COMP_LAST="$typed" \
            _COPILOG_COMPLETE=copilog-fish_complete $words[1] 2> /dev/null)
        set -l parts (string split \t -- $line)
        switch $parts[1]
            case plain
                printf '%s\t%s\n' $parts[2] $parts[3]
            case file
                __fish_complete_path $parts[2]
            case dir
                __fish_complete_directories $parts[2]
        end
    end
end
complete --no-files --keep-order --command copilog --arguments '(__copilog_completion)'
"""
POWERSHELL = r"""
Register-ArgumentCompleter -Native -CommandName copilog -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        ForEach-Object { if ($null -ne $_.Value) { $_.Value } else { $_.Extent.Text } }) + @($wordToComplete)
    $env:COMP_WORDS = $words -join "`n"
    $env:_COPILOG_COMPLETE = 'copilog-powershell_complete'
    try {
        & $words[0] 2> $null | ForEach-Object {
            $kind, $value, $about = $_ -split "`t", 3
            if ($kind -eq 'plain') {
                $needsQuotes = $value -match '[\s''"$`&|;<>(){}@#,]'
                $text = if ($needsQuotes) { "'" + $value.Replace("'", "''") + "'" } else { $value }
                $tip = if ($about) { $about } else { $value }
                [System.Management.Automation.CompletionResult]::new($text, $value, 'ParameterValue', $tip)
            }
        }
    } finally {
        Remove-Item Env:COMP_WORDS, Env:_COPILOG_COMPLETE
    }
}
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH, "powershell": POWERSHELL}


@click.command(
    "completion",
    epilog="""\b
Examples:
  copilog completion bash >> ~/.bashrc
  copilog completion zsh  >> ~/.zshrc
  copilog completion fish > ~/.config/fish/completions/copilog.fish
  copilog completion powershell >> $PROFILE""",
)
@click.argument("shell", type=click.Choice(list(SCRIPTS)))
def command(shell: str) -> int:
    """Print a script for tab completion in your shell.

    Add it to the start file of the shell, as the examples do, and open a new terminal. Commands, options, ids of
    conversations with their titles, names of workspaces, models, labels and so on, and the fields of queries are
    completed, from the archive as it is.
    """
    click.echo(SCRIPTS[shell].strip("\n"))
    return 0
