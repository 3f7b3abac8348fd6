#!/usr/bin/env bash
# Tests the scripts that gather the text on which the bundled encoder is distilled, and that the bundled texts share no sentence.
# Needs python3 and no network.
set -uo pipefail
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export PYTHONDONTWRITEBYTECODE=1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failures=0

fail() {
  printf 'FAILED: %s\n' "$*"
  failures=$((failures + 1))
}

overlap() {
  python3 "$repository/scripts/check-pretraining-overlap.py" "$@" >out.txt 2>&1
}

# The bundled texts: no two rows of the sample share a sentence, and the corpus of the examples has none of the sample's.
overlap --within "$repository/examples/topics" || fail "two rows of examples/topics share a sentence: $(cat out.txt)"
[ "$(tail -n 1 out.txt | cut -d' ' -f1)" -ge 2000 ] || fail "fewer sentences than rows: $(tail -n 1 out.txt)"
overlap --test "$repository/examples/topics" "$repository/examples/corpus" ||
  fail "examples/corpus shares a sentence with examples/topics: $(cat out.txt)"

# Spelling, spaces and punctuation do not hide a sentence; short sentences and other sentences do not count.
mkdir corpus corpus/inner
printf '%s\n' 'label,text' '1,"It does n'\''t work at all . Yes , it is so ."' '0,A whole row that has no full stop at its end' >test.csv
cat >corpus/a.txt <<'END'
Everyone said so. "It doesn't work at all." They left.
Yes, it is so. Nothing else here is known to the test.
It doesn't work at all, said the engineer of the railway.
END
echo 'A WHOLE row that has no full stop, at its end.' >corpus/inner/b.txt
cp -r corpus before
overlap --test test.csv:text corpus && fail "shared sentences are not reported by the exit status"
grep -q '^2 lines found in corpus' out.txt || fail "does not find two lines: $(cat out.txt)"
diff -r before corpus >diff.txt || fail "changes files without --remove"
overlap --remove --test test.csv:text corpus || fail "--remove: $(cat out.txt)"
sed 1d before/a.txt | cmp -s - corpus/a.txt || fail "--remove leaves other lines: $(cat corpus/a.txt)"
[ -e corpus/inner/b.txt ] && [ ! -s corpus/inner/b.txt ] || fail "--remove does not enter folders"
overlap --test test.csv:text corpus || fail "finds lines after --remove: $(cat out.txt)"
overlap --test test.csv:words corpus && fail "accepts a column that is absent"
grep -q "Name one of them" out.txt || fail "does not name the columns: $(cat out.txt)"
printf '%s\n' 'The tide came in at noon. We ran.' 'The boats were late. The tide came in, at noon!' >twice.txt
overlap --within twice.txt && fail "--within misses a sentence that two rows share"

extract() {
  python3 "$repository/scripts/pretraining/extract.py" "$@" 2>err.txt
}

# Markup goes, prose stays, and what is no prose or came before is dropped.
cat >page.md <<'END'
---
title: The front matter goes
---
# Headings go too, even if they are as long as a sentence of the text is.

The **harbour** opened in [1904](https://example.org/harbour) &amp; has
served the town&rsquo;s ferries since then, says the _guide_.

```
for boat in harbour: this is code and it is not in the text of the page.
```

The harbour opened in 1904 & has served the town's ferries since then, says the guide!

- Too short a line.
END
extract markdown page.md >got.txt
printf '%s\n' "The harbour opened in 1904 & has served the town's ferries since then, says the guide." >want.txt
cmp -s want.txt got.txt || fail "markdown: $(cat got.txt err.txt)"

# A collection of OpenStax gives its modules; an edition that is not CC BY is refused.
mkdir -p collections modules/m1
book() {
  printf '<col:collection xmlns:col="c" xmlns:md="m"><md:license url="http://creativecommons.org/licenses/%s/4.0/"/>' "$1"
  printf '<col:module document="m1"/></col:collection>'
}
cat >modules/m1/index.cnxml <<'END'
<document xmlns="http://cnx.rice.edu/cnxml" xmlns:m="http://www.w3.org/1998/Math/MathML"><metadata><para>The summary of a module
is not a part of its running text, so it is left out.</para></metadata><content>
<para>A firm buys <term>labour</term> for as long as it is worth more than it costs (see <link target-id="x"/>), as we have seen.</para>
<para>The cost of the labour is <m:math><m:mi>w</m:mi><m:mo>+</m:mo><m:mi>r</m:mi></m:math> and this line has a formula in it.</para>
<section class="references"><para>Smith, A. The nature and causes of the wealth of nations, in two volumes.</para></section>
</content></document>
END
book by >collections/b.xml
extract cnxml collections/b.xml >got.txt
echo 'A firm buys labour for as long as it is worth more than it costs, as we have seen.' >want.txt
cmp -s want.txt got.txt || fail "cnxml: $(cat got.txt err.txt)"
book by-nc-sa >collections/b.xml
extract cnxml collections/b.xml >got.txt && fail "accepts a NonCommercial edition"
grep -q 'not CC BY' err.txt || fail "does not say which licence it found: $(cat err.txt)"

# A file that is there and has the checksum is not made again, so a complete folder needs no network; --list is what is documented.
bash "$repository/scripts/fetch-pretraining-text.sh" --list >list.txt || fail "--list"
grep '^|' "$repository/examples/model/SOURCES.md" | cmp -s - <(grep '^|' list.txt) ||
  fail "examples/model/SOURCES.md differs from scripts/fetch-pretraining-text.sh --list"
grep -v '^#' "$repository/scripts/pretraining/sources.tsv" | awk -F '\t' '
  NF != 9 || $9 !~ /^[0-9a-f]+$/ || length($9) != 64 || $8 !~ /^[0-9]+$/ || $5 !~ /^[0-9a-f]+$/ || seen[$1]++ { print $1; bad = 1 }
  length($5) != ($4 ~ /^github:/ ? 40 : 64) { print $1 ": " $5; bad = 1 }
  $3 ~ /-(SA|NC|ND)/ { print $1 ": " $3; bad = 1 }
  END { exit bad }' >bad.txt || fail "scripts/pretraining/sources.tsv: $(cat bad.txt)"

[ "$failures" = 0 ] && echo "all as expected" || echo "$failures failures"
exit $((failures != 0))
