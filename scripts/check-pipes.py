#!/usr/bin/env python3
"""Refuses pipes into a command that may leave before it has read everything.

    python3 scripts/check-pipes.py [FILE...]

Such a reader closes the pipe. If the writer still writes, SIGPIPE kills it, and under `set -o pipefail` the whole pipe fails, although
the reader found what it looked for. The result depends on which of the two is faster, so the script fails by chance.

Without FILE, the check reads every shell script, Python program, YAML file and Dockerfile of the repository, except for files that git
ignores. It sees pipes that go on in the next line, and skips lines of comments. It does not parse the shell's language, so it may refuse
a harmless text in quotes: write that text in another way. It does not see a reader whose name is in a variable or that is inside a
function. It accepts readers that leave early only in order to fail (cmp, sort -C), because the pipe has to fail then.

The exit status is 1 if a pipe is refused, and 0 otherwise.
"""

import pathlib
import re
import subprocess
import sys

RULE = """check-pipes: SIGPIPE kills a writer whose reader leaves early, and under pipefail the pipe fails by chance. Write instead:
  for grep with -q, -m, -l, -L or >/dev/null:  a search in a file or a variable; `PRODUCER | says PATTERN` in tests/jobs;
                                               [ "$(PRODUCER | grep -c PATTERN)" -gt 0 ]
  for head -n N, sed with q:                   PRODUCER | sed -n 1,Np
  for head -c N, cmp -n N, read:               PRODUCER >FILE, then head -c N FILE, cmp -n N FILE OTHER, read <FILE
  for awk with exit outside END:               awk '... { bad = 1 } END { exit bad }'
  for a while loop with break:                 done < <(PRODUCER)
  for a test of a reader that leaves early:    PRODUCER > >(head -n 1)"""

QUOTED = r"'[^']*'|\"(?:[^\"\\]|\\.)*\""
WORD = rf"(?:{QUOTED}|\\.|\$\([^()]*\)|&>+|>+&|[^\s'\"\\|;&()`])+"
# What may stand between the pipe and the command: braces, keywords, variables, commands that run others, and a path.
PREFIX = (r"(?:[({!]\s*|(?:if|time|command|builtin|exec|sudo|nice|nohup|busybox)\s+|[A-Za-z_]\w*=\S*\s+|"
          r"(?:env|stdbuf|timeout)\s+(?:[-\d]\S*\s+|\w+=\S*\s+)*)*\\?(?:[\w./~-]*/)?")
READERS = r"\w*grep", "rg", "head", "[gs]?sed", "[gmn]?awk", "cmp", "read", "while", "until"
PIPE = re.compile(r"(?<![|>])\|&?(?!\|)")
READER = re.compile(rf"\s*{PREFIX}(?P<name>{'|'.join(READERS)})(?![\w/.=-])(?P<arguments>(?:[ \t\f]*{WORD})*)")


def has_exit(loop):
    """Whether a loop, of which the first word is missing, can be left before its `done`."""
    depth = 0
    for word in re.findall(r"\b(?:do|done|break|exit|return)\b", loop):
        depth += {"do": 1, "done": -1}.get(word, 0)
        if depth == 0:
            return False
        if word not in ("do", "done"):
            return True
    return False


def leaves_early(name, arguments, rest):
    """Whether the command with these arguments may leave its input early. `rest` is the text behind its name."""
    words = re.findall(WORD, arguments)
    options = [word for word in words[:words.index("--") if "--" in words else None] if word.startswith("-")]
    bare = re.sub(QUOTED, "''", arguments)
    if name in ("head", "read"):
        return True
    if name in ("while", "until"):
        return re.match(r"[^;\n]*\b(?:head|grep\s+-\w*[qm])\b", rest) is not None or has_exit(rest)
    if name == "cmp":
        return any(re.match(r"-\w*n|--by", option) for option in options)
    if name.endswith("sed"):
        return bool(re.search(r"(?:^|[\s;{}/!$\d'\"])[IM]?[qQ]\s*\d*(?=$|[;}\s'\"])", arguments))
    if name.endswith("awk"):
        return bool(re.search(r"\bexit\b", re.split(r"\bEND\s*\{", arguments)[0]))
    return (any(re.match(r"-\w*[qmlL]|--(?:q|sil|max|files-w)", option) for option in options) or
            re.search(r"(?:^|[\s1&])>+\s*/dev/null", bare) is not None)


def early_readers(text, is_yaml):
    """The number of the line and the text of each pipe in `text` whose reader may leave early."""
    text = re.sub(r"(?m)^[ \t]*#.*$", "", text).replace("\\\n", " \f")
    if is_yaml:  # the | that begins a block of text
        text = re.sub(r"(?m)(^\s*-|:)([ \t]+)\|(?=[-+\d]*[ \t]*$)", r"\1\2 ", text)
    for pipe in PIPE.finditer(text):
        reader = READER.match(text, pipe.end())
        if reader and leaves_early(reader["name"], reader["arguments"], text[reader.end("name"):]):
            before = text[:pipe.start()]
            command = " ".join(reader[0].split())
            yield 1 + before.count("\n") + before.count("\f"), f"{pipe[0]} {command}"


def is_script(path):
    if path.suffix in (".sh", ".bash", ".py", ".yml", ".yaml") or path.name.startswith("Dockerfile"):
        return True
    with path.open("rb") as file:
        return re.match(rb"#!.*sh\b", file.read(64)) is not None


def scripts_of_repository():
    root = pathlib.Path(__file__).resolve().parent.parent
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, check=True,
                           stdout=subprocess.PIPE).stdout.decode().split("\0")
    return [path for path in (root / name for name in names if name) if path.is_file() and is_script(path)]


def main():
    refused = 0
    for path in [pathlib.Path(name) for name in sys.argv[1:]] or scripts_of_repository():
        for line, pipe in early_readers(path.read_text(errors="replace"), path.suffix in (".yml", ".yaml")):
            print(f"{path}:{line}: {pipe}", file=sys.stderr)
            refused += 1
    if refused:
        print(RULE, file=sys.stderr)
    return int(refused > 0)


if __name__ == "__main__":
    sys.exit(main())
