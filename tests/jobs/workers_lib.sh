# Scripts that start several workers on this machine source this file after lib.sh. They set `flags`, which all workers have.

# begin RANK SIZE FLAG...: starts one worker, a process, and adds it to `pids`. It writes to outRANK.txt, and its log to workerRANK.txt;
# those of an earlier worker are gone when this returns.
begin() {
  local rank=$1 size=$2
  shift 2
  rm -f "out$rank.txt" "worker$rank.txt"
  "$berth" "${flags[@]}" --world-size "$size" --rank "$rank" "$@" >"out$rank.txt" 2>"worker$rank.txt" &
  pids+=($!)
}

# start SIZE FLAG...: starts the workers. Sets `pids`.
start() {
  local size=$1 rank
  shift
  pids=()
  for ((rank = 0; rank < size; ++rank)); do begin $rank "$size" "$@"; done
}

# start_leader SIZE FLAG...: starts worker 0 alone, which waits for the others. Sets `pids`.
start_leader() {
  pids=()
  begin 0 "$@"
}

# ended: waits for all workers. Sets `codes` to their exit codes, in the order of their ranks.
ended() {
  local pid
  codes=
  for pid in "${pids[@]}"; do
    wait "$pid"
    codes+=${codes:+ }$?
  done
}

# end_with CODES NAME: waits for all workers, whose exit codes must be these.
end_with() {
  ended
  [ "$codes" = "$1" ] || fail "$2: $codes: $(tail -qn 1 worker*.txt)"
}

# zeros SIZE: the exit codes of so many workers that all end well.
zeros() { printf '0 %.0s' $(seq "$1") | sed 's/ $//'; }

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])'; }

# losses JOB: the logged losses of each step.
losses() { curve "$1/summaries" | tr -d '[]' | tr ',' ' ' | sort -n; }

# nearly_equal FILE FILE: whether two lists of numbers differ by at most 1e-5, relatively.
nearly_equal() {
  python3 - "$@" <<'PYTHON'
import sys
a, b = ([list(map(float, line.split())) for line in open(name)] for name in sys.argv[1:])
assert len(a) == len(b) > 0, (len(a), len(b))
for x, y in zip(a, b):
    assert x[0] == y[0] and abs(x[1] - y[1]) <= 1e-5 * max(1, abs(y[1])), (x, y)
PYTHON
}
