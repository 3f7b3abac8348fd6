"""A server that lies, for tests/jobs/hostile_servers.sh.

    hostile_server.py PORT_FILE OTHER_PORT_FILE SEEN

Listens on two free ports of 127.0.0.1, writes them to the two files, and appends the header fields that the second one receives to
SEEN. What it answers is named by the first part of the path, or by the bucket or repository of a request as Cloud Storage and the
Hugging Face hub get it.
"""
import base64
import http.server
import os
import re
import sys
import threading
import time

PORTAL = b"<!doctype html><html><title>Sign in</title><body>Accept our terms of use to go on.</body></html>"
ENDLESS_LIMIT = 64 << 30  # bytes; far more than any test may read


def write_port(path, server):
    with open(path + ".new", "w") as file:
        file.write(str(server.server_address[1]))
    os.rename(path + ".new", path)


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def whole(self, status, body, **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def promise(self, size, body):
        """Promises `size` bytes, sends `body` and closes the connection."""
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.close_connection = True

    def endless(self, first, then):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if self.command == "HEAD":
            return
        piece = then * (65536 // len(then))
        self.wfile.write(b"%x\r\n%s\r\n" % (len(first), first))
        for _ in range(ENDLESS_LIMIT // len(piece)):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

    def do_GET(self):
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        if self.server.is_other:
            with open(sys.argv[3], "a") as seen:
                seen.write(f"{self.command} {self.path.split('?')[0]}\n{self.headers}\n")
        match = re.match(r"/(?:upload/)?storage/v1/b/([^/?]+)|/api/(?:models|datasets)/([^/?]+)|/(?:datasets/)?([^/?]+)", self.path)
        kind = next((name for name in match.groups() if name), "") if match else ""
        try:
            getattr(self, kind.replace("-", "_"), self.absent)()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_HEAD = do_POST = do_PUT = do_DELETE = do_GET

    def absent(self):
        self.whole(404, b"not found")

    def portal(self):
        self.whole(200, PORTAL, Content_Type="text/html")

    def less(self):
        self.promise(100000, b"text,label\na good one,1\n")

    def more(self):
        self.promise(12, b"text,label\na" + b"x" * 100000)

    def garbage(self):
        self.wfile.write(b"no status line and no end of it\n" * 100)
        self.close_connection = True

    def without_end(self):
        self.endless(b'{"kind": "storage#object", "name": "', b"a")

    def pages(self):
        if "/o?" in self.path or self.path.endswith("/o"):
            self.whole(200, b'{"items": [], "nextPageToken": "again"}', Content_Type="application/json")
        else:
            self.absent()

    def repeated(self):
        items = b", ".join(b'{"name": "data/%d.csv", "size": "5", "generation": "1", "crc32c": "AAAAAA=="}' % i for i in range(1000))
        if "/o?" in self.path or self.path.endswith("/o"):
            self.whole(200, b'{"items": [%s], "nextPageToken": "again"}' % items, Content_Type="application/json")
        else:
            self.absent()

    def away(self):
        self.whole(302, b"", Location=f"http://127.0.0.1:{self.server.other_port}/echo/data.csv?sig=RedirectedSecret77")

    def away_with_user(self):
        self.whole(302, b"", Location=f"http://someone:RedirectedSecret77@127.0.0.1:{self.server.other_port}/echo/data.csv")

    def circle(self):
        self.whole(302, b"", Location=self.path)

    def echo(self):
        self.whole(403, f"refused: {self.path} {self.headers}".encode(), Content_Type="text/plain")

    def guarded(self):
        """Rows for those who send the signature and the password."""
        user = "Basic " + base64.b64encode(b"reader:UserSecret22").decode()
        if "?sig=QuerySecret11" in self.path and self.headers.get("Authorization") == user:
            self.whole(200, b"text,label\n" + b"".join(b"row %d,%d\n" % (i, i % 2) for i in range(40)))
        else:
            self.whole(403, b"")

    def bomb(self):
        with open("bomb.tar.gz", "rb") as file:
            self.whole(200, file.read())


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Clients end connections whenever they like."""


def serve(port_file, is_other, other_port):
    server = Server(("127.0.0.1", 0), Answers)
    server.is_other, server.other_port = is_other, other_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    write_port(port_file, server)
    return server.server_address[1]


serve(sys.argv[1], False, serve(sys.argv[2], True, 0))
while True:
    time.sleep(3600)
