"""What the tests in Python share: the program, installed with a tiny model in place of the bundled one, and small data."""

import os
import shutil
import sys
import tempfile

REPOSITORY = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))


class Installed:
    """A scratch folder with the program in it, removed at the end. `failures` counts what went wrong."""

    def __init__(self, binary):
        self.scratch = tempfile.mkdtemp()
        self.berth = self.path("install/bin/berth")
        os.makedirs(self.path("install/bin"))
        shutil.copytree(os.path.join(REPOSITORY, "tests/testdata/tiny_model"), self.path("install/share/berth/model"))
        try:
            os.link(binary, self.berth)
        except OSError:
            shutil.copy(binary, self.berth)
        self.failures = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.scratch)

    def path(self, name):
        return os.path.join(self.scratch, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def environment(self, variables=()):
        """The environment of a container: no variable of this machine but PATH, and those of ctest that sanitizers read."""
        kept = {name: value for name, value in os.environ.items() if name == "PATH" or name.endswith("SAN_OPTIONS")}
        return dict(kept, HF_HUB_OFFLINE="1", **dict(variables))

    def check(self, holds, *what):
        if not holds:
            print("FAILED:", *what)
            self.failures += 1
        return holds

    def finish(self):
        print("all as expected" if self.failures == 0 else "%d failures" % self.failures)
        sys.exit(self.failures != 0)


def rows(count):
    """So many rows of the sample's kind as CSV, which a tiny model learns something from."""
    words = {"sport": "ball goal team match", "science": "atom star cell gene"}
    lines = ["text,label"]
    for i in range(count):
        label = ("sport", "science")[i * 7 % 11 % 2]
        some = words[label].split()
        lines.append("%s,%s" % (" ".join(some[(i * k + k) % 4] for k in range(1, 4 + i % 5)), label))
    return "\n".join(lines) + "\n"
