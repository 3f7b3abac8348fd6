"""Checks that huggingface_hub and berth find in the shared cache what the other one fetched, from a small server that speaks the
hub's endpoints. Large files are redirected to a signed address of another server, which must not get the token.

    python tests/peers/check_hub.py BERTH

Needs huggingface_hub.
"""

import hashlib
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.parse

berth = os.path.abspath(sys.argv[1])
TINY = pathlib.Path(__file__).parent.parent / "testdata" / "tiny_model"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
TOKEN = "hf_peersSecretToken0123"
FILES = {path.name: path.read_bytes() for path in TINY.iterdir()}
LARGE = 10000  # files from this size on are kept in LFS
ROW = "--train-data-file", str(TINY.parent.parent.parent / "examples" / "data" / "df.pickle")
leaked = []


def etag(content):
    if len(content) >= LARGE:
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = lambda self: self.do_GET()


class Bytes(Handler):
    def do_GET(self):
        leaked.extend(filter(None, [self.headers["Authorization"]]))
        url = urllib.parse.urlsplit(self.path)
        if url.query != "Signature=abc":
            return self.answer(403)
        content = FILES[url.path[1:]]
        begin = self.headers["Range"]
        if begin:
            begin = int(begin.removeprefix("bytes=").split("-")[0])
            return self.answer(206, content[begin:], Content_Range=f"bytes {begin}-{len(content) - 1}/{len(content)}")
        self.answer(200, content, ETag=f'"{etag(content)}"')


class Hub(Handler):
    def do_GET(self):
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return self.answer(401, X_Error_Code="RepoNotFound")
        path = urllib.parse.urlsplit(self.path).path
        if path.startswith("/api/models/org/tiny/revision/") or path == "/api/models/org/tiny":
            siblings = [{"rfilename": name, "size": len(content), "blobId": etag(content)} for name, content in FILES.items()]
            for sibling in siblings:
                if sibling["size"] >= LARGE:
                    sibling["lfs"] = {"sha256": sibling["blobId"], "size": sibling["size"], "pointerSize": 130}
                    sibling["blobId"] = "0" * 40
            info = {"_id": "1", "id": "org/tiny", "modelId": "org/tiny", "sha": COMMIT, "private": True, "siblings": siblings}
            return self.answer(200, json.dumps(info).encode(), Content_Type="application/json")
        if path == f"/api/models/org/tiny/tree/{COMMIT}":
            entries = [{"type": "file", "path": name, "size": len(content), "oid": etag(content)} for name, content in FILES.items()]
            for entry in entries:
                if entry["size"] >= LARGE:
                    entry["lfs"] = {"oid": entry["oid"], "size": entry["size"], "pointerSize": 130}
                    entry["oid"] = "0" * 40
            return self.answer(200, json.dumps(entries).encode(), Content_Type="application/json")
        for revision in "main", COMMIT:
            prefix = f"/org/tiny/resolve/{revision}/"
            name = path.removeprefix(prefix)
            if not path.startswith(prefix) or name not in FILES:
                continue
            content = FILES[name]
            if len(content) < LARGE:
                return self.answer(200, content, ETag=f'"{etag(content)}"', X_Repo_Commit=COMMIT)
            self.answer(302, Location=f"{bytes_url}/{name}?Signature=abc", X_Repo_Commit=COMMIT, X_Linked_Etag=f'"{etag(content)}"',
                        X_Linked_Size=str(len(content)))
            return
        self.answer(404, X_Error_Code="EntryNotFound")


def serve(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


bytes_url = serve(Bytes)
hub_url = serve(Hub)


def run(arguments, home, **environment):
    environment = {**os.environ, "HF_HOME": home, "HF_ENDPOINT": hub_url, "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1",
                   **environment}
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    assert TOKEN not in done.stdout + done.stderr
    return done.stdout


def theirs(home, call, **environment):
    return run([sys.executable, "-c", f"import huggingface_hub as h; print(h.{call})"], home, **environment).strip()


def ours(home, job, **environment):
    run([berth, *ROW, "--model", "org/tiny", "--max-steps", "1", "--batch-size", "4", "--job-dir", job], home, **environment)
    return pathlib.Path(job, "model", "model.safetensors").read_bytes()


with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    # What berth fetches, huggingface_hub finds without a network.
    online = ours("a", "job_a", HF_TOKEN=TOKEN)
    for name in "config.json", "model.safetensors":
        path = theirs("a", f"hf_hub_download('org/tiny', '{name}')", HF_HUB_OFFLINE="1")
        assert pathlib.Path(path).read_bytes() == FILES[name], name
    # What huggingface_hub fetches, berth finds without a network, and it trains to the same bits.
    snapshot = theirs("b", "snapshot_download('org/tiny')", HF_TOKEN=TOKEN)
    assert sorted(os.listdir(snapshot)) == sorted(FILES)
    assert ours("b", "job_b", HF_HUB_OFFLINE="1") == online
    # huggingface_hub does not fetch again what berth fetched, and the other way round.
    before = {path: path.stat().st_ino for path in pathlib.Path("a/hub/models--org--tiny/blobs").iterdir()}
    theirs("a", "snapshot_download('org/tiny')", HF_TOKEN=TOKEN)
    assert all(path.stat().st_ino == inode for path, inode in before.items())
    ours("b", "job_c", HF_TOKEN=TOKEN)
    assert len(list(pathlib.Path("b/hub/models--org--tiny/blobs").iterdir())) == len({etag(content) for content in FILES.values()})
assert not leaked, "the token reached another server"
print(f"{len(FILES)} files: each program finds what the other one fetched")
