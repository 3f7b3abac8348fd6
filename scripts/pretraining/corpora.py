"""Readers of linguistic corpora: archives of the Natural Language Toolkit, WordNet, and a treebank."""

import io
import re
import zipfile


def open_text(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def with_quotes_attached(tokens):
    """Attaches each free quotation mark to the word it opens or closes."""
    out, glue, inside = [], False, False
    for token in tokens:
        if token in ('"', "``", "''"):
            inside = not inside
            if inside:
                out.append('"')
            elif out:
                out[-1] += '"'
            glue = inside
        elif glue:
            out[-1] += token
            glue = False
        else:
            out.append(token)
    return " ".join(out)


def joined(tokens):
    """Writes space-separated tokens as a person would."""
    text = with_quotes_attached(tokens.split())
    text = re.sub(r"\s+([.,;:!?%)\]}]+)(?=\s|$|\")", r"\1", text)
    text = re.sub(r"([(\[{$])\s+", r"\1", text)
    text = re.sub(r"\s+(n't|'s|'re|'ve|'ll|'d|'m)\b", r"\1", text)
    return re.sub(r"\s+' ?(s|re|ve|ll|d|m|t)\b", r"'\1", text)


def zip_lines(path, suffix, encoding="latin-1"):
    """The members of an archive, by name, each as its list of lines."""
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(suffix):
                with io.TextIOWrapper(archive.open(name), encoding, errors="replace") as member:
                    yield name, member.read().splitlines()


def grouped(sentences, length=600):
    """Joins the sentences of one document into groups of about `length` characters."""
    group = ""
    for sentence in sentences:
        sentence = joined(sentence.strip())
        group = group + " " + sentence if group else sentence
        if len(group) >= length:
            yield group
            group = ""
    yield group


def read_movie_reviews(path):
    for _, sentences in zip_lines(path, ".txt"):
        yield from grouped(sentences)


def sentence_archive(prefix):
    """Archives with one tokenized sentence a line."""
    def read(path):
        for name, sentences in zip_lines(path, ""):
            if name.rpartition("/")[2].startswith(prefix):
                for sentence in sentences:
                    yield joined(sentence)
    return read


def read_speeches(path):
    """An archive of plain texts with one paragraph a line."""
    for _, paragraphs in zip_lines(path, ".txt"):
        yield from paragraphs


def read_product_reviews(path):
    """[t] starts a review; a line is `feature[+2]##sentence`."""
    for name, rows in zip_lines(path, ".txt"):
        if "README" in name:
            continue
        review = []
        for row in rows + ["[t]"]:
            if row.startswith("[t]"):
                yield from grouped(review)
                review = []
            elif "##" in row:
                review.append(row.split("##", 1)[1])


def read_tagged(path):
    """word_TAG pairs, a sentence a line."""
    for _, rows in zip_lines(path, ".txt", "utf-8"):
        sentences = (" ".join(pair.rpartition("_")[0] for pair in row.split()) for row in rows)
        yield from grouped([sentence for sentence in sentences if sentence])


TAXA = ("genus ", "family ", "order ", "class ", "phylum ", "subfamily ", "suborder ", "division ")
GLOSS = re.compile(r"^\d{8} \d\d [nvars] ([0-9a-f]{2}) (.*?) \d{3} .*\| (.*)$")


def read_wordnet(path):
    """A sentence for each synset: its words, its definition, and its examples."""
    for line in open_text(path).splitlines():
        match = GLOSS.match(line)
        if match:
            fields = match[2].split(" ")
            words = [word.replace("_", " ").partition("(")[0] for word in fields[0:2 * int(match[1], 16):2]]
            if words[0].startswith(TAXA):
                continue
            text = f"{', '.join(words)}: {match[3].strip()}"
            yield text + ("" if text.rstrip('"')[-1:] in ".!?" else ".")
