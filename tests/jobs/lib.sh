# The job tests source this file. It provides the program under test, a scratch directory, and checks that print what failed.
set -uo pipefail

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
sample=$repository/examples/data/df.pickle
scratch=$(mktemp -d)
trap 'umount "$scratch"/mount 2>/dev/null; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

# The program is installed with a tiny model in place of the bundled one, because most tests are about something else than what
# a model learns. Its texts are those of examples/corpus.
tiny=$repository/tests/testdata/tiny_model
mkdir -p install/bin install/share/berth
berth=$scratch/install/bin/berth
ln "$1" "$berth" 2>/dev/null || cp "$1" "$berth"
cp -r "$tiny" install/share/berth/model
failures=0

fail() {
  printf 'FAILED: %s\n' "$*"
  failures=$((failures + 1))
}

finish() {
  [ "$failures" = 0 ] && echo "all as expected" || echo "$failures failures"
  exit $((failures != 0))
}

# expect CODE 'part of the sentence' ARGUMENTS...: runs berth and checks its exit code and the JSON object in its last line.
expect() {
  local code=$1 says=$2
  shift 2
  timeout 60 "$berth" "$@" >out.txt 2>err.txt
  local got=$?
  [ "$got" = "$code" ] || fail "exit $got instead of $code: berth $* ($(tail -n 1 err.txt))"
  tail -n 1 err.txt | grep -q "^{\"code\":$code," || fail "no final report: berth $*"
  tail -n 1 err.txt | tr -d '\\' | grep -qF -- "$says" || fail "does not say '$says': berth $*: $(tail -n 1 err.txt)"
}
