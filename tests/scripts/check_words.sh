#!/usr/bin/env bash
# Tests scripts/check-words.py: it refuses each phrase of its list and each sentence that is too long, in every kind of file, and accepts
# texts that are not sentences. Needs python3 and no binary.
. "$(dirname "$0")/../jobs/lib.sh" /bin/true

check() { python3 "$repository/scripts/check-words.py" "$@" 2>err.txt; }

# text FOLDER TEXT [NAME]: writes a file with this text, which begins in line 2, to a new folder in FOLDER.
text() {
  count=$((count + 1))
  mkdir -p "$1/$count"
  printf '\n%s\n' "$2" >"$1/$count/${3:-page.md}"
}
count=0
refuses() { text refused "$@"; }
accepts() { text accepted "$@"; }
word=" word"
words() { printf "word%s" "$(for _ in $(seq 2 "$1"); do printf %s "$word"; done)"; }

# Phrases, whatever their case, also over the end of a line.
refuses 'What computes: a CPU.'
refuses 'The sums are those of all ranks.'
refuses $'The size is that\nof a page.'
refuses 'Documents of whose characters few are letters.'
refuses 'The model, of which worker 0 alone reads the parameters.'
refuses 'After so many updates.'
refuses 'As far as the plugin knows.'
refuses 'It is told once.'
refuses 'The call settles the labels.'
refuses 'The picked tokens.'
refuses 'This holds the own share.'
refuses 'A row that is none.'
refuses 'The rows that train, and those that do not: those which wait.'
refuses 'It packs what is kept.'
refuses 'It reads rows otherwise than before.'
# Long sentences.
refuses "$(words 26)."
refuses "A short one. $(words 26)"
refuses "Here: $(words 26)"
refuses "- $(words 26)"
refuses "It is (as was said, $(words 24)) short."
refuses "**Bold** [text](https://example.com) $(words 24)"
# Other kinds of files.
refuses "// $(words 26)" header.h
refuses 'int i;  // those of all ranks' header.h
refuses $'// The rows, and those\n// of others.' source.cpp
refuses 'log_warning("it is told");' source.cpp
refuses "fail(cat(\"$(words 20) \" + name + \" $(words 10)\"));" source.cpp
refuses $'fail("the labels are those "\n     "of the data");' source.cpp
refuses "constexpr std::string_view kHint =
    \"the words of a sentence, and $(words 20)\";" source.cpp
refuses '- a: 1  # those of all' job.yaml
refuses $'# The rows, and those\n# of others.' script.sh
refuses '| a | those of all |'

accepts "$(words 25). $(words 25)"
accepts "Here: $(words 25)"
accepts "$(words 20) (also $(words 20))"
accepts "$(words 24) \`$(words 9)\`"
accepts "$(words 24) \"$(words 9)\""
accepts "$(words 24) [word](https://example.com/page#those-of)"
accepts "$(words 20)"$'\n\n'"$(words 20)"
accepts "- $(words 20)"$'\n'"- $(words 20)"
accepts "# $(words 26)"
accepts "| $(words 26) | $(words 26) |"
accepts "    $(words 26)"
accepts $'```\n'"$(words 26)"$'\n```'
accepts '`those of` is refused.'
accepts 'There is none. Kept rows are those rows.'
accepts $'// layout:\n//   '"$(words 13)"$'\n//   '"$(words 13)" header.h
accepts $'int settled = 1;\nint b;  // '"$(words 13)"$'\nint c;  // '"$(words 13)" source.cpp
accepts $'// Call settle() last.\nconst char* told(int picked);' header.h
accepts $'#include "those of"\nconst auto json = R"(those of)";' source.cpp
accepts "f(\"$(words 13)\", \"$(words 13)\");" source.cpp
accepts "constexpr std::string_view kWords =
    \"$(words 26)\";" source.cpp
accepts $'echo "those of"  # those of\necho ${#told}' script.sh

check refused/*/* && fail "accepts all texts"
for file in refused/*/*; do
  grep -qE "^$file:[23]: ('|[0-9]+ words)" err.txt || fail "accepts, or does not name the line of: $(cat "$file")"
done
check accepted/*/* || fail "refuses: $(cat err.txt)"
# Only the newest section of the changes counts.
printf '## Unreleased\n\nNew.\n\n## 1.0\n\nThose of old.\n' >CHANGELOG.md
check CHANGELOG.md || fail "refuses an old section: $(cat err.txt)"
sed -i 's/New/Those of all/' CHANGELOG.md
check CHANGELOG.md && fail "accepts the newest section"

# Without arguments it reads the repository, also files that are not yet tracked, and no tests.
mkdir -p copy/scripts copy/docs copy/trainer/data copy/tests && cp "$repository/scripts/check-words.py" copy/scripts && git -C copy init -q
for file in docs/page.md trainer/data/file.h tests/file.md; do echo '// those of all' >copy/$file; done
git -C copy add docs
python3 copy/scripts/check-words.py 2>err.txt && fail "accepts a repository with two such files"
[ "$(grep -c ":1: 'those of'" err.txt)" = 2 ] || fail "does not name two files: $(cat err.txt)"
[ ! -e "$repository/.git" ] || python3 "$repository/scripts/check-words.py" || fail "the texts of this repository"
finish
