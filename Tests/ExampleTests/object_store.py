"""An object store for the tests: moto's S3 behind a front that verifies presigned URLs, and a backend that signs them.

Usage: object_store.py PORT. The store serves presigned URLs only; botocore verifies their signatures. Each answer to a
GET or a HEAD is printed as METHOD STATUS. Paths under /-/ belong to the tests:

GET /-/sign?method=M&key=K  a URL for an object of the bucket, as the backend of a program signs it
PUT /-/slow with a number   the next answer that has the whole object goes on slowly after so many bytes
PUT /-/expire with a number the same answer ends after so many bytes, and every URL that was signed before is expired
PUT /-/secret with a text   the backend signs with this secret from now on
"""
import datetime
import sys
import time
from urllib.parse import parse_qs, quote, urlsplit

from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, run_simple

BUCKET = "bucket"
LIFETIME = 900
PART = 65_536


class ObjectStore:
    def __init__(self):
        self.moto = DomainDispatcherApplication(create_backend_app)
        self.slow = self.expire = None
        self.secret = "secret"
        # The store's clock moves when a test says so: URLs expire by it, however long a test takes.
        self.now = datetime.datetime(2025, 6, 1, 12, 0, 0)

    def __call__(self, environ, start_response):
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        query = {name: values[0] for name, values in parse_qs(environ["QUERY_STRING"]).items()}
        if path.startswith("/-/"):
            return self.control(path[3:], query, environ, start_response)
        if method in ("GET", "HEAD"):
            refusal = self.refusal(environ, query)
            if refusal:
                print(method, 403, flush=True)
                body = f"<Error><Code>AccessDenied</Code><Message>{refusal}</Message></Error>".encode()
                start_response("403 Forbidden", [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
                return [body]

        status = []

        def start(line, fields, error=None):
            status.append(int(line.split()[0]))
            if method in ("GET", "HEAD"):
                print(method, status[0], flush=True)
            return start_response(line, fields, error)

        body = b"".join(self.moto(environ, start))
        if status != [200] or method != "GET":
            return self.parts(body)
        slow, expire, self.slow, self.expire = self.slow, self.expire, None, None
        return self.slowly(body, slow) if slow is not None else self.parts(body, expire)

    def control(self, name, query, environ, start_response):
        text = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)).decode()
        answer = b""
        if name == "slow":
            self.slow = int(text)
        elif name == "expire":
            self.expire = int(text)
        elif name == "secret":
            self.secret = text
        elif query.get("key", "").startswith("private/"):
            start_response("403 Forbidden", [("Content-Length", "0")])
            return [b""]
        else:
            answer = self.signed(query["method"], f"{environ['HTTP_HOST']}", query["key"]).encode()
        start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(answer)))])
        return [answer]

    def parts(self, body, end=None):
        for first in range(0, len(body) if end is None else end, PART):
            yield body[first : min(first + PART, len(body) if end is None else end)]
        if end is not None:
            self.now += datetime.timedelta(seconds=LIFETIME + 1)
            raise ConnectionAbortedError("cut")

    def slowly(self, body, start):
        yield from (body[first : min(first + PART, start)] for first in range(0, start, PART))
        for first in range(start, len(body), 1024):
            yield body[first : first + 1024]
            time.sleep(0.1)

    def signed(self, method, host, key):
        """A presigned URL, as any SDK makes it."""
        stamp = self.now.strftime("%Y%m%dT%H%M%SZ")
        path = quote(f"/{BUCKET}/{key}", safe="/~")
        query = "&".join(
            f"{name}={quote(value, safe='')}"
            for name, value in [
                ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
                ("X-Amz-Credential", f"key/{stamp[:8]}/us-east-1/s3/aws4_request"),
                ("X-Amz-Date", stamp),
                ("X-Amz-Expires", str(LIFETIME)),
                ("X-Amz-SignedHeaders", "host"),
            ]
        )
        url = f"http://{host}{path}?{query}"
        return f"{url}&X-Amz-Signature={self.signature(method, url, stamp, self.secret)}"

    def signature(self, method, url, stamp, secret):
        request = AWSRequest(method, url)
        request.context["timestamp"] = stamp
        auth = S3SigV4QueryAuth(Credentials("key", secret), "s3", "us-east-1")
        return auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)

    def refusal(self, environ, query):
        """What is wrong with a presigned request; None if nothing is."""
        try:
            began = datetime.datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ")
            end = began + datetime.timedelta(seconds=int(query["X-Amz-Expires"]))
        except (KeyError, ValueError):
            return "Access Denied"
        target = urlsplit(environ["RAW_URI"])
        unsigned = "&".join(part for part in target.query.split("&") if not part.startswith("X-Amz-Signature="))
        url = f"http://{environ['HTTP_HOST']}{target.path}?{unsigned}"
        if self.signature(environ["REQUEST_METHOD"], url, query["X-Amz-Date"], "secret") != query.get("X-Amz-Signature"):
            return "The request signature we calculated does not match the signature you provided."
        return "Request has expired" if self.now > end else None


class Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, *arguments):
        pass


run_simple("127.0.0.1", int(sys.argv[1]), ObjectStore(), threaded=True, request_handler=Handler)
