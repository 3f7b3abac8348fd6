#!/usr/bin/env bash
# Makes the picture of a report for README.md: trains the bundled model on the bundled sample, and opens the report in Chromium
# ($CHROMIUM, or /usr/bin/chromium: apt-get install chromium).
#
#   bash scripts/make-report-picture.sh [BERTH]
#
# Writes docs/images/report.png. BERTH is a release build; without it, one is built.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD chromium=${CHROMIUM:-/usr/bin/chromium}
[ -x "$chromium" ] || { echo "make-report-picture: there is no $chromium; install Chromium or set CHROMIUM" >&2; exit 1; }
if [ $# -eq 0 ]; then
  cmake --preset release >/dev/null
  cmake --build --preset release --target berth
fi
berth=$(realpath "${1:-build/release/berth}")

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
# The program finds the bundled model beside itself, so the report names no place of this machine.
mkdir -p program/bin program/share/berth
cp "$berth" program/bin/berth
cp -r "$root/examples/model" program/share/berth/model
cp "$root/examples/data/df.pickle" .
program/bin/berth --train-data-file df.pickle --job-dir topics --epochs 5 --batch-size 16 --eval-steps 56 --log-format text

# Chromium's own sandbox does not start as root.
flags=(--headless=new --disable-gpu --hide-scrollbars "--user-data-dir=$scratch/browser")
[ "$(id -u)" != 0 ] || flags+=(--no-sandbox)
"$chromium" "${flags[@]}" --window-size=1100,740 --screenshot="$scratch/report.png" "file://$scratch/topics/report.html" 2>browser.txt ||
  { cat browser.txt >&2; exit 1; }
size=$(stat --format=%s report.png)
[ "$size" -le 150000 ] || { echo "make-report-picture: the picture has $size bytes, more than README.md should load" >&2; exit 1; }
mkdir -p "$root/docs/images"
cp report.png "$root/docs/images/report.png"
echo "docs/images/report.png: $size bytes"
