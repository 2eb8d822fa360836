"""Completion in shells: a script for each, and the answers it asks this command for.

The script calls the command with the line up to the cursor in QUEUEFS_LINE. Each line of the answer is a kind, what is
to stand in the place of the word that was begun, and what it means, with tabs between.
"""

from __future__ import annotations

import os
from types import MappingProxyType
from typing import TYPE_CHECKING

from click.shell_completion import ShellComplete, add_completion_class, split_arg_string

from queuefs.cli.candidates import DIRECTORY

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_BASH = r"""# Completion of queuefs for bash.
_queuefs() {
    local kind word
    COMPREPLY=()
    while IFS=$'\t' read -r kind word _; do
        case $kind in
            file) compopt -o default; continue ;;
            dir) compopt -o dirnames; continue ;;
            directory) compopt -o filenames ;;
            part) compopt -o nospace ;;
        esac
        COMPREPLY+=("$word")
    done < <(_QUEUEFS_COMPLETE=bash_complete QUEUEFS_LINE="${COMP_LINE:0:COMP_POINT}" \
        QUEUEFS_BREAKS="$COMP_WORDBREAKS" "$1" 2>/dev/null)
}
complete -F _queuefs queuefs
"""

_ZSH = r"""#compdef queuefs
# Completion of queuefs for zsh.
_queuefs() {
    local kind word meaning
    local -a directories parts finished meanings
    while IFS=$'\t' read -r kind word meaning; do
        case $kind in
            file) _files ;;
            dir) _files -/ ;;
            directory) directories+=("$word") ;;
            part) parts+=("$word") ;;
            *) finished+=("$word"); meanings+=("$word${meaning:+  -- $meaning}") ;;
        esac
    done < <(_QUEUEFS_COMPLETE=zsh_complete QUEUEFS_LINE="${(j: :)words[1,CURRENT]}" "$words[1]" 2>/dev/null)
    (( $#finished )) && compadd -l -d meanings -a finished
    (( $#parts )) && compadd -S '' -a parts
    if (( $#directories )); then
        compset -P '*/'
        compadd -f -S / -q -a directories
    fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _queuefs "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
    compdef _queuefs queuefs
fi
"""

_FISH = r"""# Completion of queuefs for fish.
function __queuefs_complete
    set -l program (commandline -opc)[1]
    set -l line (commandline -cp | string collect)
    for answer in (_QUEUEFS_COMPLETE=fish_complete QUEUEFS_LINE="$line" $program 2>/dev/null)
        set -l fields (string split \t -- $answer)
        switch $fields[1]
            case file
                __fish_complete_path (commandline -ct)
            case dir
                __fish_complete_directories (commandline -ct)
            case directory
                echo $fields[2]/
            case '*'
                printf '%s\t%s\n' $fields[2] $fields[3]
        end
    end
end
complete --command queuefs --no-files --arguments '(__queuefs_complete)'
"""

#: By the name of the shell.
SCRIPTS = MappingProxyType({"bash": _BASH, "zsh": _ZSH, "fish": _FISH})


class _Shell(ShellComplete):
    """What the shells have in common."""

    source_template = ""  # `queuefs completion` prints the scripts

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, and the one that has been begun."""
        line = os.environ["QUEUEFS_LINE"]
        words = split_arg_string(line)
        begun = words.pop() if words and not _ends_between_words(line) else ""
        #: The word as it stands in the line.
        self._word = begun
        return words[1:], begun

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Return an answer."""
        if item.type in ("file", "dir"):
            return f"{item.type}\t\t"
        return f"{item.type}\t{self.replacement(self._whole(item.value), item)}\t{item.help or ''}"

    def _whole(self, value: str) -> str:
        """Return the whole word with *value* in it: what stands before the ``=`` of a long option is part of it."""
        option, equals, _ = self._word.partition("=")
        return option + equals + value if equals and option.startswith("--") else value

    def replacement(self, whole: str, item: CompletionItem[str]) -> str:  # noqa: ARG002 - zsh's needs it
        """Return what the shell takes for the word *whole*."""
        return whole


class _Bash(_Shell):
    name = "bash"

    def replacement(self, whole: str, item: CompletionItem[str]) -> str:  # noqa: ARG002
        """Return what is behind the last character at which bash breaks words, beside blanks and quotes."""
        breaks = set(os.environ.get("QUEUEFS_BREAKS", "")) & set(":=")
        typed = max((self._word.rfind(character) for character in breaks), default=-1) + 1
        return whole[typed:]


class _Zsh(_Shell):
    name = "zsh"

    def replacement(self, whole: str, item: CompletionItem[str]) -> str:
        """Return of directories what is behind the last slash that was typed: zsh leaves the rest as it is."""
        return whole[self._word.rfind("/") + 1 :] if item.type == DIRECTORY else whole


class _Fish(_Shell):
    name = "fish"


def _ends_between_words(line: str) -> bool:
    """Tell whether *line* ends in a blank that is neither quoted nor escaped."""
    return len(split_arg_string(f"{line}x")) > len(split_arg_string(line))


for _shell in (_Bash, _Zsh, _Fish):
    add_completion_class(_shell)
