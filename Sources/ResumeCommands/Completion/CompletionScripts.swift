extension CompletionsCommand.Shell {
    /// The script that makes the shell ask the program what completes a word.
    ///
    /// The program decides (``CompletionCourse``); a script only knows how its shell completes files.
    var script: String {
        switch self {
        case .bash:
            #"""
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
            """#
        case .zsh:
            #"""
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
            """#
        case .fish:
            #"""
            # Completions of resumectl for fish.
            function __resumectl_complete
                set -l words (commandline -opc)
                set -l word (commandline -ct)
                set -l plain (string unescape -- $word); or set plain $word
                set -l answer ($words[1] ---complete fish $words[2..] "$plain" 2>/dev/null)
                # The beginning of the word that is not part of the value.
                set -l head "$answer[2]"
                set -l value (string sub --start (math (string length -- "$head") + 1) -- "$plain")
                switch "$answer[1]"
                    case files
                        printf "$head%s\n" (__fish_complete_path "$value")
                    case folders
                        printf "$head%s\n" (__fish_complete_directories "$value")
                    case words
                        string join \n -- $answer[3..]
                end
            end
            complete -c resumectl -f -a '(__resumectl_complete)'
            """#
        }
    }
}
