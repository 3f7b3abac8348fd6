#!/usr/bin/env bash
# Prints the number of files and lines in each folder, and how the lines changed since COMMIT. Without COMMIT it compares with the
# commit that is one day older than the newest. The last lines compare the program with its tests. Recorded files and the seeds of
# the fuzz targets count nowhere.
#
#   bash scripts/count-lines.sh [COMMIT]
set -euo pipefail
cd "$(dirname "$0")/.."

# Prints "path<TAB>lines" for every hand-written text file of a commit.
lines_of() {
  git grep -I --count '' "$1" -- '*.h' '*.cpp' '*.py' '*.sh' '*.txt' '*.cmake' '*.md' '*.yaml' \
    Dockerfile .ci ':!examples' ':!tests/testdata' ':!tests/fuzz/seeds' ':!third_party' | sed "s/^$1://; s/:\([0-9]*\)\$/\t\1/"
}

day_ago=$(git rev-list -1 --before="$(($(git log -1 --format=%ct) - 86400))" HEAD)
base=${1:-$day_ago}
{
  [ -z "$base" ] || lines_of "$base" | sed 's/^/before\t/'
  lines_of HEAD | sed 's/^/now\t/'
} | awk -F'\t' '
  function folder(path, parts, n) {
    n = split(path, parts, "/")
    if (n == 1) return "(top)"
    if (n > 2 && parts[1] ~ /^(storage|trainer|tests)$/) return parts[1] "/" parts[2]
    return parts[1]
  }
  function part(path) {
    if (path ~ /^(entrypoint|storage|trainer)\//) return "program"
    return path ~ /^tests\// ? "tests" : "other"
  }
  { name = folder($2); seen[name]; lines[$1, name] += $3; files[$1, name]++; parts[$1, part($2)] += $3 }
  END {
    printf "%-22s %6s %8s %8s\n", "folder", "files", "lines", "change"
    for (name in seen) {
      now = lines["now", name]; change = now - lines["before", name]
      printf "%-22s %6d %8d %+8d\n", name, files["now", name], now, change | "sort"
      total += now; total_change += change; total_files += files["now", name]
    }
    close("sort")
    printf "%-22s %6d %8d %+8d\n", "total", total_files, total, total_change
    for (i = split("program tests", names, " "); i > 0; --i) {
      now = parts["now", names[i]]
      summary = sprintf("%-22s %6s %8d %+8d\n", names[i], "", now, now - parts["before", names[i]]) summary
    }
    printf "%s%.2f lines of tests for each line of the program\n", summary, parts["now", "tests"] / parts["now", "program"]
  }'
