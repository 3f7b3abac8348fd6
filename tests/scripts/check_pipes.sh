#!/usr/bin/env bash
# Tests scripts/check-pipes.py: it refuses each form of a reader that leaves a pipe early, and accepts readers that read everything. Tests
# `says` of tests/jobs/lib.sh, too. Needs python3 and no binary. A bar stands in a variable here, because the check reads this file.
. "$(dirname "$0")/../jobs/lib.sh" /bin/true
bar='|'

# says finds a line as grep does, also in binary data, and prints what it looked for and what was there if there is no such line.
printf 'one\ntwo\n' | says '^two$' >out.txt || fail "says does not find a line"
[ ! -s out.txt ] || fail "says prints when it finds a line: $(cat out.txt)"
printf '\0\377{three}\0\n' | says -F '{three}' || fail "says does not find a text between zeros"
printf 'one\n--two\n' | says -xF -- --two || fail "says does not find a whole line"
printf 'one\ntwo\n' | says -F 'wo$' >out.txt && fail "says finds what is not there"
[ "$(cat out.txt)" = $'looked for: -F wo$\nin: one\ntwo' ] || fail "says prints: $(cat out.txt)"
says one </dev/null >out.txt && fail "says finds a line in nothing"
# It reads everything: 600 kB do not fit into a pipe, so a producer of them ends well only if its reader stays.
{ seq 100000 && touch written; } | says '^1$' && [ -e written ] || fail "says leaves at the first match"
[ -z "$(ls -A | grep '[.]says')" ] || fail "says leaves a file behind: $(ls -A)"

check() { python3 "$repository/scripts/check-pipes.py" "$@" 2>err.txt; }

# script FOLDER LINES [NAME]: writes a script of these lines, in which % stands for a bar, to a new folder in FOLDER. Its line 2 is the
# first of LINES.
script() {
  count=$((count + 1))
  mkdir -p "$1/$count"
  printf 'set -o pipefail\n%s\n' "${2//%/$bar}" >"$1/$count/${3:-script.sh}"
}
count=0
refuses() { script refused "$@"; }
accepts() { script accepted "$@"; }

# grep, in every way to end it at the first match.
refuses 'seq 9 % grep -q 1 % cat'
refuses 'seq 9 %grep -q 1'
refuses 'seq 9 %& grep -q 1'
refuses 'seq 9 % grep -qxF -- "$text" %% echo no'
refuses 'seq 9 % grep -aqF 1'
refuses 'seq 9 % grep -E -q 1'
refuses 'seq 9 % grep "a b" -q'
refuses 'seq 9 % grep -e "a;b)" -q'
refuses 'seq 9 % grep --quiet 1'
refuses 'seq 9 % grep --silent 1'
refuses 'seq 9 % grep -m1 1'
refuses 'seq 9 % grep -om 1 1'
refuses 'seq 9 % grep --max-count=1 1'
refuses 'seq 9 % grep -l 1'
refuses 'seq 9 % grep 1 >/dev/null'
refuses 'seq 9 % grep 1 > /dev/null 2>&1'
refuses 'seq 9 % grep 1 &>/dev/null'
refuses 'seq 9 % egrep -q 1'
refuses 'seq 9 % zgrep -q 1'
refuses 'seq 9 % LC_ALL=C grep -q 1'
refuses 'seq 9 % /usr/bin/grep -q 1'
refuses 'seq 9 % \grep -q 1'
refuses 'seq 9 % command grep -q 1'
refuses 'seq 9 % env LC_ALL=C grep -q 1'
refuses 'seq 9 % timeout 5 grep -q 1'
refuses 'seq 9 % { grep -q 1; }'
refuses 'seq 9 % (grep -q 1)'
refuses 'seq 9 % if grep -q 1; then echo yes; fi'
refuses 'seq 9 % sort % grep -q 1'
refuses 'if seq 9 % grep -q 1; then echo yes; fi'
refuses 'fail "it is not $(seq 9 % grep -q 1)"'
refuses 'x=$(seq 9 % grep -m 1 1)'
refuses 'echo "a lone \" and $(seq 9 % head -n 1)"'
refuses "bash -c 'seq 9 % grep -q 1'"
# On the next line.
refuses $'seq 9 %\n  grep -q 1'
refuses $'seq 9 % \\\n  grep -q 1'
refuses $'seq 9 %\n  # why\n  grep -q 1'
refuses $'seq 9 % grep \\\n  -q 1'
# Other readers.
refuses 'seq 9 % head'
refuses 'seq 9 % head -n 1'
refuses 'seq 9 % head -1 >one.txt'
refuses 'seq 9 % head -c 5 >start.txt'
refuses 'x=$(seq 9 %head)'
refuses 'seq 9 % sed q'
refuses 'seq 9 % sed 5q'
refuses 'seq 9 % sed -n "/5/{p;q}"'
refuses "seq 9 % sed -n '/5/{p; q; }'"
refuses "seq 9 % sed '/5/q1'"
refuses "seq 9 % sed -e '\$!d' -e Q"
refuses "seq 9 % awk '{ print; exit }'"
refuses "seq 9 % awk 'NR == 1 { exit } END { print 1 }'"
refuses $'seq 9 % awk -v n=1 \'\n  NR == n { exit 1 }\n  { print }\''
refuses 'cat file % cmp -n 5 - other'
refuses 'cat file % cmp --bytes=5 - other'
refuses 'seq 9 % read -r first'
refuses 'seq 9 % { read -r first; }'
refuses 'seq 9 % while read -r i; do [ $i = 5 ] && break; done'
refuses $'seq 9 % while read -r i; do\n  [ $i = 5 ] && return\ndone'
refuses $'seq 9 % while read -r i; do\n  for j in 1 2; do echo $j; done\n  [ $i = 5 ] && exit 1\ndone'
refuses 'seq 9 % while grep -q 1; do :; done'
refuses 'seq 9 % while ! head -n 1 >one.txt; do :; done'
# Other kinds of files.
refuses 'subprocess.run("seq 9 % grep -q 1", shell=True)' program.py
refuses '    seq 9 % grep -q 1' workflow.yml
refuses $'RUN seq 9 % \\\n  grep -q 1' Dockerfile

accepts 'seq 9 % grep 1'
accepts 'seq 9 % grep -c 1 % cat'
accepts '[ "$(seq 9 % grep -cE 1)" -gt 0 ]'
accepts 'seq 9 % grep -oE "a -q b"'
accepts "seq 9 % grep -o '[a-z]*' % sort -u"
accepts 'seq 9 % grep -- -q'
accepts 'seq 9 % grep 1 2>/dev/null'
accepts 'seq 9 % grep 1 >found.txt; grep -q 1 found.txt'
accepts 'seq 9 % sort %% grep -q 1 file'
accepts 'true %% head -n 1 file'
accepts 'grep -q 1 <<<"$text"'
accepts 'head -n 1 file % cat'
accepts 'seq 9 >%head'
accepts 'seq 9 % says -F -- 1 %% fail'
accepts 'seq 9 % tail -n 1'
accepts 'seq 9 % sed -n 1,5p'
accepts "seq 9 % sed 's/q/x/; s/ *quick//'"
accepts "seq 9 % awk '{ n += \$1 } END { exit n != 45 }'"
accepts 'cat file % cmp -s - other'
accepts 'seq 9 % while read -r i; do echo $i; done; for i in 1; do break; done'
accepts $'seq 9 %\n  while IFS= read -r i; do\n  for j in 1 2; do echo $i $j; done\ndone\nexit'
accepts 'while read -r i; do break; done < <(seq 9)'
accepts 'seq 9 > >(head -n 1)'
accepts '# seq 9 % grep -q 1'
accepts $'- run: %\n    head -n 1 file\n- %-\n    grep -q 1 file' workflow.yml

check refused/*/* && fail "accepts all scripts"
for file in refused/*/*; do
  grep -q "^$file:2: [$bar]" err.txt || fail "accepts, or does not name line 2 of: $(cat "$file")"
done
[ "$(grep -c '^refused/' err.txt)" = "$(ls refused | wc -l)" ] || fail "names other lines: $(grep '^refused/' err.txt)"
grep -q 'Write instead' err.txt || fail "does not say how to write it: $(cat err.txt)"
check accepted/*/* || fail "refuses: $(cat err.txt)"

# Without arguments it reads the repository, also scripts without .sh at the end of their names and files that are not yet tracked.
mkdir -p copy/scripts copy/bin && cp "$repository/scripts/check-pipes.py" copy/scripts && git -C copy init -q
printf '#!/bin/bash\nseq 9 %s grep -q 1\n' "$bar" >copy/bin/tracked
cp copy/bin/tracked copy/untracked.sh
cp copy/bin/tracked copy/bin/text.txt && sed -i 1d copy/bin/text.txt
git -C copy add bin
python3 copy/scripts/check-pipes.py 2>err.txt && fail "accepts a repository with two such scripts"
[ "$(grep -c ":[12]: $bar grep" err.txt)" = 2 ] || fail "does not name two scripts: $(cat err.txt)"
[ ! -e "$repository/.git" ] || python3 "$repository/scripts/check-pipes.py" || fail "the scripts of this repository"
finish
