#!/usr/bin/env python3
"""Measures, code point by code point, what `tokenizers` does to text before WordPiece.

Writes trainer/text/tables/unicode.json, the input of scripts/generate-unicode-tables.py. The file lists only the values on which
`tokenizers` and utf8proc disagree. Needs `pip install tokenizers==0.23.*` and libutf8proc.
"""
import ctypes
import ctypes.util
import json
import pathlib
import unicodedata

import tokenizers
from tokenizers import normalizers, pre_tokenizers

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
OUTPUT = pathlib.Path(__file__).parents[2] / "trainer" / "text" / "tables" / "unicode.json"


def ranges(code_points):
    found = []
    for c in sorted(code_points):
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return [f"{a:04X}" if a == b else f"{a:04X}-{b:04X}" for a, b in found]


def hexes(text):
    return " ".join(f"{ord(c):04X}" for c in text)


def where(test):
    return [c for c in CODE_POINTS if test(chr(c))]


def bert(**on):
    off = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**off, **on}).normalize_str


class Utf8proc:
    def __init__(self):
        self.library = ctypes.CDLL(ctypes.util.find_library("utf8proc"))
        self.library.utf8proc_version.restype = ctypes.c_char_p
        self.library.utf8proc_get_property.restype = ctypes.POINTER(ctypes.c_uint16)
        self.version = self.library.utf8proc_version().decode()

    def decompose(self, char):
        out, last = (ctypes.c_int32 * 32)(), ctypes.c_int(0)
        n = self.library.utf8proc_decompose_char(ord(char), out, 32, 1 << 4, ctypes.byref(last))
        return "".join(chr(c) for c in out[:n])

    def lower(self, char):
        return chr(self.library.utf8proc_tolower(ord(char)))

    def combining_class(self, char):  # the second field of utf8proc_property_t
        return self.library.utf8proc_get_property(ord(char))[1]


def combining_classes(nfd):
    """Each code point's canonical combining class, measured by how NFD orders it beside known marks."""
    marks = {}
    for c in range(0x300, 0x3100):
        marks.setdefault(unicodedata.ucd_3_2_0.combining(chr(c)), chr(c))  # every Unicode version knows these old marks
    del marks[0]
    classes = sorted(marks)
    result = {}
    for c in CODE_POINTS:
        x = chr(c)
        if nfd(x) != x:
            continue  # its parts are measured on their own
        sequences = "a".join([x + marks[k] for k in classes] + [marks[k] + x for k in classes])
        if nfd(sequences) == sequences:
            continue
        after = [k for k in classes if nfd(x + marks[k]) != x + marks[k]]  # k sorts before x
        before = [k for k in classes if nfd(marks[k] + x) != marks[k] + x]  # x sorts before k
        same = [k for k in classes if k not in after and k not in before]
        if not after and not before:
            continue
        if len(same) != 1:  # no old mark has this class: 6, 26 or 214
            assert not same and max(after) < unicodedata.combining(x) < min(before), hex(c)
            same = [unicodedata.combining(x)]
        result[c] = same[0]
    return result


def main():
    clean, chinese, strip = bert(clean_text=True), bert(handle_chinese_chars=True), bert(strip_accents=True)
    nfd, lower = normalizers.NFD().normalize_str, bert(lowercase=True)
    split = lambda text: [piece for piece, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)]
    theirs = Utf8proc()
    decomposes = where(lambda x: nfd(x) != x)
    lowers = where(lambda x: lower(x) != x)
    classes = combining_classes(nfd)
    OUTPUT.write_text(
        json.dumps(
            {
                "source": f"tokenizers {tokenizers.__version__}, beside utf8proc {theirs.version}",
                "removed": ranges(where(lambda x: clean(f"a{x}b") == "ab")),
                "to_space": ranges(where(lambda x: clean(f"a{x}b") == "a b")),
                "cjk": ranges(where(lambda x: chinese(x) != x)),
                "nonspacing_mark": ranges(where(lambda x: nfd(x) == x and strip(f"a{x}b") == "ab")),
                "decomposes": ranges(decomposes),
                "reorders": ranges(classes),
                "lowers": ranges(lowers),
                "whitespace": ranges(where(lambda x: split(f"a{x}b") == ["a", "b"])),
                "punctuation": ranges(where(lambda x: split(f"a{x}b") == ["a", x, "b"])),
                "decompositions": {
                    hexes(chr(c)): hexes(nfd(chr(c))) for c in decomposes if nfd(chr(c)) != theirs.decompose(chr(c))
                },
                "combining_classes": {
                    hexes(chr(c)): k for c, k in classes.items() if k != theirs.combining_class(chr(c))
                },
                "lower_cases": {
                    hexes(chr(c)): hexes(lower(chr(c))) for c in lowers if lower(chr(c)) != theirs.lower(chr(c))
                },
            },
            indent=1,
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
