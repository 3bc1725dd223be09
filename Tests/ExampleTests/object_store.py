"""An object store for the tests: moto's S3, and before it what moto does not do: URLs that end, and answers that are cut.

Usage: object_store.py PORT. Only presigned URLs are served; botocore verifies their signatures. PUT /-/cut with a number
lets the next answer that has a whole object go on slowly after so many bytes, and end when its URL has expired. Each answer to a GET or a
HEAD is told as METHOD STATUS.
"""
import datetime
import sys
import time
from urllib.parse import parse_qs, urlsplit

from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, run_simple

PART = 65_536


class ObjectStore:
    def __init__(self):
        self.moto = DomainDispatcherApplication(create_backend_app)
        self.cut = None

    def __call__(self, environ, start_response):
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        if path == "/-/cut":
            self.cut = int(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
            start_response("204 No Content", [])
            return []
        query = {name: values[0] for name, values in parse_qs(environ["QUERY_STRING"]).items()}
        end = None
        if method in ("GET", "HEAD"):
            refusal, end = self.refusal(environ, query)
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
        cut, self.cut = (self.cut, None) if status == [200] and method == "GET" else (None, self.cut)
        return self.parts(body, cut, end)

    def parts(self, body, cut, end):
        for first in range(0, len(body) if cut is None else cut, PART):
            yield body[first : first + PART] if cut is None else body[first : min(first + PART, cut)]
        if cut is None:
            return
        # Slowly, so that whoever watches sees that it goes on.
        while cut < len(body) and time.time() < end + 0.1:
            yield body[cut : cut + 1024]
            cut += 1024
            time.sleep(0.05)
        raise ConnectionAbortedError("cut")

    def refusal(self, environ, query):
        """What is wrong with a presigned request, and when its URL ends."""
        try:
            began = datetime.datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ")
            lifetime = int(query["X-Amz-Expires"])
            access_key, _, region, _, _ = query["X-Amz-Credential"].split("/")
        except (KeyError, ValueError):
            return "Access Denied", None
        end = began.replace(tzinfo=datetime.timezone.utc).timestamp() + lifetime
        target = urlsplit(environ["RAW_URI"])
        unsigned = "&".join(part for part in target.query.split("&") if not part.startswith("X-Amz-Signature="))
        request = AWSRequest(environ["REQUEST_METHOD"], f"http://{environ['HTTP_HOST']}{target.path}?{unsigned}")
        request.context["timestamp"] = query["X-Amz-Date"]
        auth = S3SigV4QueryAuth(Credentials(access_key, "secret"), "s3", region)
        signed = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
        if signed != query.get("X-Amz-Signature"):
            return "The request signature we calculated does not match the signature you provided.", end
        return ("Request has expired" if time.time() > end else None), end


class Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, *arguments):
        pass


run_simple("127.0.0.1", int(sys.argv[1]), ObjectStore(), threaded=True, request_handler=Handler)
