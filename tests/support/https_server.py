"""Serves the files of a folder by https, with a certificate that an authority of its own has signed.

    https_server.py FOLDER WORK

Writes WORK/authority.pem, the authority's certificate, and then WORK/port. Runs until it is killed. Needs openssl.
"""
import functools
import http.server
import pathlib
import ssl
import subprocess
import sys

folder, work = sys.argv[1], pathlib.Path(sys.argv[2])


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], cwd=work, check=True, capture_output=True)


openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=authority", "-days", "2", "-keyout", "authority.key", "-out", "authority.pem")
openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr")
(work / "server.ext").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
openssl("x509", "-req", "-in", "server.csr", "-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial", "-days", "2", "-extfile", "server.ext", "-out", "server.pem")

context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(work / "server.pem", work / "server.key")
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
server.socket = context.wrap_socket(server.socket, server_side=True)
(work / "port.partial").write_text(str(server.server_address[1]))
(work / "port.partial").rename(work / "port")
server.serve_forever()
