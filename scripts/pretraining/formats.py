"""The formats of the sources: each has a reader, which takes a path and yields the paragraphs of its running text."""

import csv
import json
import re

import cnxml
import corpora
from corpora import open_text


# --- Markdown --------------------------------------------------------------------------

FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.S)
FENCED = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.S | re.M)
TEMPLATE = re.compile(r"\{%.*?%\}|\{\{.*?\}\}", re.S)
TAG = re.compile(r"<[^<>]*>")


def markdown_plain(text):
    text = re.sub(r"!\[[^\]]*\](\([^)]*\)|\[[^\]]*\])", " ", text)
    text = re.sub(r"\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"\[\^[^\]]*\]:?", "", TAG.sub("", text))
    text = re.sub(r"(\*\*\*|\*\*|\*|___|__|`)(\S(?:.*?\S)?)\1", r"\2", text, flags=re.S)
    return re.sub(r"(?<!\w)_(\S(?:.*?\S)?)_(?!\w)", r"\1", text, flags=re.S)


def read_markdown(path):
    text = FRONT_MATTER.sub("", open_text(path).replace("\r\n", "\n"))
    text = TEMPLATE.sub("", FENCED.sub("", text))
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+[.)])\s)", text):
        if block.startswith(("#", "    ", "|", "\t", "[")):
            continue
        yield markdown_plain(re.sub(r"^\s*(?:[-*+>]|\d+[.)])\s+", "", block))


# --- plain text, CSV, JSON -------------------------------------------------------------

def read_paragraphs(path):
    """Plain text whose paragraphs are set apart by blank lines."""
    yield from re.split(r"\n\s*\n", open_text(path).replace("\r\n", "\n"))


def csv_reader(column):
    def read(path):
        csv.field_size_limit(1 << 30)
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            for row in csv.DictReader(file):
                yield from re.split(r"\n\s*\n|\n(?=[A-Z\"'])", row[column] or "")
    return read


def read_factbook(path):
    """Every text field of a country's page. Fields hold paragraphs marked by tags."""
    def walk(value):
        if isinstance(value, dict):
            for part in value.values():
                yield from walk(part)
        elif isinstance(value, str):
            for block in re.split(r"<br\s*/?>|</?p>|\n", value):
                yield re.sub(r"^[^:.]{0,60}:\s+", "", TAG.sub("", block))

    yield from walk(json.loads(open_text(path)))


READERS = {
    "cnxml": cnxml.read_cnxml,
    "factbook": read_factbook,
    "markdown": read_markdown,
    "movie-reviews": corpora.read_movie_reviews,
    "paragraphs": read_paragraphs,
    "product-reviews": corpora.read_product_reviews,
    # The other half of the subjectivity data, quote.tok, is mostly SST-2's text.
    "plot-archive": corpora.sentence_archive("plot.tok"),
    "comparison-archive": corpora.sentence_archive("labeledSentences"),
    "speeches-archive": corpora.read_speeches,
    "tagged-archive": corpora.read_tagged,
    "csv-text": csv_reader("text"),
    "wordnet": corpora.read_wordnet,
}
