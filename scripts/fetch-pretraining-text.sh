#!/usr/bin/env bash
# Downloads the text that the bundled encoder is distilled on, and writes one file a source, one paragraph a line, into FOLDER.
#
#   bash scripts/fetch-pretraining-text.sh FOLDER [CACHE]
#   bash scripts/fetch-pretraining-text.sh --list              prints the table of examples/model/SOURCES.md
#
# scripts/pretraining/sources.tsv names the sources: public repositories at fixed commits, and Debian packages with their SHA-256.
# scripts/pretraining/extract.py strips the markup. Each file that it writes must have the SHA-256 in the table. A file that is in
# FOLDER already and has it is not made again.
#
# Downloads are kept in CACHE (default: build/pretraining, some hundred MB) and reused. Needs git, curl, dpkg-deb and python3.
#
# These variables point at mirrors. In the first, OWNER and NAME stand for the two parts of a repository's name.
#   BERTH_GITHUB   default https://github.com/OWNER/NAME.git
#   BERTH_DEBIAN   default https://deb.debian.org/debian
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
table=$here/pretraining/sources.tsv
github=${BERTH_GITHUB:-https://github.com/OWNER/NAME.git}
debian=${BERTH_DEBIAN:-https://deb.debian.org/debian}
export LC_ALL=C

fail() {
  echo "fetch-pretraining-text: $*" >&2
  exit 1
}

if [ "${1:-}" = --list ]; then
  exec awk -F '\t' '
    BEGIN { print "| file | title | licence | source | bytes of text | SHA-256 of the text |"; print "| --- | --- | --- | --- | --- | --- |" }
    /^#/ || NF < 9 { next }
    $4 ~ /^github:/ {
      name = substr($4, 8)
      source = "[" name "](https://github.com/" name "/tree/" $5 ") at `" substr($5, 1, 12) "`"
    }
    $4 ~ /^debian:/ {
      n = split($4, path, "/")
      source = "Debian, [`" path[n] "`](https://deb.debian.org/debian/" substr($4, 8) "), SHA-256 `" $5 "`"
    }
    { print "| `" $1 ".txt` | " $2 " | " $3 " | " source " | " $8 " | `" $9 "` |"; total += $8; sources += 1 }
    END { printf "\n%d sources, %.1f MB of text.\n", sources, total / 1e6 }' "$table"
fi
[ $# -ge 1 ] || fail "give the folder to write to"
mkdir -p "$1" "${2:-build/pretraining}"
folder=$(cd "$1" && pwd)
cache=$(cd "${2:-build/pretraining}" && pwd)

# What is to be checked out of REPOSITORY at COMMIT: every row of the table that reads it.
patterns() {
  awk -F '\t' -v origin="github:$1" -v commit="$2" '
    !/^#/ && $4 == origin && $5 == commit {
      if ($6 == "cnxml") { print "/collections/"; print "/modules/"; next }
      n = split($7, path, " ")
      for (i = 1; i <= n; ++i) print "/" path[i]
    }' "$table" | sort -u
}

# Prints the folder that holds REPOSITORY at COMMIT. Only the wanted files are downloaded where the server can filter.
checkout() {
  local repository=$1 commit=$2 tree=$cache/${1/\//+}@${2:0:12} address=$github
  if [ ! -e "$tree/.complete" ] || ! patterns "$1" "$2" | cmp -s - "$tree/.git/info/sparse-checkout"; then
    address=${address//OWNER/${repository%/*}}
    address=${address//NAME/${repository#*/}}
    rm -rf "$tree"
    git init --quiet "$tree"
    git -C "$tree" remote add origin "$address"
    git -C "$tree" config core.sparseCheckout true
    patterns "$1" "$2" >"$tree/.git/info/sparse-checkout"
    git -C "$tree" fetch --quiet --depth 1 --filter=blob:none origin "$commit" || fail "cannot fetch $commit from $address"
    git -C "$tree" checkout --quiet --detach FETCH_HEAD || fail "cannot check out $repository"
    [ "$(git -C "$tree" rev-parse HEAD)" = "$commit" ] || fail "$address gave another commit than $commit"
    touch "$tree/.complete"
  fi
  echo "$tree"
}

# Prints the folder into which the package POOL_PATH with this SHA-256 is unpacked.
package() {
  local file=$cache/${1##*/} sha256=$2
  echo "$sha256  $file" | sha256sum --check --status 2>/dev/null ||
    curl --fail --silent --show-error --location --output "$file" "$debian/$1" || fail "cannot download $debian/$1"
  echo "$sha256  $file" | sha256sum --check --status || fail "$file has another SHA-256 than $sha256"
  rm -rf "${file%.deb}"
  dpkg-deb --extract "$file" "${file%.deb}"
  echo "${file%.deb}"
}

made=0
while IFS=$'\t' read -r name title licence origin revision format inputs bytes sha256 <&3; do
  [[ $name != \#* ]] || continue
  target=$folder/$name.txt
  if [ -s "$target" ] && echo "$sha256  $target" | sha256sum --check --status; then continue; fi
  case $origin in
    github:*) tree=$(checkout "${origin#github:}" "$revision") ;;
    debian:*) tree=$(package "${origin#debian:}" "$revision") ;;
    *) fail "$table: unknown origin '$origin'" ;;
  esac
  # Unquoted, so that the patterns of the table match files; a folder stands for all files in it.
  (cd "$tree" && find $inputs -type f | sort | tr '\n' '\0' |
    xargs -0 python3 "$here/pretraining/extract.py" "$format") >"$target.part" || fail "cannot read the text of $name"
  if [ "$sha256" = - ]; then
    sha256=$(sha256sum <"$target.part" | cut -d' ' -f1)
    echo "$name: $(wc -c <"$target.part") bytes, SHA-256 $sha256"
  fi
  echo "$sha256  $target.part" | sha256sum --check --status ||
    fail "$name: the text has $(wc -c <"$target.part") bytes and another SHA-256 than the table's $bytes bytes: $target.part"
  mv "$target.part" "$target"
  made=$((made + 1))
  echo "$name: $bytes bytes ($title, $licence)"
done 3<"$table"
echo "$folder: $made files made, $(find "$folder" -name '*.txt' | wc -l) in all"
