"""Runs the program: `python -m berth_trainer`, and the commands `berth` and `berth-trainer`."""

import os
import signal
import sys

from berth_trainer import program


def main() -> int:
    """Becomes the program, so that signals and the exit code are its own. Returns only if it cannot be started."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and the program would inherit that
    command = os.path.basename(sys.argv[0])
    if command != "berth-trainer":  # the last lines of a job show the command that the user can type next
        command = "berth"
    try:
        os.execv(program(), [command, *sys.argv[1:]])
    except OSError as error:
        print(f"berth: the program cannot be started: {error}; install berth-trainer again", file=sys.stderr)
    return 126


if __name__ == "__main__":
    sys.exit(main())
