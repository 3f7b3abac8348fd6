#!/usr/bin/env bash
# Measures transfers of berth and of google-cloud-storage's transfer manager with the same server on loopback, in alternating turns. Then it
# measures berth over slow connections.
#
#   bash bench/peer/compare_storage.sh PYTHON [ROUNDS [MEBIBYTES [BUILD]]]
#
# PYTHON must have google-cloud-storage. BUILD (build/release) holds storage_bench and fake_gcs_server. For each round the script prints
# GB/s, the median of three transfers after a warm-up transfer. Then it prints the medians with their ratio and the CPU time of each client.
# The CPU time matters because the server takes part of the cores, which hides half of the difference. The slow server answers after 50 ms
# and limits each connection to 50 MB/s.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$1 rounds=${2:-3} mebibytes=${3:-1024} build=${4:-build/release}
work=$(mktemp -d)
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT

# start_server NAME FLAGS...: starts a server and writes its URL to $work/NAME.
start_server() {
  "$build/tests/fake_gcs_server" --port-file "$work/port.$1" "${@:2}" &
  servers+=($!)
  until [ -s "$work/port.$1" ]; do sleep 0.05; done
  echo "http://127.0.0.1:$(cat "$work/port.$1")" >"$work/$1"
}
# column VERB UNIT: prints the figure before UNIT in the rows of VERB.
column() { sed -n "s|^$1 .* \([0-9.]*\) $2.*|\1|p"; }

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
