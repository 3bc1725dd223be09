#!/usr/bin/env bash
# Kills `resumectl get -i list` at twenty random moments, and continues it with `resume` from another folder: 500 files
# of mixed sizes, 2 GiB in all, from an nginx that limits the rate. Prints the bytes that were sent as a multiple of the
# size, and how many files were requested again after a run had reported them as finished.
# Usage: killed-list.sh [RESUMECTL] [FILES] [MIB] [KILLS] [SEED]
set -euo pipefail
program=$(realpath "${1:-.build/release/resumectl}")
files=${2:-500} mebibytes=${3:-2048} kills=${4:-20} seed=${5:-21}
. "$(dirname "$0")/nginx.sh"
mkdir out elsewhere
python3 - "$files" "$mebibytes" "$seed" <<'PY'
import os, random, sys
files, size, seed = int(sys.argv[1]), int(sys.argv[2]) << 20, int(sys.argv[3])
random.seed(seed)
# A third each: 16 KiB, up to 2 MiB, and the rest in files of the same size.
lengths = [16384 if n % 3 == 0 else random.randrange(20_000, 2 << 20) for n in range(files)]
large = [n for n in range(files) if n % 3 == 2]
rest = size - sum(length for n, length in enumerate(lengths) if n not in set(large))
for n in large: lengths[n] = rest // len(large)
for n, length in enumerate(lengths):
    with open(f"www/{n}", "wb") as file:
        left = length
        while left > 0:
            left -= file.write(random.randbytes(min(left, 1 << 20)))
PY
port=$(free_port)
start_nginx "listen 127.0.0.1:$port; location / { root www; limit_rate 12m; }"
for number in $(seq 0 $((files - 1))); do echo "http://127.0.0.1:$port/$number"; done >list
python3 - "$program" "$kills" "$seed" <<'PY'
import json, os, random, re, signal, subprocess, sys, time
program, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random.seed(seed)
finished, again, runs, killed = set(), 0, 0, 0
seen = 0
while True:
    last = runs >= kills
    arguments = ["get", "-i", "list", "-P", "out", "--json"] if runs == 0 else ["resume", "--json"]
    with open(f"events{runs}", "w") as events:
        process = subprocess.Popen(
            [program] + arguments, stdout=events, stderr=subprocess.DEVNULL, cwd="." if runs == 0 else "elsewhere")
        if last:
            status = process.wait()
        else:
            try:
                status = process.wait(timeout=random.uniform(0.3, 2.4))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                status, killed = None, killed + 1
    time.sleep(0.3)  # until nginx has logged what was cut
    lines = open("access.log").read().splitlines()
    again += sum(1 for line in lines[seen:] if re.search(r'"GET (\S+)', line).group(1) in finished)
    seen = len(lines)
    for line in open(f"events{runs}"):
        if line.endswith("\n") and (event := json.loads(line))["event"] == "finished":
            finished.add("/" + event["url"].rsplit("/", 1)[1])
    runs += 1
    if last or status is not None: break
size = sum(os.path.getsize(f"www/{name}") for name in os.listdir("www"))
sent = sum(int(line.split()[9]) for line in lines)
wrong = sum(subprocess.call(["cmp", "-s", f"www/{name}", f"out/{name}"]) != 0 for name in os.listdir("www"))
print(f"killed {killed} times (seed {seed}), last status {status}, {len(os.listdir('www'))} files, {wrong} wrong or missing")
print(f"{len(lines)} requests, sent {sent / size:.4f} times {size >> 20} MiB, {again} requests for finished files")
sys.exit(0 if status == 0 and wrong == 0 and again == 0 else 1)
PY
