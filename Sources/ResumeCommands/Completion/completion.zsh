#compdef resumectl
# Completions of resumectl for zsh.
_resumectl() {
    local -a answer whole parts
    answer=("${(@f)$("${words[1]}" ---complete zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    # The beginning of the word that is not part of the value.
    [[ -z "${answer[2]}" ]] || compset -P "${(b)answer[2]}"
    case "${answer[1]}" in
        files) _files ;;
        folders) _directories ;;
        words)
            whole=("${(@)${(@M)answer[3,-1]:#=*}#=}")
            parts=("${(@)${(@M)answer[3,-1]:#-*}#-}")
            _describe -V value whole -- parts -S ''
            ;;
    esac
}
if [[ "${funcstack[1]}" = _resumectl ]]; then _resumectl "$@"; else compdef _resumectl resumectl; fi
