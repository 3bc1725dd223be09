#!/usr/bin/env python3
"""Compares resumectl with other programs against nginx on loopback, as ratios to curl measured in the same run.

Prints a table in Markdown: medians, with the spread in brackets. Each program runs once in each round, in random order,
and the result is compared with the file on the server. Usage: bench.py RESUMECTL [--runs N] [--scale S] [--only NAME]...
[--svg FILE]
"""
import argparse, filecmp, math, os, random, shutil, signal, socket, statistics, subprocess, sys, tempfile, time

PARALLEL = 16


class Server:
    """nginx, with all files that are downloaded."""

    def __init__(self, folder):
        self.folder, self.port, self.tls = folder, free_port(), free_port()
        for name in ("www", "tmp"):
            os.mkdir(f"{folder}/{name}")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
             "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=localhost", "-addext",
             "subjectAltName=DNS:localhost,IP:127.0.0.1"],
            cwd=folder, check=True, stderr=subprocess.DEVNULL)
        temporary = " ".join(f"{kind}_temp_path tmp/{kind};" for kind in
                             ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with open(f"{folder}/nginx.conf", "w") as file:
            file.write(f"""daemon off; master_process off; pid nginx.pid; error_log error.log;
events {{ worker_connections 512; }}
http {{ access_log access.log; sendfile on; {temporary} keepalive_requests 1000000;
server {{ listen 127.0.0.1:{self.port}; listen 127.0.0.1:{self.tls} ssl http2;
    ssl_certificate cert.pem; ssl_certificate_key key.pem; root {folder}/www;
    location /paced/ {{ alias {folder}/www/; limit_rate 40m; }}
    location /stopping/ {{ alias {folder}/www/; limit_rate_after 1000m; limit_rate 1k; }} }} }}
""")
        self.process = subprocess.Popen(["nginx", "-p", folder, "-c", f"{folder}/nginx.conf"], stderr=subprocess.DEVNULL)
        deadline = time.time() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.tls)).close()
                return
            except OSError:
                if time.time() > deadline:
                    sys.exit("nginx did not start; see its error.log")
                time.sleep(0.05)

    def make(self, name, count, size):
        """Makes files of random bytes, once."""
        folder = f"{self.folder}/www/{name}"
        if not os.path.isdir(folder):
            os.mkdir(folder)
            for number in range(count):
                with open(f"{folder}/{number:05}", "wb") as file:
                    for _ in range(0, size, 1 << 20):
                        file.write(os.urandom(min(size, 1 << 20)))
        return folder

    def sent(self):
        """How many bytes of bodies were sent since the last call."""
        time.sleep(0.3)
        with open(f"{self.folder}/access.log", "r+") as file:
            total = sum(int(line.split()[9]) for line in file)
            file.truncate(0)
        return total

    def stop(self):
        self.process.terminate()
        self.process.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Programs:
    """The command lines, for one file (into `out`) and for a list of URLs (into the working folder)."""

    def __init__(self, resumectl, certificate):
        self.resumectl, self.certificate = resumectl, certificate

    def one(self, program, url, version=None):
        ca = self.certificate
        return {
            "curl": ["curl", "-sS", *(["--http2"] if version else []), "--cacert", ca, "-C", "-", "-o", "out", url],
            "wget": ["wget", "-q", "-c", "--ca-certificate", ca, "-O", "out", url],
            "wget2": ["wget2", "-q", "-c", *(["--http2=on"] if version else ["--http2=off"]), "--ca-certificate", ca,
                      "-O", "out", url],
            "aria2c": ["aria2c", "-q", "-c", "--ca-certificate", ca, "--file-allocation=none", "-o", "out", url],
            "resumectl": [self.resumectl, "get", "-q", *(["--http2"] if version else []), "--cacert", ca, "-o", "out",
                          url],
        }[program]

    def many(self, program, lists):
        return {
            "curl": ["curl", "-sS", "--parallel", "--parallel-max", str(PARALLEL), "--config", f"{lists}.curl"],
            "wget2": ["wget2", "-q", f"--max-threads={PARALLEL}", "-i", lists],
            "aria2c": ["aria2c", "-q", f"-j{PARALLEL}", "--file-allocation=none", "-i", lists],
            "resumectl": [self.resumectl, "get", "-q", "-j", str(PARALLEL), "-i", lists, "-P", "."],
        }[program]


class Run:
    """What one process used."""

    def __init__(self, command, folder, store):
        # Not measured from this process, whose memory would be attributed to the program.
        measured = ["/usr/bin/time", "-q", "-f", "%U %S %M %w", "-o", f"{folder}.time", *command]
        begin = time.monotonic()
        self.status = subprocess.run(measured, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                     env=dict(os.environ, RESUMECTL_STORE=store)).returncode
        self.wall = time.monotonic() - begin
        with open(f"{folder}.time") as file:
            user, system, memory, switches = file.read().split()[-4:]
        self.cpu, self.memory, self.switches = float(user) + float(system), int(memory) / 1024, int(switches)


class Workload:
    def __init__(self, name, programs, count, size, place, scheme="http", version=None):
        self.name, self.programs, self.count, self.size = name, programs, count, size
        self.place, self.scheme, self.version = place, scheme, version

    def run(self, server, commands, runs):
        source = server.make(f"{self.count}x{self.size}", self.count, self.size)
        port = server.port if self.scheme == "http" else server.tls
        base = f"{self.scheme}://127.0.0.1:{port}/{os.path.basename(source)}"
        lists = f"{server.folder}/list"
        names = sorted(os.listdir(source))
        with open(lists, "w") as plain, open(f"{lists}.curl", "w") as curl:
            for name in names:
                plain.write(f"{base}/{name}\n")
                curl.write(f"url = {base}/{name}\noutput = {name}\n")
        results, folders = {program: [] for program in self.programs}, []
        for _ in range(runs):
            for program in random.sample(self.programs, len(self.programs)):
                folder = tempfile.mkdtemp(dir=self.place)
                os.sync()
                if self.count == 1:
                    command = commands.one(program, f"{base}/{names[0]}", self.version)
                else:
                    command = commands.many(program, lists)
                os.mkdir(f"{folder}/files")
                run = Run(command, f"{folder}/files", f"{folder}/store")
                files = [("out", names[0])] if self.count == 1 else zip(names, names)
                if run.status != 0 or not all(
                        filecmp.cmp(f"{folder}/files/{mine}", f"{source}/{name}", shallow=False) for mine, name in files):
                    sys.exit(f"{self.name}: {program} ended with {run.status}, or with wrong bytes")
                results[program].append(run)
                folders.append(folder)
                # Large sets are removed at the end: ext4 scans recently deleted inodes, which would slow down the next
                # program.
                if self.count == 1 or self.place.startswith("/dev/shm"):
                    shutil.rmtree(folders.pop())
        for folder in folders:
            shutil.rmtree(folder)
        if folders:
            time.sleep(10)
        return results


def waste(server, commands, program, folder, size):
    """The bytes sent while the program is killed every 0.1 to 0.35 s, as a multiple of the size."""
    source = server.make(f"1x{size}", 1, size)
    url = f"http://127.0.0.1:{server.port}/paced/{os.path.basename(source)}/00000"
    os.mkdir(f"{folder}/files")
    # A paced connection whose client was killed is logged up to a second later.
    time.sleep(2)
    server.sent()
    for _ in range(100):
        process = subprocess.Popen(commands.one(program, url), cwd=f"{folder}/files", stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=dict(os.environ, RESUMECTL_STORE=f"{folder}/store"))
        try:
            if process.wait(timeout=random.uniform(0.1, 0.35)) == 0:
                if not filecmp.cmp(f"{folder}/files/out", f"{source}/00000", shallow=False):
                    sys.exit(f"{program}: wrong bytes")
                return server.sent() / size
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
    return math.inf


def beside(server, resumectl, folder, held):
    """How fast a transfer is that is limited to half its full speed while other commands run on its store.

    The store holds about `held` bytes of other downloads. Returns the speeds as multiples of the limit.
    """
    size = 1 << 30
    source = server.make(f"1x{size}", 1, size)
    base = f"http://127.0.0.1:{server.port}"
    environment = dict(os.environ, RESUMECTL_STORE=f"{folder}/store")
    run = lambda *arguments: subprocess.run([resumectl, *arguments], env=environment, check=True, capture_output=True)

    def get(*options):
        begin = time.monotonic()
        run("get", "-q", "-o", f"{folder}/out", f"{base}/{os.path.basename(source)}/00000", *options)
        os.remove(f"{folder}/out")
        return time.monotonic() - begin

    for number in range(held >> 30):
        # The origin stops shortly before the end, and the partial data stays in the store.
        subprocess.run([resumectl, "get", "-q", "-o", f"{folder}/part", "--retries", "0", "--stall-timeout", "1s",
                        f"{base}/stopping/{os.path.basename(source)}/00000?{number}"], env=environment,
                       stderr=subprocess.DEVNULL)
    on_disk = int(subprocess.run(["du", "-s", "-B1", f"{folder}/store"], check=True, capture_output=True).stdout.split()[0])
    if on_disk < held * 0.9:
        sys.exit(f"the store holds only {on_disk} bytes of {held}")
    limit = int(size / statistics.median(get() for _ in range(3)) / 2)
    for name, command in [("alone", None), ("verify", ["verify"]), ("gc", ["gc", "--dry-run"]), ("list", ["list"])]:
        speeds = []
        for _ in range(3):
            # Again and again, as some end sooner than the transfer.
            again = ["bash", "-c", 'while :; do "$@" > /dev/null; done', "again", resumectl, *(command or [])]
            other = command and subprocess.Popen(again, env=environment, start_new_session=True)
            try:
                speeds.append(size / get("--limit-rate", str(limit)) / limit)
            finally:
                if other:
                    os.killpg(other.pid, signal.SIGTERM)
                    other.wait()
        yield name, statistics.median(speeds)


def calls(commands, program, lists, folder, count):
    """System calls for each file, without those that wait for another thread or for an event."""
    os.mkdir(f"{folder}/files")
    subprocess.run(["strace", "-f", "-c", "-o", f"{folder}/calls", *commands.many(program, lists)],
                   cwd=f"{folder}/files", env=dict(os.environ, RESUMECTL_STORE=f"{folder}/store"), check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    total = 0
    with open(f"{folder}/calls") as file:
        for line in file:
            words = line.split()
            if len(words) >= 5 and words[3].isdigit() and not words[-1].startswith(("futex", "epoll", "poll", "total")):
                total += int(words[3])
    return total / count


def ratio(runs, reference, key):
    """The median as a ratio to the reference's, and the spread."""
    base = statistics.median(key(run) for run in reference)
    values = sorted(key(run) / base for run in runs)
    return statistics.median(values), values[0], values[-1]


COLOURS = {"curl": "#8c8c8c", "wget": "#c98a2b", "wget2": "#b5651d", "aria2c": "#7a6fd0", "resumectl": "#2f9e6e"}


def draw(path, rows):
    """Bars of wall times, in colours that can be read on light and dark pages."""
    height = 24 + sum(26 + 16 * len(bars) for _, bars in rows)
    longest = max(value for _, bars in rows for _, value in bars)
    scale = 420 / longest
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{height}" font-family="sans-serif" '
             'font-size="12" fill="#808080">', '<title>Wall time as a ratio to curl; shorter is better</title>',
             '<text x="8" y="16">Wall time as a ratio to curl, medians; shorter is better</text>']
    y = 24
    for name, bars in rows:
        y += 22
        lines.append(f'<text x="8" y="{y}" font-weight="bold">{name}</text>')
        y += 4
        for program, value in bars:
            lines.append(f'<text x="120" y="{y + 12}" text-anchor="end">{program}</text>')
            lines.append(f'<rect x="128" y="{y + 2}" width="{max(value * scale, 1):.1f}" height="12" '
                         f'fill="{COLOURS[program]}"/>')
            lines.append(f'<text x="{134 + value * scale:.1f}" y="{y + 12}">{value:.2f}</text>')
            y += 16
    with open(path, "w") as file:
        file.write("\n".join(lines + ["</svg>", ""]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("resumectl")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1, help="a factor for sizes and numbers of files")
    parser.add_argument("--only", action="append", help="run only the workloads whose names contain this text")
    parser.add_argument("--svg", help="draw the wall times into this file")
    options = parser.parse_args()
    disk = tempfile.mkdtemp()
    memory = tempfile.mkdtemp(dir="/dev/shm")
    # The served files are in memory, so that the disk is only written to.
    served = tempfile.mkdtemp(dir="/dev/shm")
    server = Server(served)
    commands = Programs(os.path.realpath(options.resumectl), f"{served}/cert.pem")
    stream = max(int((1 << 30) * options.scale) >> 20, 1) << 20
    small, medium = int(10_000 * options.scale), int(1_000 * options.scale)
    alone, together = ["curl", "wget", "wget2", "aria2c", "resumectl"], ["curl", "wget2", "aria2c", "resumectl"]
    workloads = [
        Workload("one stream, http", alone, 1, stream, disk),
        Workload("one stream, https", alone, 1, stream, disk, "https"),
        Workload("one stream, HTTP/2", ["curl", "wget2", "resumectl"], 1, stream, disk, "https", 2),
        Workload(f"{small:,} × 16 KiB, disk", together, small, 16 << 10, disk),
        Workload(f"{small:,} × 16 KiB, memory", together, small, 16 << 10, memory),
        Workload(f"{medium:,} × 1 MiB, disk", together, medium, 1 << 20, disk),
        Workload(f"{medium:,} × 1 MiB, memory", together, medium, 1 << 20, memory),
    ]
    wanted = lambda name: not options.only or any(text in name for text in options.only)
    rows = []
    try:
        print(f"| Workload | Program | Wall | CPU | Peak memory | Thread changes a file |\n| --- | --- | --- | --- | --- | --- |")
        for workload in workloads:
            if not wanted(workload.name):
                continue
            results = workload.run(server, commands, options.runs)
            bars = []
            for program in workload.programs:
                runs, reference = results[program], results["curl"]
                wall, low, high = ratio(runs, reference, lambda run: run.wall)
                cpu = ratio(runs, reference, lambda run: run.cpu)[0]
                changes = statistics.median(run.switches for run in runs) / workload.count
                print(f"| {workload.name} | {program} | {wall:.2f} ({low:.2f} to {high:.2f}) | {cpu:.2f} | "
                      f"{max(run.memory for run in runs):.0f} MiB | {changes:.1f} |", flush=True)
                bars.append((program, wall))
            rows.append((workload.name, bars))
        if wanted("killed"):
            print("\n| Killed every 0.1 to 0.35 s, at 40 MiB/s | Sent |\n| --- | --- |")
            for program in alone:
                # A program that does not end once never will.
                sent = [waste(server, commands, program, tempfile.mkdtemp(dir=disk), 64 << 20)]
                while len(sent) < options.runs and sent[0] < math.inf:
                    sent.append(waste(server, commands, program, tempfile.mkdtemp(dir=disk), 64 << 20))
                median = statistics.median(sent)
                text = "never ends" if median == math.inf else f"{median:.2f} ({min(sent):.2f} to {max(sent):.2f})"
                print(f"| {program} | {text} |", flush=True)
        if wanted("paced"):
            held = max(int(10 * options.scale), 1)
            print(f"\n| A transfer paced at half its full speed, beside a store of {held} GiB | Speed, as a multiple of "
                  "its pace |\n| --- | --- |")
            for name, speed in beside(server, commands.resumectl, disk, held << 30):
                print(f"| {name} | {speed:.2f} |", flush=True)
        if wanted("calls"):
            print("\n| System calls a file, 16 KiB, in memory | |\n| --- | --- |")
            count = min(small, 1000)
            source = server.make(f"{count}x{16 << 10}", count, 16 << 10)
            with open(f"{served}/list", "w") as plain, open(f"{served}/list.curl", "w") as curl:
                for number in range(count):
                    url = f"http://127.0.0.1:{server.port}/{os.path.basename(source)}/{number:05}"
                    plain.write(f"{url}\n")
                    curl.write(f"url = {url}\noutput = {number:05}\n")
            for program in together:
                folder = tempfile.mkdtemp(dir=memory)
                print(f"| {program} | {calls(commands, program, f'{served}/list', folder, count):.0f} |", flush=True)
        if options.svg and rows:
            draw(options.svg, rows)
    finally:
        server.stop()
        for folder in (disk, memory, served):
            shutil.rmtree(folder, ignore_errors=True)


main()
