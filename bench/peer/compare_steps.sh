#!/usr/bin/env bash
# Measures training steps of berth and of PyTorch with transformers' BERT, in alternating turns.
#
#   bash bench/peer/compare_steps.sh PYTHON PRECISION [THREADS [ROUNDS]] < SHAPES
#
# PYTHON must have torch and transformers. PRECISION is fp32 or bf16 (torch.autocast). Each line of SHAPES holds MODEL, BATCH and LENGTH of
# step_bench and the length to which PyTorch pads: "base 32 news 128". A length of 0 means the longest text of the batch. Options of
# step_torch.py may follow: "base 32 drawn 0 --group-by-length --compile". Prints one row for each line: the medians of the examples per
# second, their ratio, berth's share of the machine's peak rate, and the ratio of the memory peaks.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$1 precision=$2 threads=${3:-$(nproc)} rounds=${4:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

while read -r model batch length pad options; do
  read -r -a options <<<"$options"
  : >"$work/ours"
  : >"$work/theirs"
  for _ in $(seq "$rounds"); do
    build/release/bench/step_bench "$threads" "$precision" "$model" "$batch" "$length" </dev/null | tail -n 1 >>"$work/ours"
    "$python" bench/peer/step_torch.py "$threads" "$precision" "$model" "$batch" "$length" --pad-to "$pad" "${options[@]}" </dev/null 2>/dev/null |
      tail -n 1 >>"$work/theirs"
  done
  "$python" - "$work" "$model $batch x $length, padded to $pad ${options[*]}" <<'PYTHON'
import re, statistics, sys
folder, shape = sys.argv[1:]
ours, theirs = (open(f"{folder}/{name}").read().splitlines() for name in ("ours", "theirs"))
unit = {"MiB": 1 / 1024, "GiB": 1}
def median(lines, pattern, value=lambda match: float(match[1])):
    return statistics.median(value(re.search(pattern, line)) for line in lines)
rate = r"([0-9.]+) examples/s"
memory = r"([0-9.]+) (MiB|GiB)"
in_gib = lambda match: float(match[1]) * unit[match[2]]
a, b = median(ours, rate), median(theirs, rate)
m, n = median(ours, memory, in_gib), median(theirs, memory, in_gib)
share = median(ours, r"([0-9.]+) % of")
print(f"| {shape} | {a:.2f} | {share:.0f} % | {b:.2f} | {a / b:.2f} | {m:.2f} | {n:.2f} | {m / n:.2f} |", flush=True)
PYTHON
done
