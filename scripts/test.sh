#!/usr/bin/env bash
# Installs the missing packages, builds berth as it ships, and runs the tests of its parts and of whole jobs.
#
#   bash scripts/test.sh                                      the quick tests: one build
#   bash scripts/test.sh --all [--no-tsan] [--no-container]   what CI runs: also sanitizers, PJRT plugins, packages and the image
#
# The last line is the summary: "steps: N passed, ...".
set -uo pipefail
cd "$(dirname "$0")/.."

all=no tsan=yes container=yes
for option; do
  case $option in
    --all) all=yes ;;
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
  python3 scripts/check-words.py || code=1
  return $code
}

settings=()
build() {  # build PRESET TARGET
  cmake --preset "$1" -DBUILD_TESTING=ON "${settings[@]}" >/dev/null && cmake --build --preset "$1" --target "$2"
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

# count_cases FOLDER: the cases that ran, and how many were skipped for each reason, from the results that GoogleTest left.
count_cases() {
  python3 - "$1" <<'PYTHON'
import collections, pathlib, sys
import xml.etree.ElementTree as xml
cases = {}
for file in pathlib.Path(sys.argv[1]).glob("*.xml"):
    for case in xml.parse(file).iter("testcase"):
        if case.get("status") == "run":
            cases[f'{case.get("classname")}.{case.get("name")}'] = case.find("skipped")
skipped = collections.defaultdict(list)
for name, mark in sorted(cases.items()):
    if mark is not None:
        skipped[mark.get("message").splitlines()[-1]].append(name)
print(f"        {len(cases)} cases of unit tests")
for why, names in skipped.items():
    print(f"SKIPPED {len(names)} of them, such as {names[0]}: {why}")
PYTHON
}

build_and_test() {  # build_and_test PRESET TARGET [ctest flags]
  local preset=$1 target=$2 log=build/$1/ctest.log skips start=$SECONDS built
  shift 2
  build "$preset" "$target" || { summary+=("        the build of $preset failed"); return 1; }
  built=$SECONDS
  rm -rf "build/$preset/cases"
  # Four more than there are cores, because jobs in gs:// and between workers wait for leases, retries and each other.
  ctest --preset "$preset" --parallel $(($(nproc) + 4)) --no-tests=error "$@" 2>&1 | tee "$log"
  local code=${PIPESTATUS[0]}
  summary+=("        $((built - start)) s to build, $((SECONDS - built)) s to test")
  skips=$(grep -c '\*\*\*Skipped' "$log")
  [ "$skips" -eq 0 ] || summary+=("SKIPPED $skips tests of $preset, listed above")
  [ ! -d "build/$preset/cases" ] || summary+=("$(count_cases "build/$preset/cases")")
  [ "$code" -eq 0 ] || summary+=("        these tests of $preset failed:" "$(failed_tests "$log" | sed -n 1,60p)")
  return "$code"
}

installed_plugins() {
  local code=0
  wait $installing_plugins || code=1
  cat build/xla-plugins.log
  return $code
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

# The archive and the wheel, and the archive in bare roots of other systems. The newest Debian is left to scripts/test-package.sh without
# arguments; Debian 11 has the oldest C library that a plugin may need.
package() { bash scripts/package.sh build/release/berth && bash scripts/test-package.sh empty musl bullseye; }

# Each of these two mostly uses one core.
package_beside_container() {
  package >build/package.log 2>&1 &
  local packaging=$! code=0
  bash scripts/test-container.sh || code=1
  wait $packaging || code=1
  cat build/package.log
  return $code
}

use_ccache() {
  ! command -v ccache >/dev/null || export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_SLOPPINESS=time_macros,pch_defines,locale
}

use_ccache
if [ $all = yes ]; then
  export BERTH_TEST_SEED=${BERTH_TEST_SEED:-$RANDOM}
  summary+=("        the random series were drawn from BERTH_TEST_SEED=$BERTH_TEST_SEED")
  groups=(--build --test --sanitizers --package)
  [ $container = no ] || groups+=(--container)
  step "dependencies" bash scripts/install-dependencies.sh "${groups[@]}"
  mkdir -p build
  bash scripts/install-xla-plugin.sh >build/xla-plugins.log 2>&1 &  # the network works beside the compiler
  installing_plugins=$!
else
  step "dependencies" bash scripts/install-dependencies.sh --build --test
fi
step "format" check_format
is_deciding_format || skip "the layout of C++" "clang-format 14 decides it, and here is $(clang-format --version 2>&1)"
if [ $all = no ]; then
  step "release" build_and_test release all_tests --label-exclude plugins
  skip "sanitizers, PJRT plugins, benches, packages, the image" "bash scripts/test.sh --all"
else
  settings=(-DBERTH_WERROR=ON)  # the preset release has warnings of GCC, which are no errors in a user's build
  # The release step runs these cases, too. DeBERTa has every way of the code. The ranks of the last one run in ten other cases.
  export GTEST_FILTER='-*ProductGradients.*/albert:*ProductGradients.*/bert:*ProductGradients.*/distilbert:*ProductGradients.*/electra'
  GTEST_FILTER+=':*ProductGradients.*/megatronbert:RanksOfWideLayers.*'
  step "dev: AddressSanitizer, UndefinedBehaviorSanitizer" build_and_test dev all --label-exclude 'plugins|unchecked'
  unset GTEST_FILTER
  step "XLA plugins" installed_plugins
  # The container's build finds the objects of this step in the cache. There, other folders, times of files and -Werror do not count.
  use_ccache
  export CCACHE_BASEDIR=$PWD CCACHE_COMPILERCHECK=content CCACHE_IGNOREOPTIONS=-Werror
  step "release: what depends on optimization, and XLA plugins" build_and_test release optimized_tests --label-regex optimized
  step "benches build" build release benches
  step "the binary's protections and size" check_binary
  step "scripts/train-local.sh" train_twice
  if [ $tsan = yes ]; then
    # A pool of one thread has no data races. Most seeds of random faults, bf16 and tiles that are emulated, and damaged files would find no
    # more races. The dev step above has run all of these.
    export GTEST_FILTER='-*_1_threads:*RandomFaults.*/1'
    GTEST_FILTER+=':*Bf16Attention*/baseline_*:*Bf16Linear*/baseline_*:*/EmulatedTiles:NoSecretsTest.*'
    step "tsan: the threaded tests" build_and_test tsan threaded_tests --label-regex threaded
    unset GTEST_FILTER
  else
    skip "tsan" "--no-tsan"
  fi
  if [ $container = yes ]; then
    step "container, package" package_beside_container
  else
    step "package" package
    skip "container" "--no-container"
  fi
fi
step "lines" bash scripts/count-lines.sh

printf '\n=== summary\n'
printf '%s\n' "${summary[@]}"
echo "steps: $passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
