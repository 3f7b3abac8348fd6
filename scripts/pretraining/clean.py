"""Rules that decide which text is prose, and cut it into lines."""

import html
import re
import unicodedata

SHORTEST, LONGEST = 50, 1000  # characters of a line
FEWEST_WORDS = 8

# Typographic marks that English text writes in ASCII as well. A small vocabulary learns
# one spelling of "don't" instead of two.
ASCII_MARKS = {
    "\u2018": "'", "\u2019": "'", "\u201b": "'", "\u02bc": "'", "\u2032": "'",
    "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u2033": '"', "\u00ab": '"', "\u00bb": '"',
    "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2212": "-",
    "\u2014": " - ", "\u2015": " - ", "\u2026": "...", "\u00a0": " ", "\u2044": "/",
    "\u00ad": None, "\u200b": None, "\u200a": " ", "\u2009": " ", "\u2060": None, "\ufeff": None,
}
TRANSLATION = {ord(mark): plain for mark, plain in ASCII_MARKS.items()}

COMMON_WORDS = frozenset(
    "the of and to a in is that it for was on are as with his he be at by had not but from "
    "have they which or you were her all she there an their we him one would been has will "
    "who if no more so said what up its about into than them can only other time when i my".split())

# What prose does not hold: addresses, markup, formulas and code.
NOT_PROSE = re.compile(
    r"https?:|www\.|\S@\S+\.\S|[{}\\|<>=^~_]|\bISBN\b|\bdoi\b|\(\s*\)|\[\s*\]|[#*]{2}|\.{5}|-{4}"
    r"|originally (?:published|posted)")
SENTENCE_END = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"')]))\s+(?=[\"'(]?[A-Z0-9])")

CITATION = re.compile(r"\s*\([^()]*(?:et al|&|,)[^()]*\b(?:1[6-9]|20)\d\d[a-z]?\b[^()]*\)")


def normalised(text):
    """Lower case, letters and digits only, words joined by one space."""
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def plain(text):
    """Decodes entities, composes accents, and writes marks and white space in one way."""
    text = unicodedata.normalize("NFC", html.unescape(text)).translate(TRANSLATION)
    return " ".join(text.split())


def is_prose(line):
    """Whether a line reads as an English sentence or more."""
    words = line.split()
    if not SHORTEST <= len(line) <= LONGEST or len(words) < FEWEST_WORDS:
        return False
    if NOT_PROSE.search(line) or line.rstrip("\"')")[-1:] not in ".!?":
        return False
    letters = sum(c.isalpha() for c in line)
    ascii_letters = sum(c.isascii() and c.isalpha() for c in line)
    if letters < 0.72 * len(line) or ascii_letters < 0.97 * letters:
        return False
    if sum(c.isupper() for c in line) > 0.25 * letters or len(line) > 12 * len(words):
        return False
    common = sum(word.strip(".,;:!?\"'()").lower() in COMMON_WORDS for word in words)
    return common >= 0.15 * len(words)


def pieces(text):
    """Cuts a long paragraph between sentences into parts of at most LONGEST characters."""
    part = ""
    for sentence in SENTENCE_END.sub("\n", text).split("\n"):
        if part and len(part) + 1 + len(sentence) > LONGEST:
            yield part
            part = sentence
        else:
            part = part + " " + sentence if part else sentence
    if part:
        yield part


def lines(paragraph):
    """The lines of one paragraph that are prose."""
    text = CITATION.sub("", plain(paragraph))
    for part in pieces(text) if len(text) > LONGEST else (text,):
        if is_prose(part):
            yield part
