"""Checks that Google's own client and berth read each other's objects, byte for byte and by checksum.

    python tests/peers/check_storage.py FAKE_GCS_SERVER GCS_COPY

FAKE_GCS_SERVER and GCS_COPY are programs of this project. The check runs with our fake server, and with gcp-storage-emulator if it is
installed. Needs google-cloud-storage and google-crc32c. An emulator that imports pkg_resources needs setuptools<81.
"""

import base64
import importlib.util
import os
import random
import socket
import subprocess
import sys
import tempfile
import time

import google_crc32c
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage

fake_gcs_server, gcs_copy = map(os.path.abspath, sys.argv[1:3])
KIB, MIB = 1 << 10, 1 << 20
# The sizes cover one request, several chunks, the border of a chunk, joined parts and an empty object. Some names need encoding.
OBJECTS = {"empty": 0, "one byte": 1, "dir/a+b#c?.bin": 300 * KIB, "dir/ünï/one-shot": 8 * MIB, "chunks": 33 * MIB + 7,
           "border": 32 * MIB, "dir/parts": 70 * MIB + 1}


def content(name):
    return random.Random(name).randbytes(OBJECTS[name])


def crc32c_hex(data):
    return f"{google_crc32c.value(data):08x}"


def copy(url, source, target):
    done = subprocess.run([gcs_copy, source, target], env={**os.environ, "STORAGE_EMULATOR_HOST": url}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def check(label, url):
    # The client must use `url` whatever the environment says.
    client = storage.Client(project="peers", credentials=AnonymousCredentials(), client_options={"api_endpoint": url})
    bucket = client.bucket("peers")
    with tempfile.TemporaryDirectory() as folder:
        for name in OBJECTS:
            data, path = content(name), os.path.join(folder, "file")

            theirs = bucket.blob("theirs/" + name)
            theirs.upload_from_string(data, content_type="application/octet-stream", checksum="crc32c")
            size, crc = copy(url, "gs://peers/theirs/" + name, path)
            assert (int(size), crc) == (len(data), crc32c_hex(data)), (label, name, size, crc)
            assert open(path, "rb").read() == data, (label, name)

            # google-cloud-storage compares the checksum of the bytes with x-goog-hash.
            copy(url, path, "gs://peers/ours/" + name)
            ours = bucket.blob("ours/" + name)
            assert ours.download_as_bytes(checksum="crc32c") == data, (label, name)
            ours.reload()
            assert ours.size == len(data), (label, name, ours.size)
            assert base64.b64decode(ours.crc32c).hex() == crc32c_hex(data), (label, name, ours.crc32c)
        chunked = bucket.blob("theirs/resumable", chunk_size=MIB)
        chunked.upload_from_string(content("chunks"))
        assert copy(url, "gs://peers/theirs/resumable", path)[1] == crc32c_hex(content("chunks")), label
    names = {blob.name for blob in client.list_blobs("peers", prefix="ours/")}
    assert names == {"ours/" + name for name in OBJECTS}, (label, names)
    print(f"{label}: {len(OBJECTS)} objects each way agree", flush=True)


def wait_for(port):
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
    raise SystemExit("a server did not start")


def with_fake():
    with tempfile.TemporaryDirectory() as folder:
        port_file = os.path.join(folder, "port")
        server = subprocess.Popen([fake_gcs_server, "--port-file", port_file, "--bucket", "peers"])
        try:
            while not os.path.exists(port_file):
                time.sleep(0.02)
            check("fake_gcs_server", f"http://127.0.0.1:{open(port_file).read().strip()}")
        finally:
            server.terminate()
            server.wait()


def with_emulator():
    if importlib.util.find_spec("gcp_storage_emulator") is None:
        print("SKIPPED: gcp-storage-emulator is not installed")
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "gcp_storage_emulator", "start", "--port", str(port), "--host", "127.0.0.1", "--in-memory",
         "--default-bucket", "peers"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        check("gcp-storage-emulator", f"http://127.0.0.1:{port}")
    finally:
        server.terminate()
        server.wait()


with_fake()
with_emulator()
