#!/usr/bin/env python3
"""Makes the Python package berth-trainer from a packed folder of the program: a wheel, and a source distribution.

    python3 scripts/make-wheel.py FOLDER DIST

FOLDER is what scripts/package.sh makes: bin/berth with the libraries that it needs, its model and its sample. The wheel in DIST holds it
as berth_trainer/dist beside the module in python/berth_trainer. Its tags name the processor of bin/berth, glibc and musl; any Python
from 3.9 on can install it. The source distribution cannot be built: where no wheel fits, such as on a Mac, pip takes it and shows the
sentence of python/sdist/refusal.py, which leads to Docker.

The same FOLDER and SOURCE_DATE_EPOCH make the same bytes. Only the standard library is needed.
"""

import base64
import gzip
import hashlib
import io
import os
import re
import stat
import sys
import tarfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "berth_trainer"
MACHINES = {62: "x86_64", 183: "aarch64"}  # e_machine of ELF

# The plugin and the libraries of CUDA 13 that it opens; jax-cuda13-plugin 0.11.2 names the same ones. nvidia-nvvm holds libdevice.
EXTRAS = {
    "cuda13": [
        "jax-cuda13-pjrt==0.11.2",
        "nvidia-cublas>=13.0.0.19,<14",
        "nvidia-cuda-cupti>=13.0.48,<14",
        "nvidia-cuda-nvcc>=13.0.48,<14",
        "nvidia-cuda-nvrtc>=13.0.48,<14",
        "nvidia-cuda-runtime>=13.0.48,<14",
        "nvidia-cudnn-cu13>=9.12.0.46,<10",
        "nvidia-cufft>=12.0.0.15,<13",
        "nvidia-cusolver>=12.0.3.29,<13",
        "nvidia-cusparse>=12.6.2.49,<13",
        "nvidia-nccl-cu13>=2.27.7,<3",
        "nvidia-nvjitlink>=13.0.39,<14",
        "nvidia-nvshmem-cu13>=3.3.20,<4",
        "nvidia-nvvm>=13,<14",
    ],
    "tpu": ["libtpu==0.0.52"],
}


def fail(message):
    sys.exit(f"make-wheel: {message}")


def version():
    """That of the project, which the module repeats."""
    found = re.search(r"project\(berth VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    module = re.search(r'__version__ = "([^"]+)"', (ROOT / "python" / NAME / "__init__.py").read_text())
    if found[1] != module[1]:
        fail(f"python/{NAME}/__init__.py has version {module[1]}, and CMakeLists.txt has {found[1]}")
    return found[1]


def machine_of(binary):
    header = binary.open("rb").read(20)
    if header[:4] != b"\x7fELF" or header[4:6] != b"\x02\x01":
        fail(f"{binary} is no program for 64-bit Linux")
    machine = int.from_bytes(header[18:20], "little")
    return MACHINES.get(machine) or fail(f"{binary} is for a processor that no wheel is made for (ELF machine {machine})")


def metadata():
    lines = [
        "Metadata-Version: 2.1",
        "Name: berth-trainer",
        f"Version: {version()}",
        "Summary: Trains BERT-family encoders on CPUs, from a DataFrame to a model for transformers. The program is berth; "
        "the name berth on PyPI belongs to another project.",
        "License: Apache-2.0",
        "Keywords: bert,nlp,fine-tuning,text-classification,embeddings",
        "Classifier: Environment :: Console",
        "Classifier: Framework :: Jupyter",
        "Classifier: License :: OSI Approved :: Apache Software License",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Programming Language :: C++",
        "Classifier: Programming Language :: Python :: 3",
        "Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Requires-Python: >=3.9",
        "Description-Content-Type: text/markdown",
    ]
    for extra, requirements in EXTRAS.items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {requirement} ; extra == '{extra}'" for requirement in requirements]
    return "\n".join(lines) + "\n\n" + (ROOT / "python" / "README.md").read_text()


def packed_files(folder):
    """The files of the folder by their names in the wheel. pip installs no links, so the file takes the place of a link to it."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_dir():
            continue
        if not path.is_file():
            fail(f"{path} is no file")
        if not path.resolve().is_relative_to(folder.resolve()):
            fail(f"{path} leads out of the folder")
        mode = 0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644
        files[f"{NAME}/dist/{path.relative_to(folder).as_posix()}"] = (path.read_bytes(), mode)
    return files


def write_wheel(folder, dist, epoch):
    machine = machine_of(folder / "bin" / "berth")
    tags = [f"py3-none-manylinux_2_31_{machine}", f"py3-none-musllinux_1_1_{machine}"]
    info = f"{NAME}-{version()}.dist-info"
    files = packed_files(folder)
    for source in sorted((ROOT / "python" / NAME).glob("*.py")):
        files[f"{NAME}/{source.name}"] = (source.read_bytes(), 0o644)
    texts = {
        "METADATA": metadata(),
        "WHEEL": "Wheel-Version: 1.0\nGenerator: make-wheel.py\nRoot-Is-Purelib: false\n" + "".join(f"Tag: {tag}\n" for tag in tags),
        "entry_points.txt": "[console_scripts]\n" + "".join(f"{name} = {NAME}.__main__:main\n" for name in ("berth", "berth-trainer")),
        "top_level.txt": f"{NAME}\n",
        "licenses/LICENSE": (ROOT / "LICENSE").read_text(),
    }
    for name, text in texts.items():
        files[f"{info}/{name}"] = (text.encode(), 0o644)
    record = []
    for name, (content, _) in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(content)}\n")
    files[f"{info}/RECORD"] = ("".join(record + [f"{info}/RECORD,,\n"]).encode(), 0o644)

    name = f"{NAME}-{version()}-{tags[0]}.{tags[1].rpartition('-')[2]}.whl"
    when = time.gmtime(max(epoch, 315532800))[:6]  # zip knows no time before 1980
    # RECORD comes last, as the specification of wheels recommends.
    order = sorted(files, key=lambda path: (path.endswith("/RECORD"), path.startswith(info), path))
    with zipfile.ZipFile(dist / (name + ".partial"), "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for path in order:
            content, mode = files[path]
            entry = zipfile.ZipInfo(path, when)
            entry.create_system = 3  # Unix
            entry.external_attr = (stat.S_IFREG | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    os.replace(dist / (name + ".partial"), dist / name)
    return dist / name


def write_sdist(dist, epoch):
    """A source distribution whose build backend refuses every build with one sentence."""
    base = f"{NAME}-{version()}"
    texts = {
        "PKG-INFO": metadata(),
        "README.md": (ROOT / "python" / "README.md").read_text(),
        "LICENSE": (ROOT / "LICENSE").read_text(),
        "pyproject.toml": (ROOT / "python" / "sdist" / "pyproject.toml").read_text().replace("VERSION", version()),
        "refusal.py": (ROOT / "python" / "sdist" / "refusal.py").read_text(),
    }
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, text in sorted(texts.items()):
            entry = tarfile.TarInfo(f"{base}/{name}")
            entry.size, entry.mtime, entry.mode = len(text.encode()), epoch, 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))
    path = dist / f"{base}.tar.gz"
    path.write_bytes(gzip.compress(content.getvalue(), 9, mtime=epoch))
    return path


def main():
    if len(sys.argv) != 3:
        fail("usage: python3 scripts/make-wheel.py FOLDER DIST")
    folder, dist = Path(sys.argv[1]), Path(sys.argv[2])
    if not (folder / "bin" / "berth").is_file():
        fail(f"{folder} has no bin/berth; scripts/package.sh makes such a folder")
    dist.mkdir(parents=True, exist_ok=True)
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or 0)
    for path in (write_wheel(folder, dist, epoch), write_sdist(dist, epoch)):
        print(f"{path.stat().st_size / 1e6:6.1f} MB  {path}")


if __name__ == "__main__":
    main()
