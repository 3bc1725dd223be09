#!/usr/bin/env python3
"""Writes the public API to docs/api.txt, one line per declaration, or compares it with that file.

Reads the modules of the debug build, which takes a second.
Usage: api.py [--adapter] [--check | --counts [--list] | --symbols FOLDER]

With --adapter, it reads ResumeAsyncHTTP instead, which `make asynchttp` builds and whose trait is off by default, and
writes Tests/AsyncHTTPAdapter/api.txt. --symbols writes the symbols for DocC into a folder.

Counted are the public declarations that the default traits build, without ResumeTesting. Not counted are the cases of an
enumeration, which belong to it, and members that a protocol requires, such as `description` and `==`; docs/api.txt lists
both. Members that the compiler adds to a conformance appear nowhere. With --check, more declarations or types than
allowed are an error.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ADAPTER = "--adapter" in sys.argv
OUTPUT = ROOT / ("Tests/AsyncHTTPAdapter/api.txt" if ADAPTER else "docs/api.txt")
SCRATCH = ROOT / (".build/asynchttp" if ADAPTER else ".build")
BUILD = SCRATCH / "debug"
# ResumeCommands, ResumeFiles and ResumeSQLite belong to no product of a library, and should declare nothing public.
MODULES = ["ResumeAsyncHTTP"] if ADAPTER else [
    "Resume", "ResumeCommands", "ResumeCurl", "ResumeDownload", "ResumeFiles", "ResumeHTTP", "ResumeMaintenance",
    "ResumeSQLite", "ResumeStore", "ResumeTesting", "ResumeURLSession"]
UNCOUNTED = {"ResumeTesting", "ResumeAsyncHTTP"}
# What an embedder does not need is `package`.
MOST_DECLARATIONS = 350
# FetchResponse and FetchResult came with issue 12.
MOST_TYPES = 62
TYPES = {"swift.struct", "swift.class", "swift.enum", "swift.protocol", "swift.actor"}


def search_paths():
    flags = ["-I", str(BUILD / "Modules")]
    for path in sorted(ROOT.glob("Sources/*/module.modulemap")):
        flags += ["-I", str(path.parent)]
    for path in sorted(SCRATCH.glob("checkouts/*/Sources/*/include/module.modulemap")):
        flags += ["-I", str(path.parent)]
    for path in sorted(BUILD.glob("*.build/module.modulemap")):
        flags += ["-Xcc", f"-fmodule-map-file={path.resolve()}"]
    return flags


def extract(module, flags, folder, extensions):
    command = ["swift", "symbolgraph-extract", "-module-name", module, "-minimum-access-level", "public",
               "-skip-synthesized-members", f"-{extensions}-extension-block-symbols", "-output-dir", folder, *flags]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"api.py: could not read the module {module}; build the package first\n{result.stderr}")


def graph(module, flags):
    with tempfile.TemporaryDirectory() as folder:
        extract(module, flags, folder, "omit")
        graphs = [json.loads(path.read_text()) for path in Path(folder).glob("*.symbols.json")]
    symbols = [symbol for graph in graphs for symbol in graph["symbols"]]
    relations = [relation for graph in graphs for relation in graph["relationships"]]
    required = {relation["source"] for relation in relations
                if "sourceOrigin" in relation}
    # What the compiler adds has no place in the sources.
    return [(symbol, symbol["identifier"]["precise"] in required) for symbol in symbols
            if "location" in symbol and "::SYNTHESIZED::" not in symbol["identifier"]["precise"]]


def line(module, symbol):
    text = "".join(fragment["spelling"] for fragment in symbol["declarationFragments"])
    return f"{module} {'.'.join(symbol['pathComponents'])}: " + re.sub(r"\s+", " ", text)


def main():
    target = json.loads(subprocess.run(
        ["swift", "-print-target-info"], capture_output=True, text=True, check=True).stdout)["target"]["triple"]
    flags = ["-target", target, *search_paths()]
    if sys.platform == "darwin":
        flags += ["-sdk", subprocess.run(["xcrun", "--show-sdk-path"], capture_output=True, text=True).stdout.strip()]
    built = [module for module in MODULES if (BUILD / f"Modules/{module}.swiftmodule").exists()]
    if not built and "--check" in sys.argv:
        return print(f"The package is not built, so the public API is not compared with {OUTPUT.relative_to(ROOT)}.")
    # Without some of the modules, their declarations would be removed from the list.
    if missing := [module for module in MODULES if module not in built]:
        sys.exit(f"api.py: {BUILD} does not contain {', '.join(missing)}. Build the package first: make {'asynchttp' if ADAPTER else 'build'}")
    if "--symbols" in sys.argv:
        folder = sys.argv[sys.argv.index("--symbols") + 1]
        return [extract(module, flags, folder, "emit") for module in built]
    lines, bare, counted = [], [], []
    declarations, types, names = Counter(), Counter(), Counter()
    for module in built:
        for symbol, is_required in graph(module, flags):
            lines.append(line(module, symbol))
            kind = symbol["kind"]["identifier"]
            if not symbol.get("docComment"):
                bare.append(lines[-1])
            if kind in TYPES:
                names[".".join(symbol["pathComponents"])] += 1
            if module not in UNCOUNTED:
                types[module] += kind in TYPES
                if not is_required and kind != "swift.enum.case":
                    declarations[module] += 1
                    counted.append(lines[-1])
    lines.sort()
    if "--counts" in sys.argv:
        for module in built:
            print(f"{declarations[module]:5} declarations, {types[module]:3} types  {module}")
        listed = sum(entry.split()[0] not in UNCOUNTED for entry in lines)
        print(f"{sum(declarations.values()):5} declarations, {sum(types.values()):3} types; {listed} lines")
        if "--list" in sys.argv:
            print(*counted, sep="\n")
        for entry in bare:
            print(f"no documentation: {entry}")
        for name in (name for name, count in names.items() if count > 1):
            print(f"several types have the name {name}")
    elif "--check" not in sys.argv:
        OUTPUT.write_text("\n".join(lines) + "\n")
    elif lines != (known := OUTPUT.read_text().splitlines()):
        for entry in sorted(set(known) - set(lines)):
            print(f"- {entry}")
        for entry in sorted(set(lines) - set(known)):
            print(f"+ {entry}")
        sys.exit(f"The public API differs from {OUTPUT.relative_to(ROOT)}. Build, run Scripts/api.py with the same options,"
                 " and review the difference.")
    if "--check" in sys.argv and (sum(declarations.values()) > MOST_DECLARATIONS or sum(types.values()) > MOST_TYPES):
        sys.exit(f"The public API has {sum(declarations.values())} declarations and {sum(types.values())} types; at most"
                 f" {MOST_DECLARATIONS} and {MOST_TYPES} are allowed. Make `package` what an embedder does not need.")


main()
