#!/usr/bin/env python3
"""Prints a template with each `@NAME@` replaced by its value. Values are data: nothing in them has a meaning.

Usage: fill.py TEMPLATE NAME=VALUE…
"""
import pathlib
import re
import sys


def main():
    values = dict(argument.split("=", 1) for argument in sys.argv[2:])
    for name, value in values.items():
        # A line of the value would become a field of the package's control file.
        if re.search(r"[\x00-\x1f\x7f]", value):
            sys.exit(f"fill.py: the value of {name} contains a control character: {value!r}")
    template = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    if unknown := sorted(set(re.findall(r"@([A-Z]+)@", template)) ^ values.keys()):
        sys.exit(f"fill.py: {sys.argv[1]} and the arguments do not name the same values: {', '.join(unknown)}")
    sys.stdout.reconfigure(encoding="utf-8")
    print(re.sub(r"@([A-Z]+)@", lambda match: values[match[1]], template), end="")


if __name__ == "__main__":
    main()
