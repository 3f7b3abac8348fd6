"""Writes small compressed files and archives with Python's own modules: tests/testdata/packed.tar.

    python tests/record/fixtures.py packed record_archives.py

packed.txt.{gz,bz2,xz} are written with gzip, bz2 and lzma, and packed.txt.zst with the program zstd (1.5.4). packed.tar.gz is written
with tarfile (pax), and packed.zip with zipfile (one entry stored, one deflated). zeros.tar.zst is a decompression bomb: 80 MiB of zeros
in a few KiB.
"""

import bz2
import gzip
import io
import lzma
import pathlib
import subprocess
import sys
import tarfile
import zipfile

FOLDER = pathlib.Path(sys.argv[1])
TEXT = b"".join(b"line %d of a text that packs well\n" % i for i in range(40))
FILES = {"model/config.json": b'{"hidden_size": 128}\n', "model/vocab-\u00e9.txt": TEXT}
TIME = (2024, 1, 2, 3, 4, 6)


def zstd(content, *options):
    command = ["zstd", "-c", *options]
    return subprocess.run(command, input=content, capture_output=True, check=True).stdout


def write_bomb(path):
    tar_bytes = io.BytesIO()
    with tarfile.open(fileobj=tar_bytes, mode="w") as tar:
        info = tarfile.TarInfo("zeros")
        info.size = 80 << 20
        tar.addfile(info, io.BytesIO(bytes(info.size)))
    path.write_bytes(zstd(tar_bytes.getvalue(), "-19"))


def write_tar(path):
    tar_bytes = io.BytesIO()
    with tarfile.open(fileobj=tar_bytes, mode="w", format=tarfile.PAX_FORMAT) as tar:
        directory = tarfile.TarInfo("model")
        directory.type = tarfile.DIRTYPE
        directory.mode = 0o755
        tar.addfile(directory)
        for name, content in FILES.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    path.write_bytes(gzip.compress(tar_bytes.getvalue(), mtime=0))


def write_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        for index, (name, content) in enumerate(FILES.items()):
            info = zipfile.ZipInfo(name, TIME)
            info.compress_type = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED][index]
            archive.writestr(info, content)


if __name__ == "__main__":
    (FOLDER / "packed.txt").write_bytes(TEXT)
    (FOLDER / "packed.txt.gz").write_bytes(gzip.compress(TEXT, mtime=0))
    (FOLDER / "packed.txt.bz2").write_bytes(bz2.compress(TEXT))
    (FOLDER / "packed.txt.xz").write_bytes(lzma.compress(TEXT))
    (FOLDER / "packed.txt.zst").write_bytes(zstd(TEXT))
    write_tar(FOLDER / "packed.tar.gz")
    write_zip(FOLDER / "packed.zip")
    write_bomb(FOLDER / "zeros.tar.zst")
