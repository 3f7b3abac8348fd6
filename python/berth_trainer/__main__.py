"""Runs the program: `python -m berth_trainer`, and the commands `berth` and `berth-trainer`."""

import os
import signal
import sys

from berth_trainer import program


def main() -> int:
    """Becomes the program, so that signals and the exit code are its own. Returns only if it cannot be started."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and the program would inherit that
    try:
        os.execv(program(), [program(), *sys.argv[1:]])
    except OSError as error:
        print(f"berth: the program cannot be started: {error}; install berth-trainer again", file=sys.stderr)
    return 126


if __name__ == "__main__":
    sys.exit(main())
