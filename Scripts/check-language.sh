#!/bin/bash
# Finds wording that this package avoids in its documentation, its scripts and the strings that users see. Prints
# "file:line: wording" for each occurrence and exits with 1 if there is any.
# A line with the marker "language:allow" is not checked, nor are lines between "language:off" and "language:on".
# Usage: check-language.sh [--self-test]
set -euo pipefail
cd "$(dirname "$0")/.."

# language:off
phrases="anew
mend
mends
mended
mending
told
tell of
tells of
telling of
what came
what is held
so many
by itself
let go of
lets go of
letting go of
goes away
nobody
somebody
meanwhile
door
doors
said openly
of its own
of his own
of her own
of their own
of one's own
of your own
whoever
whomever
who has it
who works on it
he
he's
him
his
himself
hold rows against
holds rows against
hold the rows against
holds the rows against
talk to standard error
talks on standard error
hand in
hands in
handed in
given up softly
gives up softly
go on with
goes on with
going on with
gone on with
went on with
went on at
goes on at
one and all"
# language:on

# Reads the phrases from standard input, then the files. Compares words in lower case, separated by one space, together
# with the last words of the previous line, since a phrase may be wrapped. In Swift sources only strings are checked.
read -r -d '' program <<'EOF_AWK' || true
function strings(line,    text, i, c, two) {
    text = ""
    for (i = 1; i <= length(line); i++) {
        if (substr(line, i, 3) == "\"\"\"") {
            multiline = !multiline
            text = text " "
            i += 2
            continue
        }
        c = substr(line, i, 1)
        two = substr(line, i, 2)
        if (multiline) {
            text = text c
        } else if (inside[level]) {
            if (two == "\\(") { level++; inside[level] = 0; parens[level] = 1; text = text " "; i++ }
            else if (c == "\\") { text = text " "; i++ }
            else if (c == "\"") { inside[level] = 0; text = text " " }
            else text = text c
        } else {
            if (two == "//") break
            if (c == "\"") inside[level] = 1
            else if (level > 0 && c == "(") parens[level]++
            else if (level > 0 && c == ")") {
                parens[level]--
                if (parens[level] == 0) level--
            }
        }
    }
    # A string ends on its line.
    if (!multiline) { level = 0; inside[0] = 0 }
    return text
}
NR == FNR { phrase[++count] = $0; next }
FNR == 1 { multiline = 0; level = 0; inside[0] = 0; off = 0; carry = "" }
/language:off/ { off = 1 }
/language:on/ { off = 0 }
off || /language:allow/ { carry = ""; next }
{
    text = $0
    if (FILENAME ~ /\.swift$/) {
        if (!multiline && text !~ /"/) { carry = ""; next }
        text = strings(text)
    }
    gsub(/\342\200[\230\231]/, "'", text)
    text = tolower(text)
    gsub(/[^a-z']+/, " ", text)
    gsub(/(^| )'+/, " ", text)
    gsub(/'+( |$)/, " ", text)
    gsub(/  +/, " ", text)
    sub(/^ /, "", text)
    sub(/ $/, "", text)
    if (text == "") { carry = ""; next }
    all = " " carry text " "
    for (i = 1; i <= count; i++) {
        at = index(all, " " phrase[i] " ")
        start = at
        # A match that ends within the carried words was reported on the previous line.
        while (at > 0 && start + length(phrase[i]) <= length(carry)) {
            at = index(substr(all, start + 1), " " phrase[i] " ")
            start += at
        }
        if (at > 0) { print FILENAME ":" FNR ": " phrase[i]; found = 1 }
    }
    number = split(carry text, words, " ")
    carry = ""
    for (i = (number > 4 ? number - 3 : 1); i <= number; i++) carry = carry words[i] " "
}
END { exit found }
EOF_AWK

check() { LC_ALL=C awk "$program" - "$@" <<<"$phrases"; }

# Writes each phrase where it must be found and where it must not be found.
self_test() {
    local phrase output found failed=0
    while IFS= read -r phrase; do
        printf 'A line.\nThe text: %s, and more.\n' "$phrase" >"$folder/found.md"
        printf 'A line that ends with %s' "$phrase" | tr ' ' '\n' >"$folder/found.wrapped.md"
        printf 'make:\n\t@echo "%s"\n' "$phrase" >"$folder/found.Makefile"
        printf '#!/bin/sh\necho "It’s ‘%s’"\n' "$phrase" >"$folder/found.sh"
        printf 'let text = "It is %s \\(name)"\n' "$phrase" >"$folder/found.string.swift"
        printf 'let text = "\\(isOpen ? "it is %s" : "")"\n' "$phrase" >"$folder/found.nested.swift"
        printf 'let text = """\n    It is %s\n    """\n' "$phrase" >"$folder/found.multiline.swift"
        printf 'let text = "fine" // "%s"\n/// A "%s".\nlet code = "a" + "\\(f(%s: "b"))"\n' \
            "$phrase" "$phrase" "$phrase" >"$folder/clean.comment.swift"
        printf 'Quoted: %s <!-- language:allow -->\nlanguage:off\n%s\nlanguage:on\n' \
            "$phrase" "$phrase" >"$folder/clean.allowed.md"
        printf 'x%sx\n' "$phrase" >"$folder/clean.part.md"
        output=$(check "$folder"/* || true)
        found=$({ grep -F ": $phrase" <<<"$output" || true; } | sed "s|^$folder/||; s|:.*||" | sort -u | tr '\n' ' ')
        if [ "$found" != "$(cd "$folder" && printf '%s ' found.*)" ]; then
            echo "self-test: '$phrase' was found in: $found"
            failed=1
        fi
    done <<<"$phrases"
    [ $failed -eq 1 ] || echo "self-test: each of $(wc -l <<<"$phrases") phrases is found"
    return $failed
}

if [ "${1:-}" = --self-test ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    self_test
    exit
fi
files=()
while IFS= read -r file; do
    if [ -f "$file" ]; then files+=("$file"); fi
done < <(git ls-files README.md CONTRIBUTING.md CHANGELOG.md 'docs/*.md' 'Sources/*.docc/*.md' 'Examples/*.md' \
    Makefile 'Scripts/*.sh' 'Packaging/*.txt' Packaging/control 'Benchmarks/*.sh' .ci/run Package.swift \
    'Sources/*.swift' 'Examples/*.swift' 'Benchmarks/*.swift')
check "${files[@]}"
