#!/usr/bin/env python3
"""Refuses words and long sentences that make a reader start again.

    python3 scripts/check-words.py [FILE...]

The texts of this project are Simplified Technical English: one idea a sentence, the active voice, a noun instead of "what is kept". This
check enforces two rules of it. A text contains none of the PHRASES below, and a sentence has at most 25 words. The limit is the same for
instructions and descriptions, because no simple rule tells them apart: aim at 20 words in an instruction.

Without FILE, the check reads every Markdown page, C++ source, script and YAML file, except for tests. In C++ it reads comments and the
string literals that are messages or help texts. In scripts and YAML it reads comments. In CHANGELOG.md it reads the newest section.
It skips code blocks and headings, and it counts no words in tables. A link counts as its text. A quotation, code, a formula in brackets,
a path or a flag is one word. A colon ends a sentence. A text in parentheses is a sentence of its own, and so is each item of a list.

The exit status is 1 if a text is refused, and 0 otherwise.
"""

import pathlib
import re
import subprocess
import sys

LONGEST = 25  # words in a sentence

# What makes a text hard to read, and what to write instead.
PHRASES = [
    (r"what computes", "the processor, the device, the backend"),
    (r"what is (?:asked|given|kept|left|lost)", "a noun: the rest, the stored values"),
    (r"(?:those|that) of", "repeat the noun"),
    (r"those (?:that|which|who)", "the rows that, the workers that"),
    (r"of whose|of which [^.,;]* alone", "two sentences"),
    (r"so many", "this number of, the maximum number of, N"),
    (r"as far as", "up to, while, if"),
    (r"otherwise than", "in another way than, unlike"),
    (r"told", "says, names, reports, passes"),
    (r"settle[sd]?|settling", "decides, checks, resolves"),
    (r"pick(?:s|ed|ing)?", "chooses, selects"),
    (r"the own", "its own"),
    (r"(?<!there )(?:is|are) none(?! of)", "what it is: malformed, unknown, absent"),
    (r"(?:is|are) had", "has"),
]
PHRASE = re.compile("|".join(rf"\b(?P<p{i}>{phrase})\b(?!\()" for i, (phrase, _) in enumerate(PHRASES)), re.IGNORECASE)

TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|(?<!\w)"(?:[^"\\\n]|\\.)*"|(?<!\w)'(?:[^'\\\n]|\\.)+'""", re.DOTALL)
# Between two literals of one message: nothing, or an expression that is added.
JOINED = re.compile(r"\s*(?:\+[^\";{}?]*\+\s*)?")
# Before a constant, which may be a list of words. An eighth of the words of a long sentence are among COMMON.
CONSTANT = re.compile(r"constexpr std::string_view k\w+ =\s*\Z")
COMMON = set("a an and are as at be by for from has have in into is it its not of on or than that the they to where which with".split())
ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|et al|etc|vs|cf|No|Fig|approx)|\.\.)\.$")


class Text:
    """A paragraph, with the number of the line that each of its characters comes from."""

    def __init__(self, counted=True, is_constant=False):
        self.parts, self.lines, self.counted, self.is_constant = [], [], counted, is_constant

    def add(self, part, line):
        self.parts.append(part)
        self.lines += [line] * len(part)
        return self


def markdown_texts(lines):
    """The paragraphs, items of lists and cells of tables of a Markdown page."""
    text, fenced, in_list, after_blank = Text(), False, False, True
    for number, line in lines:
        content = line.strip()
        if content.startswith("```"):
            fenced = not fenced
        item = re.match(r"(?:[-*]|\d+\.)\s+", content)
        code = fenced or content.startswith("```") or (line.startswith("    ") and after_blank and not in_list and not item)
        if code or item or not content or content[0] in "#|<[!":
            yield text
            text = Text()
        in_list = bool(item) or (in_list and (not content or line.startswith(" ")))
        after_blank = not content or (code and not fenced)
        if code or content.startswith(("#", "<!--", "![")):
            continue
        if content.startswith("|"):
            for cell in re.split(r"(?<!\\)\|", content):
                yield Text(counted=False).add(cell, number)
        else:
            text.add(content[item.end() if item else 0:] + " ", number)
    yield text


def comment_texts(lines):
    """The paragraphs of a comment. A line that is indented further is a drawing, a formula or an item."""
    text, was_indented = Text(), False
    for number, line in lines:
        indented = re.match(r" {2,}|\s*- |\s*$", line) is not None
        if indented or was_indented:
            yield text
            text = Text(counted=not line.startswith("   "))
        was_indented = indented
        text.add(line.strip() + " ", number)
    yield text


def cpp_texts(source):
    """The comments and the messages of a C++ source."""
    starts = [0] + [match.end() for match in re.finditer("\n", source)]
    comment, column, message, end, line, seen = [], 0, Text(), 0, 1, 0
    for token in TOKEN.finditer(source):
        line += source.count("\n", seen, token.start())
        seen = token.start()
        if token[0].startswith("//"):
            start = starts[line - 1]
            if not comment or comment[-1][0] != line - 1 or column != token.start() - start or source[start:token.start()].strip():
                yield from comment_texts(comment)
                comment, column = [], token.start() - start
            comment.append((line, token[0][2:].removeprefix(" ") if token[0] != "//" else ""))
        elif token[0].startswith('"') and not source.startswith("#include", starts[line - 1]):
            between = source[end:token.start()]
            if not JOINED.fullmatch(between):
                yield message
                message = Text(is_constant=bool(CONSTANT.search(source[end:token.start()])))
            elif between.strip():
                message.add("X", line)
            message.add(token[0][1:-1].replace(r"\"", '"').replace(r"\n", "  "), line)
            end = token.end()
    yield from comment_texts(comment)
    yield message


def texts_of(path):
    source = path.read_text(errors="replace")
    if path.suffix in (".h", ".cpp"):
        return cpp_texts(source)
    lines = list(enumerate(source.split("\n"), 1))
    if path.name == "CHANGELOG.md":
        sections = [number for number, line in lines if line.startswith("## ")]
        lines = lines[:sections[1] - 1] if len(sections) > 1 else lines
    if path.suffix == ".md":
        return markdown_texts(lines)
    remarks = []
    for number, line in lines:
        code, _, remark = line.partition("#")
        if code.strip():  # the rest of such a line is a comment in YAML only
            remarks += [(number, ""), (number, remark if path.suffix in (".yaml", ".yml") else "")]
        else:
            remarks.append((number, "" if remark.startswith("!") else remark.removeprefix(" ")))
    return comment_texts(remarks)


def sentences(text):
    """The first character and the text of each sentence."""
    begin = 0
    for stop in re.finditer(r"[.!?:]['\")\]*]*\s+", text):
        if not ABBREVIATION.search(text[begin:stop.start() + 1]):
            yield begin, text[begin:stop.end()]
            begin = stop.end()
    yield begin, text[begin:]


def words(sentence):
    """The number of words in a sentence."""
    return sum(1 for word in sentence.split() if re.search(r"\w", word))


def is_list_of_names(sentence, is_constant):
    """Whether a sentence is a list of keys, classes or words, such as "hidden_size BertTokenizer", and so nothing to read."""
    parts = sentence.split()
    names = sum(bool(re.search(r"\w_\w|[a-z][A-Z]", part)) for part in parts)
    return 3 * names > len(parts) or is_constant and 8 * sum(part in COMMON for part in parts) < len(parts)


def complaints(text):
    """The line and the fault of each phrase that is refused and of each sentence that is too long."""
    plain = "".join(text.parts)
    # One word of the same length stands in place of code and quotations. The addresses of links become blanks.
    for pattern, word in ((r"`[^`]*`(?:,? (?:and |or )?`[^`]*`)*", "code"), (r"\"[^\"]{1,100}\"", "quotation"), (r"\]\([^)\s]*\)", "")):
        plain = re.sub(pattern, lambda match, word=word: word.ljust(len(match[0])), plain)
    for match in PHRASE.finditer(plain):
        yield text.lines[match.start()], f"{match[0]!r}; write: {PHRASES[int(match.lastgroup[1:])][1]}"
    if not text.counted:
        return
    parts = []
    while match := re.search(r"\(([^()]*)\)", plain):  # a text in parentheses is a sentence of its own
        parts.append((match.start(1), match[1]))
        plain = plain[:match.start()] + " " * len(match[0]) + plain[match.end():]
    for start, part in [(0, plain)] + parts:
        for begin, sentence in sentences(part):
            if words(sentence) > LONGEST and not is_list_of_names(sentence, text.is_constant):
                first = start + begin + len(sentence) - len(sentence.lstrip())
                yield text.lines[first], f"{words(sentence)} words: {' '.join(sentence.split()[:6])} ..."


def pages_of_repository():
    root = pathlib.Path(__file__).resolve().parent.parent
    patterns = ["*.md", "*.h", "*.cpp", "*.sh", "*.py", "*.yaml", "*.yml", "*CMakeLists.txt", "*Dockerfile", ":(exclude)tests",
                ":(exclude)third_party", ":(exclude)ARCHITECTURE.md"]
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns], cwd=root, check=True,
                           stdout=subprocess.PIPE).stdout.decode().split("\0")
    return sorted(path for path in (root / name for name in names if name) if path.is_file())


def main():
    refused = 0
    for path in [pathlib.Path(name) for name in sys.argv[1:]] or pages_of_repository():
        for text in texts_of(path):
            for line, complaint in complaints(text):
                print(f"{path}:{line}: {complaint}", file=sys.stderr)
                refused += 1
    if refused:
        print(f"check-words: {refused} texts to rewrite, for a reader who has never seen this code; CONTRIBUTING.md, \"Style\"", file=sys.stderr)
    return int(refused > 0)


if __name__ == "__main__":
    sys.exit(main())
