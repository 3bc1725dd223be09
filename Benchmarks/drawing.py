#!/usr/bin/env python3
"""Measures what drawing the progress costs: the CPU time of `resumectl get` for 16 files of a paced server, in a
terminal and without one, alternately.

Usage: drawing.py RESUMECTL [SECONDS] [ROUNDS]
"""
import asyncio, fcntl, os, shutil, statistics, struct, subprocess, sys, tempfile, termios, threading, time

program = os.path.realpath(sys.argv[1])
seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 30
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
files, rate = 16, 1 << 20
length = seconds * rate


async def serve(reader, writer):
    await reader.readuntil(b"\r\n\r\n")
    writer.write(f'HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nETag: "a"\r\nConnection: close\r\n\r\n'.encode())
    piece = bytes(rate // 20)
    start, sent = time.monotonic(), 0
    while sent < length:
        writer.write(piece[:length - sent])
        sent += len(piece)
        await writer.drain()
        await asyncio.sleep(max(start + sent / rate - time.monotonic(), 0))
    writer.close()


ready = threading.Event()
port = 0


async def server():
    global port
    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    ready.set()
    await listener.serve_forever()


threading.Thread(target=lambda: asyncio.run(server()), daemon=True).start()
ready.wait()


def run(size):
    """Downloads the files, and returns the CPU time, the wall time and the number of bytes that were drawn."""
    work = tempfile.mkdtemp()
    with open(f"{work}/list", "w") as file:
        file.writelines(f"http://127.0.0.1:{port}/a-file-with-a-name-{number}.bin\n" for number in range(files))
    drawn = 0
    if size:
        screen, terminal = os.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    else:
        screen, terminal = os.pipe()
    start = time.monotonic()
    process = subprocess.Popen(
        [program, "get", "-j", str(files), "-i", f"{work}/list", "-P", f"{work}/files", "--store", f"{work}/store"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=terminal,
        env={**os.environ, "no_proxy": "127.0.0.1", "TERM": "xterm"})
    os.close(terminal)
    try:
        while piece := os.read(screen, 65536):
            drawn += len(piece)
    except OSError:
        pass
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    os.close(screen)
    shutil.rmtree(work)
    assert status == 0, status
    return usage.ru_utime + usage.ru_stime, wall, drawn


sizes = {"no terminal": None, "80 columns": (80, 24), "200 columns": (200, 50)}
results = {name: [] for name in sizes}
for _ in range(rounds):
    for name, size in sizes.items():
        results[name].append(run(size))
base = statistics.median(cpu for cpu, _, _ in results["no terminal"])
for name, runs in results.items():
    cpu, wall = (statistics.median(run[index] for run in runs) for index in (0, 1))
    print(f"{name}: CPU {cpu:.3f} s in {wall:.1f} s ({', '.join(f'{run[0]:.3f}' for run in runs)}); "
          f"{(cpu - base) / wall * 100:.2f} % of a CPU for drawing; {runs[0][2]} bytes written")
