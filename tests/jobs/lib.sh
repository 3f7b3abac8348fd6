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
# Tests ask no hub, and see no cache but their own.
export HF_HUB_OFFLINE=1 HF_HOME=$scratch/huggingface
failures=0

fail() {
  printf 'FAILED: %s\n' "$*"
  failures=$((failures + 1))
}

finish() {
  [ "$failures" = 0 ] && echo "all as expected" || echo "$failures failures"
  exit $((failures != 0))
}

# says GREP-ARGUMENTS...: whether grep finds this in standard input. If not, prints what it looked for and what was there. It reads all of
# its input first: `grep -q` leaves at the first match, then SIGPIPE kills a producer that still writes, and the pipe fails.
says() {
  local input found
  input=$(mktemp -p "$scratch" .says.XXXXXX)
  cat >"$input"
  grep -qa "$@" "$input"
  found=$?
  [ $found = 0 ] || printf 'looked for: %s\nin: %s\n' "$*" "$(tail -c 2000 "$input" | LC_ALL=C tr -c '\t\n -~\200-\377' '?')"
  rm "$input"
  return $found
}

# curve FOLDER: the points of the loss in the event files there, each once.
curve() {
  find "$1" -name '*tfevents*' -exec "$berth" --mode inspect --json {} + 2>/dev/null |
    grep -o '"loss":\[\[[^"]*' | grep -oE '\[[0-9]+,[^]]*\]' | sort -u
}

# check_report PAGE UPDATES: that the report is well-formed XML and knows each update of the job once.
check_report() {
  python3 - "$@" <<'PYTHON' || fail "the report $1"
import json, sys, xml.dom.minidom
page = xml.dom.minidom.parse(sys.argv[1])
scripts = page.getElementsByTagName("script")
assert [s.getAttribute("type") for s in scripts] == ["application/json"], "has a script"
buckets = json.loads(scripts[0].firstChild.data)["curve"]["buckets"]
assert [bucket[0] for bucket in buckets] == list(range(1, int(sys.argv[2]) + 1)), [bucket[0] for bucket in buckets]
PYTHON
}

# hold JOB FROM TO FLAGS...: starts a job in JOB and holds it by SIGSTOP between the moment in which JOB/FROM is there and that in which
# JOB/TO is. Sets `pid`; the log is held.txt. A job that was too fast is begun anew.
hold() {
  local job=$1 from=$2 to=$3
  shift 3
  for _ in $(seq 50); do
    rm -rf "$job"
    "$berth" "$@" --job-dir "$job" >/dev/null 2>held.txt &
    pid=$!
    until [ -e "$job/$from" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
    kill -STOP $pid 2>/dev/null
    [ ! -e "$job/$from" ] || [ -e "$job/$to" ] || return 0
    kill -KILL $pid 2>/dev/null
    wait $pid 2>/dev/null
  done
  fail "no job could be held between $from and $to: $(tail -n 1 held.txt)"
}

# survives_kills JOB FLAGS...: runs a job of JOB four times, kills it sooner or later, and then lets it finish.
survives_kills() {
  local job=$1 delay pid
  shift
  for delay in 0.1 0.3 0.6 1.0; do
    "$berth" "$@" --job-dir "$job" >/dev/null 2>err.txt &
    pid=$!
    sleep $delay
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
  done
  expect 0 finished "$@" --job-dir "$job"
}

# expect CODE 'part of the sentence' ARGUMENTS...: runs berth and checks its exit code and the JSON object in its last line.
expect() {
  local code=$1 says=$2
  shift 2
  timeout 240 "$berth" "$@" >out.txt 2>err.txt
  local got=$?
  [ "$got" = "$code" ] || fail "exit $got instead of $code: berth $* ($(tail -n 1 err.txt))"
  tail -n 1 err.txt | says "^{\"code\":$code," || fail "no final report: berth $*"
  tail -n 1 err.txt | tr -d '\\' | says -F -- "$says" || fail "does not say '$says': berth $*"
}
