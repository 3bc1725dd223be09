#!/usr/bin/env python3
"""Checks the structure of Sources: no cycle between folders of a target, no large folder, no long file.

A folder depends on another folder of its target if one of its files names a top-level type that is declared there.
Comments and strings do not count. Prints each cycle with a file and line for each of its edges.
"""
import collections
import pathlib
import re
import sys

MOST_FILES = 15
MOST_LINES = 260

# Edges that close a cycle today. Remove an edge from this list when it is no longer needed; do not add any.
ALLOWED = {
    # The body's parts know the request, the response and the errors of the engine.
    ("Sources/ResumeDownload/Body", "Sources/ResumeDownload/Engine"),
    # A run counts its own metrics; the observer describes requests and results.
    ("Sources/ResumeDownload/Engine", "Sources/ResumeDownload/Observability"),
    # A store owns its batch of deliveries and the watch of small files.
    ("Sources/ResumeStore/Store", "Sources/ResumeStore/Delivery"),
}
# Files that are longer than MOST_LINES today. Do not add any.
LONG = set()

# The nested types of an extension, such as `DownloadStore.Entry`, which belong to the folder that declares them.
NESTING = re.compile(r"^extension (\w+) \{\n(?:[ \t]*\n|    @\w+\n)*    (?:public|package) (?:enum|struct) .*?^}", re.M | re.S)
NESTED = re.compile(r"^    (?:public|package) (?:enum|struct) (\w+)", re.M)
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"', re.S)
DECLARATION = re.compile(
    r"^(?:@\w+(?:\([^)]*\))? )*(?:(?:public|package|internal|final|indirect) )*"
    r"(?:actor|class|enum|protocol|struct|typealias) (\w+)", re.M)


def without_comments(text):
    """The code of a file. Lines keep their numbers."""
    return TOKEN.sub(lambda match: "\n" * match[0].count("\n"), text)


def edges_of(target):
    """The edges between the folders of a target, each with an example."""
    code = {file: without_comments(file.read_text()) for file in sorted(target.rglob("*.swift"))}
    homes = {name: file.parent for file, text in code.items() for name in DECLARATION.findall(text)}
    for file, text in code.items():
        for block in NESTING.finditer(text):
            homes |= {f"{block[1]}.{name}": file.parent for name in NESTED.findall(block[0])}
    edges = {}
    for file, text in code.items():
        text = NESTING.sub(lambda match: match[0].replace(match[1], "_" * len(match[1]), 1), text)
        for word in re.finditer(r"\b[A-Z]\w*(\.[A-Z]\w*)?", text):
            first = word[0].split(".")[0]
            home = homes.get(word[0], homes.get(first, file.parent))
            if home != file.parent:
                example = f"{file}:{text.count(chr(10), 0, word.start()) + 1}: {word[0]}"
                edges.setdefault((str(file.parent), str(home)), example)
    return edges


def path_between(start, end, edges):
    """The shortest path from one folder to another; None if there is none."""
    paths = collections.deque([[start]])
    seen = {start}
    while paths:
        path = paths.popleft()
        if path[-1] == end:
            return path
        for source, target in sorted(edges):
            if source == path[-1] and target not in seen:
                seen.add(target)
                paths.append(path + [target])
    return None


def main():
    problems = []
    for target in sorted(pathlib.Path("Sources").iterdir()):
        edges = edges_of(target)
        allowed = {edge for edge in ALLOWED if edge[0].startswith(f"{target}/") or edge[0] == str(target)}
        checked = set(edges) - allowed
        reported = set()
        for source, end in sorted(checked):
            back = path_between(end, source, checked)
            if back and frozenset(back) not in reported:
                reported.add(frozenset(back))
                cycle = [source] + back
                problems.append("cycle: " + " -> ".join(cycle))
                problems += [f"  {edges[edge]}" for edge in zip(cycle, cycle[1:])]
        for edge in sorted(allowed):
            if edge not in edges or not path_between(edge[1], edge[0], checked):
                problems.append(f"the allowed edge {edge[0]} -> {edge[1]} closes no cycle: remove it from {sys.argv[0]}")
    folders = collections.Counter()
    for file in sorted(pathlib.Path("Sources").rglob("*.swift")):
        folders[file.parent] += 1
        lines = file.read_text().count("\n")
        if lines > MOST_LINES and str(file) not in LONG:
            problems.append(f"{file} has {lines} lines, more than {MOST_LINES}")
        if lines <= MOST_LINES and str(file) in LONG:
            problems.append(f"{file} is short enough: remove it from {sys.argv[0]}")
    problems += [f"{folder} has {count} files, more than {MOST_FILES}"
                 for folder, count in folders.items() if count > MOST_FILES]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
