# Completions of resumectl for bash.
_resumectl() {
    local line kind=
    COMPREPLY=()
    while IFS= read -r line; do
        if [ -z "$kind" ]; then kind=$line; else COMPREPLY+=("$line"); fi
    done < <("$1" ---complete bash "${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null)
    # Without an answer, readline completes the names of files.
    case $kind in
        files) ;;
        folders) compopt +o default -o dirnames ;;
        parts) compopt +o default -o nospace ;;
        *) compopt +o default ;;
    esac 2>/dev/null
}
complete -o default -F _resumectl resumectl
