"""The build backend of the source distribution. It refuses every build: pip comes here only where no wheel fits.

The program is compiled C++ with its libraries, so there is nothing that pip could build on another system.
"""

import platform
import sys


def refuse(*_arguments, **_keywords):
    """Any hook of PEP 517."""
    system = {"Darwin": "macOS"}.get(platform.system(), platform.system())
    sys.exit(
        f"berth-trainer has wheels for 64-bit Linux on x86-64 and aarch64 alone (glibc 2.31 or newer, or musl), and this is {system} on "
        f"{platform.machine()}. Run it in Docker instead:\n\n"
        f'    docker run --rm -it --platform linux/amd64 -v "{"%cd%" if system == "Windows" else "$PWD"}:/work" -w /work python:3.12-slim'
        ' bash -c "pip install berth-trainer && bash"\n'
    )


get_requires_for_build_wheel = get_requires_for_build_editable = get_requires_for_build_sdist = refuse
prepare_metadata_for_build_wheel = prepare_metadata_for_build_editable = refuse
build_wheel = build_editable = build_sdist = refuse
