#!/usr/bin/env python3
"""Makes a store with many entries.

make-store.py FOLDER ENTRIES [--resumectl PATH] [--blobs]

The store is created by resumectl, so that it has the current schema, and then filled through SQLite. Without --blobs,
no files are made: every entry then lacks its blob, which `gc` and `verify` report. With --blobs, each entry has a sparse
file of its length, in folders as a process makes them.
"""
import argparse
import os
import pathlib
import random
import sqlite3
import subprocess
import time

PARTS_OF_PATH = 256


def path(number):
    folder = number // PARTS_OF_PATH * 2654435761 % 256
    return f"blobs/{folder:02x}/{number:032x}"


def rows(entries, now):
    chance = random.Random(1)
    for number in range(1, entries + 1):
        total = chance.randrange(1 << 20, 1 << 30)
        received = chance.randrange(1, 1 << 16)
        url = f"https://host{number % 97}.example.org/files/{number * 2654435761 % (1 << 32):08x}/image-{number}.iso"
        # In no order of the IDs, as entries are used again.
        used = now - number * 7919 % entries * 1000 // max(entries // 86_400, 1)
        yield number, url, total, received, used


def fill(database, entries):
    now = int(time.time() * 1000)
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    connection = sqlite3.connect(database, isolation_level=None)
    connection.executescript("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; PRAGMA wal_autocheckpoint = 100000")
    connection.execute("BEGIN")
    connection.executemany(
        """
        INSERT INTO download (id, key, url, etag, complete_length, generation, destination, created_at, used_at, boot_id,
            received)
        VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?)
        """,
        (
            (number, url, url, f'"{number:x}"', total, f"/srv/files/image-{number}.iso", now - (entries - number), used,
             boot, received)
            for number, url, total, received, used in rows(entries, now)
        ))
    connection.executemany(
        "INSERT INTO chunk (download, first_byte, path, received, durable, generation) VALUES (?, 0, ?, ?, ?, 1)",
        ((number, path(number), received, received) for number, _, _, received, _ in rows(entries, now)))
    connection.execute("UPDATE store SET entries = ?, received = (SELECT sum(received) FROM download)", (entries,))
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return now


def make_blobs(store, entries, now):
    folder = None
    for number, _, _, received, _ in rows(entries, now):
        file = store / path(number)
        if file.parent != folder:
            folder = file.parent
            folder.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(file, os.O_CREAT | os.O_WRONLY, 0o600)
        os.truncate(descriptor, received)
        os.close(descriptor)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("entries", type=int)
    parser.add_argument("--resumectl", default=".build/release/resumectl")
    parser.add_argument("--blobs", action="store_true")
    options = parser.parse_args()
    start = time.monotonic()
    # A download that cannot connect leaves an empty store.
    subprocess.run(
        [options.resumectl, "get", "--store", options.folder, "--retries", "0", "-o",
         f"{options.folder}.none", "http://127.0.0.1:1/none"], capture_output=True, check=False)
    database = options.folder / "store.sqlite"
    if not database.exists():
        raise SystemExit(f"{options.resumectl} made no store at {options.folder}")
    now = fill(database, options.entries)
    if options.blobs:
        make_blobs(options.folder, options.entries, now)
    print(f"{options.entries} entries in {time.monotonic() - start:.0f} s, {database.stat().st_size >> 20} MiB")


if __name__ == "__main__":
    main()
