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
