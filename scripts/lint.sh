#!/usr/bin/env bash
# Runs clang-format and clang-tidy, as .clang-format and .clang-tidy configure them, on the C++ files that differ from BASE. Before that,
# scripts/check-pipes.py reads all shell scripts, and scripts/check-words.py reads all texts.
#
#   bash scripts/lint.sh [BASE]
#
# BASE is a commit or a branch; without it the script takes the commit where this branch left main. Files that are not committed
# yet count too. clang-tidy reads the compile commands of the plain preset, which this script configures but does not build. A
# changed header is checked through the changed sources that include it. The script exits with 1 if a program complains.
# Nothing is installed: `bash scripts/install-dependencies.sh --build --test --lint` does that.
set -uo pipefail
cd "$(dirname "$0")/.."

failed=0
python3 scripts/check-pipes.py || failed=1
python3 scripts/check-words.py || failed=1

for program in clang-format clang-tidy; do
  command -v $program >/dev/null || { echo "lint: no $program; run scripts/install-dependencies.sh --test --lint" >&2; exit 2; }
done

if [ $# -gt 0 ]; then
  base=$1
else
  for main in origin/main main; do
    base=$(git merge-base HEAD $main 2>/dev/null) && break
  done
fi
git rev-parse --verify --quiet "${base:-}^{commit}" >/dev/null || { echo "lint: no commit '${base:-}'" >&2; exit 2; }

mapfile -t changed < <({ git diff --name-only --diff-filter=d "$base" -- '*.h' '*.cpp'
  git ls-files --others --exclude-standard -- '*.h' '*.cpp'; } | sort -u)
[ ${#changed[@]} -gt 0 ] || { echo "lint: no C++ file differs from $base"; exit $failed; }

if [[ $(clang-format --version) == *' version 14.'* ]]; then
  clang-format --dry-run --Werror "${changed[@]}" || failed=1
else
  echo "lint: the layout is not checked; clang-format 14 decides it, and here is $(clang-format --version)" >&2
fi

cmake --preset plain -DBUILD_TESTING=ON >/dev/null || exit 2
sources=()
for file in "${changed[@]}"; do
  # Only sources with a compile command: sources for another processor or for the fuzz preset have none.
  [[ $file == *.cpp ]] && grep -qF "/$file\"" build/plain/compile_commands.json && sources+=("$file")
done
echo "lint: ${#changed[@]} files differ from $base, ${#sources[@]} of them are compiled"
if [ ${#sources[@]} -gt 0 ]; then
  printf '%s\0' "${sources[@]}" |
    xargs -0 -n 1 -P "$(nproc)" clang-tidy -p build/plain --quiet --warnings-as-errors='*' 2>/dev/null || failed=1
fi
[ $failed = 0 ] && echo "lint: no complaints"
exit $failed
