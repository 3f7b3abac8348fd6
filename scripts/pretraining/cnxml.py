"""Reads the books of OpenStax: a collection file that lists modules, each a document of CNXML."""

import os
import re
import xml.etree.ElementTree as ElementTree

CNXML = "{http://cnx.rice.edu/cnxml}"
MATHML = "{http://www.w3.org/1998/Math/MathML}"

CROSS_REFERENCE = "\x01"
IN_PARENTHESES = re.compile(r"\s*[(\[][^()\[\]]*\x01[^()\[\]]*[)\]]")
SKIPPED_CNXML = {"metadata", "figure", "table", "media", "code", "equation", "solution",
                 "footnote", "iframe", "subfigure"}
SKIPPED_CLASSES = ("references", "bibliography", "suggest", "further-research", "key-equations",
                   "works-cited", "works-consulted", "additional-reading", "section-quiz")
CNXML_BLOCKS = {"para", "item", "definition"}


def cnxml_text(element):
    """The text of one element; formulas become a mark that the prose rules reject."""
    parts = [element.text or ""]
    for child in element:
        name = child.tag.rpartition("}")[2]
        if child.tag.startswith(MATHML):
            formula = "".join("".join(child.itertext()).split())
            parts.append(formula if len(formula) <= 8 and formula.isalnum() else "=")
        elif name == "link" and not "".join(child.itertext()).strip():
            parts.append(CROSS_REFERENCE)
        elif name == "term" and element.tag == CNXML + "definition":
            parts.append(cnxml_text(child) + ": ")
        elif name == "list" and child.get("display") != "inline":
            pass  # its items are blocks of their own
        elif name not in SKIPPED_CNXML:
            parts.append(cnxml_text(child))
            if name in CNXML_BLOCKS or name in ("title", "meaning"):
                parts.append(" ")
        parts.append(child.tail or "")
    return "".join(parts)


def cnxml_blocks(element):
    for child in element:
        name = child.tag.rpartition("}")[2]
        kind = child.get("class") or ""
        if name in SKIPPED_CNXML or any(word in kind for word in SKIPPED_CLASSES):
            continue
        if name in CNXML_BLOCKS:
            text = IN_PARENTHESES.sub("", cnxml_text(child))
            text = text.replace(CROSS_REFERENCE, "the figure")
            yield re.sub(r"(^\s*|[.!?] )the figure", r"\1The figure", text)
        yield from cnxml_blocks(child)


ATTRIBUTION = re.compile(r"https?://creativecommons\.org/licenses/by/[34]\.0/?")
ABOUT_THE_BOOK = re.compile(r"OpenStax|Rice University|open educational|[Tt]extbook|Creative Commons")


def read_cnxml(path):
    """Every module of a collection. Some editions are NonCommercial; those are refused."""
    collection = ElementTree.parse(path).getroot()
    licences = [e.get("url") for e in collection.iter() if e.tag.endswith("}license")]
    if not licences or not all(ATTRIBUTION.fullmatch(url or "") for url in licences):
        raise SystemExit(f"{path}: its licence is {licences}, not CC BY")
    modules = os.path.join(os.path.dirname(os.path.dirname(path)), "modules")
    for module in (e.get("document") for e in collection.iter() if e.tag.endswith("}module")):
        root = ElementTree.parse(os.path.join(modules, module, "index.cnxml")).getroot()
        for block in cnxml_blocks(root):
            if not ABOUT_THE_BOOK.search(block):
                yield block
