#!/usr/bin/env python3
"""Lists, unpacks, packs and records the archives of tests/testdata.

    python tests/record/fixtures.py ARCHIVE                                    prints the files and their sizes
    python tests/record/fixtures.py ARCHIVE unpack FOLDER
    python tests/record/fixtures.py ARCHIVE pack FOLDER
    python tests/record/fixtures.py ARCHIVE record_SCRIPT.py [ARGUMENT ...]    runs SCRIPT FOLDER ARGUMENT ... with the unpacked files,
                                                                               and packs what is there afterwards
    python tests/record/fixtures.py show FILE                                  prints an archive as text, for git diff

ARCHIVE is the name of a file in tests/testdata without ".tar". The same files always give the same bytes. These lines make `git diff`
and `git log -p` show which files of an archive changed, and the changes of text files:

    git config diff.fixtures.textconv "python3 tests/record/fixtures.py show"
"""
import hashlib
import io
import pathlib
import subprocess
import sys
import tarfile
import tempfile

RECORD = pathlib.Path(__file__).resolve().parent
TESTDATA = RECORD.parent / "testdata"


def unpack(archive, folder):
    with tarfile.open(archive, "r:") as tar:
        for member in tar:
            path = folder / member.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(tar.extractfile(member).read())


def pack(archive, folder):
    """Sorted names, no time, no owner: the bytes depend on nothing else."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            content = path.read_bytes()
            member = tarfile.TarInfo(path.relative_to(folder).as_posix())
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    archive.write_bytes(out.getvalue())


def record(archive, script, arguments):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if archive.exists():
            unpack(archive, folder)
        subprocess.run([sys.executable, RECORD / script, folder, *arguments], check=True)
        pack(archive, folder)


def show(archive):
    with tarfile.open(archive, "r:") as tar:
        for member in tar:
            content = tar.extractfile(member).read()
            print(f"=== {member.name}, {len(content)} bytes, SHA-256 {hashlib.sha256(content).hexdigest()[:16]}")
            try:
                text = content.decode()
            except UnicodeDecodeError:
                continue
            if "\0" not in text:
                print(text)


def main(arguments):
    if arguments[0] == "show":
        return show(arguments[1])
    archive = TESTDATA / (arguments[0] + ".tar")
    action, *rest = arguments[1:] or ["list"]
    if action == "list":
        with tarfile.open(archive, "r:") as tar:
            for member in tar:
                print(f"{member.size:9} {member.name}")
    elif action == "unpack":
        unpack(archive, pathlib.Path(rest[0]))
    elif action == "pack":
        pack(archive, pathlib.Path(rest[0]))
    else:
        record(archive, action, rest)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    main(sys.argv[1:])
