#!/usr/bin/env python3
"""Measures time and peak memory of each command with stores of several sizes, as made by make-store.py.

measure-store.py STORE… [--resumectl PATH]

Each command runs twice, and the second run is reported, so that the files are in the page cache. `first line` is the
time until the first line of `list` arrives, after which the reader goes away.
"""
import argparse
import os
import pathlib
import sqlite3
import subprocess
import sys
import time


def measure(command, first_line=False):
    """Runs a command: its seconds and its peak memory in MiB."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE if first_line else subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    if first_line:
        process.stdout.readline()
        seconds = time.monotonic() - start
        process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    if not first_line:
        seconds = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    return seconds, usage.ru_maxrss / 1024, process.returncode


def names(store):
    """The URLs of entries from the middle of a store, and the destination of one."""
    connection = sqlite3.connect(f"file:{store}/store.sqlite?mode=ro", uri=True)
    middle = connection.execute("SELECT max(id) / 2 FROM download").fetchone()[0]
    found = connection.execute(
        "SELECT url, destination FROM download WHERE id >= ? ORDER BY id LIMIT 8", (middle,)).fetchall()
    connection.close()
    return [url for url, _ in found], found[0][1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stores", nargs="+", type=pathlib.Path)
    parser.add_argument("--resumectl", default=".build/release/resumectl")
    parser.add_argument("--only", help="only the commands with this text in their name")
    options = parser.parse_args()
    for store in options.stores:
        urls, destination = names(store)
        # gc would remove what exceeds the default limit.
        no_limit = ["--max-size", "1000000GiB", "--max-age", "36500d"]
        commands = [
            ("list", ["list"], False), ("list, first line", ["list"], True),
            ("list --json, first line", ["list", "--json"], True),
            ("list --sort url, first line", ["list", "--sort", "url"], True),
            ("list --sort received, first line", ["list", "--sort", "received"], True),
            ("list --sort size, first line", ["list", "--sort", "size"], True),
            ("list --sort size", ["list", "--sort", "size"], False),
            ("list --state complete", ["list", "--state", "complete"], False),
            ("show URL", ["show", urls[0]], False), ("show destination", ["show", destination], False),
            ("show part", ["show", urls[0].rsplit("/", 1)[1]], False),
            ("purge URL", ["purge", None], False), ("gc, nothing to do", ["gc", *no_limit], False),
            ("get URL, refused", ["get", "--retries", "0", "-o", "/tmp/none.iso", "http://127.0.0.1:1/none"], False),
            ("stats", ["stats"], False), ("log", ["log"], False), ("jobs", ["jobs"], False),
            ("doctor", ["doctor"], False), ("verify", ["verify"], False),
            ("purge --match none", ["purge", "--match", "none"], False),
        ]
        for name, arguments, first_line in commands:
            if options.only and options.only not in name:
                continue
            for run in range(2):
                command = [urls.pop() if argument is None else argument for argument in arguments]
                command = [options.resumectl, command[0], "--store", str(store), *command[1:]]
                seconds, memory, status = measure(command, first_line)
            print(f"{store.name:>10}  {name:<32} {seconds:8.3f} s {memory:7.1f} MiB  exit {status}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
