#!/usr/bin/env bash
# berth and google-cloud-storage's transfer manager against the same server on loopback, turn by turn; then berth over slow connections.
#
#   bash bench/peer/compare_storage.sh PYTHON [ROUNDS [MEBIBYTES [BUILD]]]
#
# PYTHON is one with google-cloud-storage. BUILD (build/release) holds storage_bench and fake_gcs_server. Prints each round's GB/s, in the
# middle of three transfers after one that does not count, the medians with their ratio, and the CPU time that each client took: on few
# cores the server's share, the same for both, hides half of the difference. The slow server answers 50 ms late and moves 50 MB/s on a
# connection.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$1 rounds=${2:-3} mebibytes=${3:-1024} build=${4:-build/release}
work=$(mktemp -d)
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT

start_server() {  # NAME FLAGS...: $work/NAME holds its URL
  "$build/tests/fake_gcs_server" --port-file "$work/port.$1" "${@:2}" &
  servers+=($!)
  until [ -s "$work/port.$1" ]; do sleep 0.05; done
  echo "http://127.0.0.1:$(cat "$work/port.$1")" >"$work/$1"
}
column() { sed -n "s|^$1 .* \([0-9.]*\) $2.*|\1|p"; }  # VERB UNIT

start_server fast
for round in $(seq "$rounds"); do
  "$build/bench/storage_bench" --endpoint "$(cat "$work/fast")" --mebibytes "$mebibytes" --rounds 3 >"$work/ours" 2>/dev/null
  STORAGE_EMULATOR_HOST=$(cat "$work/fast") "$python" bench/peer/transfer.py --mebibytes "$mebibytes" --rounds 3 >"$work/theirs"
  for verb in upload download; do
    rates="$(column $verb GB/s <"$work/ours") $(column $verb GB/s <"$work/theirs")"
    printf 'round %s  %-8s  berth and transfer manager %s GB/s\n' "$round" $verb "$rates"
    echo "$verb $rates $(column $verb 'CPU s' <"$work/ours") $(column $verb 'CPU s' <"$work/theirs")" >>"$work/rates"
  done
done
"$python" - "$work/rates" <<'PYTHON'
import statistics, sys
rows = [line.split() for line in open(sys.argv[1])]
for verb in "upload", "download":
    ours, theirs, our_cpu_s, their_cpu_s = (statistics.median(float(row[i]) for row in rows if row[0] == verb) for i in (1, 2, 3, 4))
    print(f"median   {verb:8}  berth {ours:.2f}  transfer manager {theirs:.2f} GB/s  ratio {ours / theirs:.1f}")
    print(f"         {'':8}  berth {our_cpu_s:.2f}  transfer manager {their_cpu_s:.2f} CPU s  ratio {their_cpu_s / our_cpu_s:.1f}")
PYTHON

start_server slow --latency-ms 50 --connection-mbps 50
"$build/bench/storage_bench" --endpoint "$(cat "$work/slow")" --mebibytes 384 --rounds 1 --against-one
