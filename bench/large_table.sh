#!/usr/bin/env bash
# Measures the peak memory of a job with a CSV of 50 MB and with one of TIMES (100) times as many rows.
#
#   bash bench/large_table.sh BERTH [DIRECTORY [TIMES]]
#
# DIRECTORY needs 11 GB of free space.
set -euo pipefail

berth=$(realpath "$1")
mkdir -p "${2:-.}" && cd "${2:-.}"
times=${3:-100}

# The words are random, because equal texts would have equal hashes.
[ -f small.csv ] || awk 'BEGIN {
  srand(1); print "text,label"
  for (size = 0; size < 50e6; size += length(line) + 1) {
    line = sprintf("%d", size)
    for (i = 0; i < 40; ++i) line = line " " substr("strangewordsthatmeannothingbutareread", 1 + int(rand() * 30), 2 + int(rand() * 6))
    print line "," int(rand() * 4)
  }
}' >small.csv
(head -n 1 small.csv && for _ in $(seq "$times"); do tail -n +2 small.csv; done) >large.csv

for file in small large; do
  rm -rf "job-$file"
  /usr/bin/time -f "%M %e" -o time.txt "$berth" --train-data-file $file.csv --job-dir "job-$file" --max-steps 30 --batch-size 32 \
    --validation-split 0.0001 --log-level error --log-format json 2>log.txt || { tail -n 1 log.txt; exit 1; }
  read -r kib seconds < <(tail -n 1 time.txt)
  printf '%-6s %12d bytes %8d MiB at most %8s s\n' $file "$(stat -c %s $file.csv)" $((kib / 1024)) "$seconds"
done
rm -f large.csv
