#!/usr/bin/env python3
"""Writes manual pages, or docs/commands.md, from the commands.

manual.py RESUMECTL FOLDER [--date YYYY-MM-DD]
manual.py RESUMECTL --markdown FILE | --check FILE

The last two also write or compare other-programs.md in the same folder.

`resumectl --experimental-dump-help` describes the commands. The plugin of swift-argument-parser reads the same, but has
no sections for exit statuses, environment, files and examples. These are the help topics, the examples of the help
texts, and parts of Packaging/manual.txt.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def escaped(text):
    """Text for roff. A dash is what a user types; a line must not begin with a control character."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


def bold(text):
    return f"\\fB{escaped(text)}\\fR"


def italic(text):
    return f"\\fI{escaped(text)}\\fR"


def sections(path):
    """The sections of a text file: a title at the beginning of a line, then indented lines until the next one."""
    found, title = {}, None
    for line in path.read_text().split("\n"):
        if re.match(r"[A-Z]", line):
            title = line.strip()
            found[title] = []
        elif title:
            found[title].append(line[4:] if line.startswith("    ") else line)
    return {title: "\n".join(lines).strip("\n") for title, lines in found.items()}


def definitions(text):
    """Roff for paragraphs and for terms: a line, and its explanation, which is indented."""
    out = []
    for block in text.split("\n\n"):
        lines = block.split("\n")
        if len(lines) > 1 and lines[1].startswith("    "):
            out += [".TP", bold(lines[0]), escaped(" ".join(line.strip() for line in lines[1:]))]
        else:
            out += [".PP", escaped(" ".join(lines))]
    return out


def topic(text):
    """Roff for a help topic: terms with their meanings, two or more spaces apart, and paragraphs."""
    out = []
    for line in text.rstrip("\n").split("\n"):
        term = re.match(r"(\S.*?)(?:  +(.*))?$", line)
        if not line:
            out.append(".PP")
        elif line.startswith("  "):
            out.append(escaped(line.strip()))
        elif out[-1:] == [".PP"] or (out[-2:-1] == [".PP"] and not term[2]):
            out.append(escaped(line))
        else:
            out += [".TP", bold(term[1])] + ([escaped(term[2])] if term[2] else [])
    return out


def split_help(discussion):
    """The paragraphs of a help text, and its parts with a title in capitals (EXAMPLE:, EXIT STATUS:)."""
    paragraphs, parts = [], {}
    for block in re.split(r"\n\s*\n", discussion or ""):
        head = re.match(r"([A-Z][A-Z ]+):\s*(.*)", block, re.S)
        if head:
            parts[head[1]] = head[2]
        elif block.strip():
            paragraphs.append(" ".join(block.split()))
    return paragraphs, parts


def option_names(argument):
    return ["-" + ("-" if name["kind"] == "long" else "") + name["name"] for name in argument.get("names", [])]


def meaning(argument):
    """The help of an option, flag or positional argument, with its values and its default."""
    text = " ".join(filter(None, [argument.get("abstract"), argument.get("discussion")]))
    if argument["kind"] == "option" and argument.get("allValues"):
        text += f" One of {', '.join(argument['allValues'])}."
    if argument.get("defaultValue"):
        text += f" The default is {argument['defaultValue']}."
    return " ".join(text.split())


def option(argument):
    """Roff for an option, flag or positional argument."""
    value = f" {italic(argument['valueName'])}" if argument["kind"] == "option" else ""
    names = ", ".join(bold(name) for name in option_names(argument)) or italic(argument["valueName"])
    return [".TP", names + value, escaped(meaning(argument))]


def synopsis(command, name):
    words = []
    for argument in command.get("arguments", []):
        if argument["kind"] == "positional":
            word = italic(argument["valueName"]) + (" \\&..." if argument["isRepeating"] else "")
            words.append(f"[{word}]" if argument["isOptional"] else word)
    return [bold(name) + " [" + italic("options") + "] " + " ".join(words)]


def examples(parts):
    """Roff for the examples of a help text."""
    text = parts.get("EXAMPLE", parts.get("EXAMPLES"))
    if not text:
        return []
    lines = [line.strip() for line in text.strip().split("\n")]
    return [".SH EXAMPLES", ".nf"] + [escaped(line) for line in lines] + [".fi"]


class Manual:
    def __init__(self, root, topics, version, date):
        self.root, self.topics, self.version, self.date = root, topics, version, date
        self.texts = sections(ROOT / "Packaging/manual.txt")

    def head(self, name, abstract):
        abstract = abstract.rstrip(".")
        abstract = abstract[:1].lower() + abstract[1:]
        return [
            f".TH {name.upper().replace('-', chr(92) + '-')} 1 {self.date} \"resumectl {self.version}\" \"User Commands\"",
            ".nh", ".ad l", ".SH NAME", f"{escaped(name)} \\- {escaped(abstract)}", ".SH SYNOPSIS"]

    def common(self):
        out = []
        for title, text in self.topics.items():
            out += [f".SH {title}"] + topic(text)
        return out + definitions(self.texts["FILES"])

    def see_also(self, name):
        pages = ["resumectl"] + [f"resumectl-{command['commandName']}" for command in self.commands()]
        return [".SH SEE ALSO", ",\n".join(f"{bold(page)}(1)" for page in pages if page != name)]

    def commands(self):
        return [command for command in self.root["subcommands"] if command["commandName"] != "help"]

    def main_page(self):
        paragraphs, parts = split_help(self.root.get("discussion"))
        out = self.head("resumectl", "download files so that interruptions do not matter")
        out += [f"{bold('resumectl')} {italic('command')} [{italic('options')}] [{italic('arguments')}]"]
        out += [".SH DESCRIPTION"] + definitions(self.texts["DESCRIPTION"])
        for text in paragraphs:
            out += [".PP", escaped(text)]
        out += [".SH COMMANDS"]
        for command in self.commands():
            names = [command["commandName"]] + command.get("aliases", [])
            out += [".TP", ", ".join(bold(name) for name in names), escaped(command.get("abstract", ""))]
        out += examples(parts) + self.common()
        return out + self.see_also("resumectl")

    def page(self, command):
        name = f"resumectl-{command['commandName']}"
        paragraphs, parts = split_help(command.get("discussion"))
        out = self.head(name, command.get("abstract", "")) + synopsis(command, f"resumectl {command['commandName']}")
        out += [".SH DESCRIPTION", escaped(command.get("abstract", ""))]
        for text in paragraphs:
            out += [".PP", escaped(text)]
        groups = {}
        for argument in command.get("arguments", []):
            # What no help explains is there for the habits of other programs' users.
            if not argument.get("abstract") or option_names(argument) == ["--version"]:
                continue
            title = argument.get("sectionTitle") or ("arguments" if argument["kind"] == "positional" else "")
            groups.setdefault(title if argument["shouldDisplay"] else "less common", []).append(argument)
        out += [".SH OPTIONS"]
        for title in sorted(groups, key=lambda title: (title != "arguments", title == "less common")):
            out += [f".SS {escaped((title or 'other').capitalize())}"] if len(groups) > 1 else []
            for argument in groups[title]:
                out += option(argument)
        out += examples(parts)
        for title, text in self.texts.items():
            if title.startswith(name.upper() + " "):
                out += [f".SH {title[len(name) + 1:]}"] + definitions(text)
        return out + self.common() + self.see_also(name)


def cell(text):
    """Text in a table of Markdown."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "\\<")


def reference(root):
    """The options of all commands in Markdown, for docs/commands.md."""
    lines = [
        "# Commands and options", "",
        "This page is made from the help of the program by `Scripts/manual.py --markdown`, and `make lint` compares the two.",
        "[resumectl](resumectl.md) explains what the commands do."]
    for command in root["subcommands"]:
        name = command["commandName"]
        if name == "help":
            continue
        names = [name] + command.get("aliases", [])
        paragraphs, parts = split_help(command.get("discussion"))
        lines += ["", f"## {', '.join(names)}", "", command.get("abstract", "")]
        for text in paragraphs:
            lines += ["", " ".join(text.split())]
        example = parts.get("EXAMPLE", parts.get("EXAMPLES", "")).strip().split("\n")
        lines += ["", "```sh", *[line.strip() for line in example if line.strip()], "```"] if example[0] else []
        rows = []
        for argument in command.get("arguments", []):
            if not argument.get("abstract") or option_names(argument) == ["--version"]:
                continue
            value = f" {argument['valueName']}" if argument["kind"] == "option" else ""
            words = ", ".join(option_names(argument)) or argument["valueName"]
            rows.append("| `" + f"{words}{value}".replace("|", "\\|") + f"` | {cell(meaning(argument))} |")
        lines += ["", "| Argument | Meaning |", "| --- | --- |", *rows] if rows else []
    return "\n".join(lines) + "\n"


def other_programs():
    """The options of other programs in Markdown, for docs/other-programs.md."""
    lines = [
        "# Options of other programs", "",
        "This page is made by `Scripts/manual.py --markdown` from the table from which `resumectl` takes its hints",
        "(`foreign-options.tsv`), and `make lint` compares the two. It lists the options of curl 7.88 and later, wget 1.21,",
        "wget2 1.99 and aria2c 1.36, and some of axel, gh (`release download`) and hf (`download`). *The same* means that",
        "`resumectl get` has the option, with the same meaning. *Accepted* means that it is read as the option behind it.",
        "Other options are refused, with the text of the last column. An option that is the same as in one program can mean",
        "something else in another one; it is refused where what follows shows that, such as a URL after wget's `-b`.",
        "", "| Purpose | Option | `resumectl get` |", "| --- | --- | --- |"]
    table = ROOT / "Sources/ResumeCommands/Usage/Texts/foreign-options.tsv"
    for line in table.read_text().splitlines():
        purpose, theirs, here = line.split("\t")
        programs = [part.split() for part in theirs.split(", ")]
        options = "; ".join(f"{', '.join(f'`{name}`' for name in names)} ({program})" for program, *names in programs)
        if here.startswith("="):
            here = "accepted: it is what `get` does" if here == "=--location" else f"accepted: `{here[1:]}`"
        lines.append(f"| {purpose} | {options} | {'the same' if here == 'same' else here} |")
    return "\n".join(lines) + "\n"


def compare(path, text, update):
    """Writes a page, or exits if it is not what the program says."""
    if update:
        path.write_text(text)
    elif not path.exists() or path.read_text() != text:
        sys.exit(f"{path} differs. Build, run Scripts/manual.py PROGRAM --markdown docs/commands.md")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("resumectl")
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("--markdown", type=pathlib.Path, help="write the page of all options")
    parser.add_argument("--check", type=pathlib.Path, help="compare it")
    parser.add_argument("--date", default="")
    options = parser.parse_args()

    def output(*arguments):
        return subprocess.run([options.resumectl, *arguments], capture_output=True, text=True, check=True).stdout

    root = json.loads(output("--experimental-dump-help"))["command"]
    page = options.markdown or options.check
    if page:
        compare(page.with_name("other-programs.md"), other_programs(), update=bool(options.markdown))
        return compare(page, reference(root), update=bool(options.markdown))
    topics = {title: output("help", title.lower().replace(" ", "-")) for title in ("EXIT STATUS", "ENVIRONMENT", "FILES")}
    manual = Manual(root, topics, output("--version").strip(), options.date)
    pages = {"resumectl": manual.main_page()}
    for command in manual.commands():
        pages[f"resumectl-{command['commandName']}"] = manual.page(command)
        for alias in command.get("aliases", []):
            pages[f"resumectl-{alias}"] = [f".so man1/resumectl-{command['commandName']}.1"]
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, lines in pages.items():
        (options.folder / f"{name}.1").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
