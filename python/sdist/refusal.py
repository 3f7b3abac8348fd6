"""The build backend of the source distribution. It refuses every build: pip comes here only where no wheel fits.

The program is compiled C++ with its libraries, so there is nothing that pip could build on another system.
"""

import platform
import sys


def refuse(*_arguments, **_keywords):
    """Any hook of PEP 517."""
    system = {"Darwin": "macOS"}.get(platform.system(), platform.system())
    here = "%cd%" if system == "Windows" else "$PWD"
    if system == "Linux" and platform.machine() in ("x86_64", "aarch64"):
        advice = "Let pip use the wheel: it must be version 20.3 or newer (python -m pip install --upgrade pip), and the system must have " \
            "glibc 2.31 or newer, or musl. Elsewhere berth-trainer runs in Docker:"
    else:
        advice = "Run it in Docker instead:"
    sys.exit(
        f"berth-trainer has wheels for 64-bit Linux on x86-64 and aarch64 alone, and this is {system} on {platform.machine()}. {advice}\n\n"
        f'    docker run --rm -it --platform linux/amd64 -v "{here}:/work" -w /work python:3.12-slim '
        'bash -c "pip install berth-trainer && bash"\n'
    )


get_requires_for_build_wheel = get_requires_for_build_editable = get_requires_for_build_sdist = refuse
prepare_metadata_for_build_wheel = prepare_metadata_for_build_editable = refuse
build_wheel = build_editable = build_sdist = refuse
