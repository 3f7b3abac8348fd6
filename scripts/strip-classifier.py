#!/usr/bin/env python3
"""Copies a safetensors file without its classifier, so that the encoder can be fine-tuned for another task.

    strip-classifier.py FROM TO

scripts/make-default-model.sh calls this script. It needs `safetensors` and `numpy`.
"""

import os
import sys

from safetensors.numpy import load_file, save_file


def main():
    source, target = sys.argv[1:]
    tensors = load_file(source)
    encoder = {name: t for name, t in tensors.items() if not name.startswith("classifier.")}
    save_file(encoder, target, metadata={"format": "pt"})
    os.chmod(target, 0o644)
    print(f"{target}: {len(encoder)} of {len(tensors)} tensors, {os.path.getsize(target)} bytes")


if __name__ == "__main__":
    main()
