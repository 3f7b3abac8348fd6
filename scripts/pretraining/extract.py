"""Turns one downloaded source into clean lines: one paragraph of English prose a line.

Usage: extract.py FORMAT FILE... > OUT

The files are read in the order given. A paragraph becomes lines of 50 to 1,000
characters. Lines that are not prose (tables, references, code, formulas) and lines that
came before in the same source are dropped. The output depends on the input alone, so its
SHA-256 checks both the download and this script.
"""

import hashlib
import sys

import clean
import formats


def main(format_name, paths):
    """Writes the lines of every file of one source to standard output."""
    read = formats.READERS[format_name]
    seen = set()
    out = sys.stdout.buffer
    for path in paths:
        for paragraph in read(path):
            for line in clean.lines(paragraph):
                digest = hashlib.sha1(clean.normalised(line).encode()).digest()[:8]
                if digest not in seen:
                    seen.add(digest)
                    out.write(line.encode() + b"\n")


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in formats.READERS:
        sys.exit(__doc__ + "\nFormats: " + ", ".join(sorted(formats.READERS)))
    main(sys.argv[1], sys.argv[2:])
