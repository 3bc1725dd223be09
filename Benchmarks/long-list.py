#!/usr/bin/env python3
"""Runs `resumectl get -i -` on a long list of URLs of small files, and kills it with SIGKILL when a number of them are
delivered, then runs `resume` until as many more are.

Prints the time to the first request, the peak memory of both runs, how many jobs the store has, and how many files were
requested twice. Needs nginx.
Usage: long-list.py RESUMECTL [URLS] [FETCHED]
"""
import os, re, shutil, signal, socket, sqlite3, subprocess, sys, tempfile, time

program = os.path.realpath(sys.argv[1])
urls = int(sys.argv[2]) if len(sys.argv) > 2 else 2_000_000
fetched = int(sys.argv[3]) if len(sys.argv) > 3 else 20_000
work = tempfile.mkdtemp()
os.chmod(work, 0o755)
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
paths = "".join(f"{name}_temp_path {work}/temp; " for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
with open(f"{work}/nginx.conf", "w") as file:
    file.write(
        f"worker_processes 1; daemon off; pid {work}/pid; error_log {work}/errors; events {{}} http {{ {paths}"
        f"log_format line '$msec $request_uri'; access_log {work}/access.log line; keepalive_requests 10000000; "
        f"server {{ listen 127.0.0.1:{port}; location / {{ return 200 '$uri'; }} }} }}"
    )
os.mkdir(f"{work}/files")


def requests():
    with open(f"{work}/access.log") as file:
        return [line.split() for line in file if line.endswith("\n")]


def run(arguments, goal, lines=None):
    """Runs the program until a number of files are there, and kills it. Returns when it started, and its peak memory."""
    start = time.time()
    process = subprocess.Popen(
        [program, *arguments, "-q", "-j", "16", "--store", f"{work}/store"],
        stdin=open(lines) if lines else subprocess.DEVNULL, cwd=f"{work}/files", stderr=open(f"{work}/messages", "a"))
    while process.poll() is None and len(os.listdir(f"{work}/files")) < goal:
        time.sleep(0.2)
    with open(f"/proc/{process.pid}/status") as file:
        peak = int(re.search(r"VmHWM:\s+(\d+)", file.read())[1]) / 1024
    process.send_signal(signal.SIGKILL)
    process.wait()
    return start, peak, time.time() - start


with open(f"{work}/list", "w") as file:
    file.writelines(f"http://127.0.0.1:{port}/{number}.txt\n" for number in range(urls))
server = subprocess.Popen(["nginx", "-c", f"{work}/nginx.conf"], stderr=subprocess.DEVNULL)
try:
    time.sleep(0.5)
    start, peak, seconds = run(["get", "-i", "-"], fetched, f"{work}/list")
    first = float(requests()[0][0]) - start
    database = f"file:{work}/store/store.sqlite"
    jobs = lambda: sqlite3.connect(database, uri=True).execute("SELECT count(*), count(ended) FROM queued").fetchone()
    recorded, done = jobs()
    print(f"get: first request after {first:.2f} s, peak {peak:.0f} MiB, {recorded} jobs recorded and {done} done in {seconds:.1f} s")
    before = {path for _, path in requests()}
    files = len(os.listdir(f"{work}/files"))
    start, peak, seconds = run(["resume"], files + fetched)
    recorded, done = jobs()
    files = len(os.listdir(f"{work}/files"))
    paths = [path for _, path in requests()]
    print(f"resume: peak {peak:.0f} MiB, {recorded} jobs recorded and {done} done in {seconds:.1f} s")
    print(f"{files} files, {len(paths)} requests, {len(paths) - len(set(paths))} of them for a file that had been requested")
    print(open(f"{work}/messages").read()[-500:], end="")
finally:
    server.terminate()
    server.wait()
    shutil.rmtree(work)
