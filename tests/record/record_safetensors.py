"""Writes tests/testdata/small.safetensors with the packages safetensors (0.8.0) and numpy."""

import pathlib

import numpy
import safetensors.numpy

TENSORS = {
    "weight": numpy.arange(6, dtype=numpy.float32).reshape(2, 3) / 4,
    "half": numpy.array([1, -2, 0.5], dtype=numpy.float16),
    "ids": numpy.array([[1], [-1]], dtype=numpy.int64),
    "mask": numpy.array([True, False, True]),
    "scalar": numpy.array(2.5, dtype=numpy.float64),
    "empty": numpy.zeros((0, 4), dtype=numpy.float32),
    'na"me\u00e9': numpy.array([7], dtype=numpy.uint8),
}

if __name__ == "__main__":
    path = pathlib.Path(__file__).parent.parent / "testdata" / "small.safetensors"
    safetensors.numpy.save_file(TENSORS, path, metadata={"format": "pt"})
