#!/usr/bin/env python3
"""Runs `resumectl get -o -` on a file of 1 GiB whose connections are cut 50 times (FIN) and reset 5 times (RST), and
then on one that changes after 20 cuts.

Prints the SHA-256 of both sides, requests, sent bytes, seconds, and the peak memory and CPU time of the program.
Usage: interrupted-output.py RESUMECTL [MIB]
"""
import hashlib, os, re, shutil, socket, struct, subprocess, sys, tempfile, threading, time

program = os.path.realpath(sys.argv[1])
length = (int(sys.argv[2]) if len(sys.argv) > 2 else 1024) << 20
cuts, resets = 50, 5
part = length // (cuts + resets + 1)
# The length of the repeated block is a prime, so that no two parts at other offsets are equal.
block = os.urandom(1_000_003)


def content(version, start, end):
    while start < end:
        offset = start % len(block)
        piece = block[offset:offset + min(end - start, 1 << 16)]
        yield piece.translate(bytes(255 - n for n in range(256))) if version == 2 else piece
        start += len(piece)


class Server(threading.Thread):
    """Ends each of the first connections after a part, and changes the file after a number of requests."""

    def __init__(self, change=None):
        super().__init__(daemon=True)
        self.change, self.requests, self.sent = change, 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/file"

    def run(self):
        while True:
            connection, _ = self.listener.accept()
            try:
                self.serve(connection)
            except OSError:
                pass
            connection.close()

    def serve(self, connection):
        head = b""
        while b"\r\n\r\n" not in head:
            received = connection.recv(65536)
            if not received:
                return
            head += received
        self.requests += 1
        version = 2 if self.change and self.requests > self.change else 1
        tag = f'"v{version}"'
        wanted = re.search(rb"\r\nrange: *bytes=(\d+)-", head, re.I)
        condition = re.search(rb"\r\nif-range: *(\S+)", head, re.I)
        start = int(wanted[1]) if wanted and (not condition or condition[1].decode() == tag) else 0
        fields = f"ETag: {tag}\r\nContent-Length: {length - start}\r\nConnection: close\r\n"
        if start:
            fields = f"Content-Range: bytes {start}-{length - 1}/{length}\r\n{fields}"
        connection.sendall(f"HTTP/1.1 {'206 Partial Content' if start else '200 OK'}\r\n{fields}\r\n".encode())
        isWhole = self.requests > cuts + resets or version == 2
        for piece in content(version, start, length if isWhole else min(start + part, length)):
            connection.sendall(piece)
            self.sent += len(piece)
        if not isWhole and self.requests % 11 == 0:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def run(server):
    server.start()
    work = tempfile.mkdtemp()
    began = time.monotonic()
    process = subprocess.Popen(
        [program, "get", "-o", "-", "--store", f"{work}/store", server.url], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, bufsize=0, env={**os.environ, "no_proxy": "127.0.0.1"})
    digest, count = hashlib.sha256(), 0
    first, expected = content(1, 0, length), b""
    isBeginning = True
    messages = []
    reader = threading.Thread(target=lambda: messages.extend(process.stderr))
    reader.start()
    while piece := process.stdout.read(1 << 18):
        digest.update(piece)
        count += len(piece)
        while len(expected) < len(piece):
            expected += next(first, b"\0")
        isBeginning = isBeginning and expected.startswith(piece)
        expected = expected[len(piece):]
    _, status, usage = os.wait4(process.pid, 0)
    reader.join()
    shutil.rmtree(work)
    print(f"exit status {os.waitstatus_to_exitcode(status)}; {count} of {length} bytes, the beginning of the first "
          f"version: {isBeginning}; {server.requests} requests, {server.sent / length:.3f} times the size sent; "
          f"{time.monotonic() - began:.1f} s; peak {usage.ru_maxrss / 1024:.1f} MiB; "
          f"CPU {usage.ru_utime + usage.ru_stime:.2f} s")
    print(f"last message: {messages[-1].decode().strip() if messages else ''}")
    return digest.hexdigest()


whole = hashlib.sha256()
for piece in content(1, 0, length):
    whole.update(piece)
print(f"{cuts} cuts, {resets} resets:")
received = run(Server())
print(f"SHA-256 {'equal' if received == whole.hexdigest() else 'DIFFERENT'}: {received}")
print("changed after 20 cuts:")
run(Server(change=20))
