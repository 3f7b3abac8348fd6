#!/usr/bin/env bash
# Installs the missing packages, builds berth and runs every test. The last line is the summary: "steps: N passed, ...".
#
#   bash scripts/test.sh [--no-tsan] [--no-container]
set -uo pipefail
cd "$(dirname "$0")/.."

tsan=yes container=yes
for option; do
  case $option in
    --no-tsan) tsan=no ;;
    --no-container) container=no ;;
    *) echo "test: unknown option '$option'" >&2; exit 2 ;;
  esac
done

passed=0 failed=0 skipped=0 summary=()
step() {  # step NAME COMMAND...
  local name=$1 start=$SECONDS
  shift
  printf '\n=== %s\n' "$name"
  if "$@"; then
    passed=$((passed + 1)) summary+=("ok      $((SECONDS - start)) s  $name")
  else
    failed=$((failed + 1)) summary+=("FAILED  $((SECONDS - start)) s  $name")
  fi
}
skip() {  # skip NAME WHY
  printf '\n=== SKIPPED: %s: %s\n' "$1" "$2"
  skipped=$((skipped + 1)) summary+=("SKIPPED 0 s  $1: $2")
}

# Another version lays out some lines differently.
is_deciding_format() {
  [[ $(clang-format --version 2>&1) == *' version 14.'* ]]
}

check_format() {
  local code=0
  ! is_deciding_format || git ls-files -z '*.h' '*.cpp' | xargs -0 clang-format --dry-run --Werror || code=1
  python3 scripts/check-pipes.py || code=1
  return $code
}

build() {  # build PRESET TARGET
  cmake --preset "$1" -DBUILD_TESTING=ON >/dev/null && cmake --build --preset "$1" --target "$2"
}

# failed_tests LOG: the tests that failed in a log of ctest, and below each one the lines that say why, or else its last lines.
failed_tests() {
  awk '
    function tell() {
      if (name != "") print "        " name (why != "" ? why : last[2] last[1] last[0])
      name = why = last[0] = last[1] = last[2] = ""
    }
    / Test +#[0-9]+: / || /^ +Start +[0-9]+: / || /^[0-9]+% tests passed/ { tell() }
    / Test +#[0-9]+: .*\*\*\*/ && !/\*\*\*Skipped/ { name = $0; gsub(/ \.\.+/, " ", name); next }
    name != "" && NF {
      said = "\n          " substr($0, 1, 300)
      if (/FAILED|Failure|[Ee]rror|ERROR|Expected|Which is|Actual/ && length(why) < 2000) why = why said
      last[2] = last[1]; last[1] = last[0]; last[0] = said
    }' "$1"
}

build_and_test() {  # build_and_test PRESET TARGET [ctest flags]
  local preset=$1 target=$2 log=build/$1/ctest.log skips
  shift 2
  build "$preset" "$target" || { summary+=("        the build of $preset failed"); return 1; }
  # One more than there are cores, because jobs in gs:// wait for leases and retries.
  ctest --preset "$preset" --parallel $(($(nproc) + 1)) --no-tests=error "$@" 2>&1 | tee "$log"
  local code=${PIPESTATUS[0]}
  skips=$(grep -c '\*\*\*Skipped' "$log")
  [ "$skips" -eq 0 ] || summary+=("SKIPPED $skips test cases of $preset, listed above")
  [ "$code" -eq 0 ] || summary+=("        these tests of $preset failed:" "$(failed_tests "$log" | sed -n 1,60p)")
  return "$code"
}

check_binary() {
  bash scripts/check-binary.sh build/release/berth || return 1
  strip -o build/release/berth.stripped build/release/berth &&
    echo "release binary, stripped: $(stat --format %s build/release/berth.stripped) bytes"
}

# Runs the sample job twice. The first run finishes it, and the second says that it is finished.
train_twice() {
  local job=build/train-local
  rm -rf $job
  bash scripts/train-local.sh --job-dir $job || return 1
  bash scripts/train-local.sh --job-dir $job 2>&1 | tee $job.log
  [ "${PIPESTATUS[0]}" -eq 0 ] && grep -q 'already finished' $job.log
}

# The archive and the wheel, and the archive in bare roots of other systems.
package() { bash scripts/package.sh && bash scripts/test-package.sh empty musl bullseye; }

! command -v ccache >/dev/null || export CMAKE_CXX_COMPILER_LAUNCHER=ccache
step "dependencies" bash scripts/install-dependencies.sh --build --test
step "XLA plugins" bash scripts/install-xla-plugin.sh
step "format" check_format
is_deciding_format || skip "the layout of C++" "clang-format 14 decides it, and here is $(clang-format --version 2>&1)"
step "dev: AddressSanitizer, UndefinedBehaviorSanitizer" build_and_test dev all --label-exclude plugins
step "release: what depends on optimization, and XLA plugins" build_and_test release optimized_tests --label-regex optimized
step "benches build" build release benches
step "the binary's protections and size" check_binary
step "scripts/train-local.sh" train_twice
# The newest Debian is left to scripts/test-package.sh without arguments; Debian 11 has the oldest C library that a plugin may need.
step "package" package
if [ $tsan = yes ]; then
  # A pool of one thread has no data races. Most seeds of random faults, statistics over ten million tokens, and bf16 as a CPU without
  # AVX2 emulates it would find no more races. The dev step above has run all of these.
  step "tsan: the threaded tests" build_and_test tsan threaded_tests --label-regex threaded \
    --exclude-regex '_1_threads( |$)|RandomFaults\..*/[2-5]|^Masking\.Chooses|Bf16(Attention|Linear).*/baseline_'
else
  skip "tsan" "--no-tsan"
fi
if [ $container = yes ]; then
  step "container" bash scripts/test-container.sh
else
  skip "container" "--no-container"
fi
step "lines" bash scripts/count-lines.sh

printf '\n=== summary\n'
printf '%s\n' "${summary[@]}"
echo "steps: $passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
