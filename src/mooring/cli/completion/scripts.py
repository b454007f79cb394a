"""The scripts that shells load; ``moor completion`` prints them.

Each of them calls ``moor __complete WORD...`` with the words up to the cursor, the last of which
may be empty. The answer has a line for each completion, with a description after a tab, and ends
with a line ``:NUMBER`` whose bits are those of `completions.Directive`, as kubectl's plugins have
it.
"""

from typing import Final

BASH: Final = r"""# bash completion for moor: source <(moor completion bash)
__moor_complete() {
    local i word glue="" answer directive line value words=() count=0
    # Bash breaks words at = and : as well; they are put together again.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == [=:]* && $count -gt 0 ]]; then
            words[count - 1]+=$word
            glue=yes
        elif [[ -n $glue ]]; then
            words[count - 1]+=$word
            glue=""
        else
            words[count]=$word
            ((count += 1))
        fi
    done
    local program=${COMP_WORDS[0]} current=${words[count - 1]}
    type -P -- "$program" >/dev/null 2>&1 || program=moor
    answer=$("$program" __complete "${words[@]}" 2>/dev/null) || return 0
    directive=${answer##*:}
    answer=${answer%:*}
    COMPREPLY=()
    # What bash replaces begins after the last = or : of the word.
    local before=""
    if [[ $current == -*=* ]]; then
        current=${current#*=}
    fi
    if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
        before=${current%"${current##*:}"}
    fi
    while IFS= read -r line; do
        value=${line%%$'\t'*}
        if [[ -n $value && $value == "$current"* ]]; then
            COMPREPLY+=("${value#"$before"}")
        fi
    done <<<"$answer"
    if type -t compopt >/dev/null; then
        ((directive & 2)) && compopt -o nospace
        ((directive & 4)) && compopt +o default
    fi
    return 0
}
complete -o default -F __moor_complete moor
"""

ZSH: Final = r"""#compdef moor
# zsh completion for moor: source <(moor completion zsh)
__moor_complete() {
    local answer directive line value about program=${words[1]}
    local -a lines described options
    (( $+commands[$program] )) || [[ -x ${~program} ]] || program=moor
    answer=$(${~program} __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)words[CURRENT]}" 2>/dev/null)
    lines=("${(@f)answer}")
    directive=${lines[-1]#:}
    [[ $directive == <-> ]] || return 1
    for line in "${(@)lines[1,-2]}"; do
        value=${line%%$'\t'*}
        about=""
        [[ $line == *$'\t'* ]] && about=${line#*$'\t'}
        described+=("${value//:/\\:}${about:+:$about}")
    done
    # A value after --option= is completed alone.
    [[ $words[CURRENT] == -*=* ]] && compset -P '*='
    (( directive & 2 )) && options=(-S '')
    if (( $#described )); then
        _describe moor described "${options[@]}"
    elif (( ! (directive & 4) )); then
        _files
    fi
}
if [[ $funcstack[1] == _moor ]]; then
    __moor_complete "$@"
else
    compdef __moor_complete moor
fi
"""

FISH: Final = r"""# fish completion for moor: moor completion fish | source
function __moor_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l lines ($program __complete $words "$current" 2>/dev/null)
    or return
    set -l directive (string replace -r '^:' '' -- $lines[-1])
    set -e lines[-1]
    # A value after --option= is completed with what stands before it.
    set -l before (string match -r -- '^-[^=]*=' "$current")
    if test (count $lines) -gt 0
        for line in $lines
            printf '%s\n' "$before$line"
        end
    else if test (math "floor($directive / 4) % 2") -eq 0
        __fish_complete_path "$current"
    end
end
complete -c moor -f -a '(__moor_complete)'
"""

SCRIPTS: Final = {"bash": BASH, "zsh": ZSH, "fish": FISH}
