#!/usr/bin/env bash
# Compiles the program and some tests with other compilers than CI does, warnings as errors, and runs these tests.
#
#   bash scripts/test-compilers.sh [[SUITE:]COMPILER[@CMAKE]]...
#
#   COMPILER   gcc-N or clang-N
#   SUITE      the release of Debian whose compiler and libraries are taken, such as trixie. It is installed into build/compilers,
#              which needs root. Without it, this system's packages are taken.
#   CMAKE      a version from PyPI, or `newest`. Without it, the system's CMake is taken.
#
# The default is every row of the list below. A compiler that cannot be had is named at the end, and the script exits with 1.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

all=(gcc-11@3.22.6 clang-14 clang-19@newest trixie:gcc-13 trixie:gcc-14 trixie:clang-19 sid:gcc-15 sid:gcc-16 sid:clang-22)
tests=(floors_test storage_base_test storage_http_test storage_formats_test text_test model_test cpu_kernels_test distributed_test
  weights_test data_test entrypoint_flags_test)
logs=build/compilers
mkdir -p "$logs"
export DEBIAN_FRONTEND=noninteractive

absent() {
  echo "NOT SEEN: $*" >&2
  return 77
}

# The CMake of a version, from PyPI.
cmake_of() {
  local folder=build/compilers/cmake-$1
  local package=cmake
  [ "$1" = newest ] || package=cmake==$1
  [ -x "$folder/bin/cmake" ] || { python3 -m venv "$folder" && "$folder/bin/pip" install --quiet "$package"; } >&2 || return 1
  echo "$folder/bin/cmake"
}

# here COMPILER CMAKE FOLDER: compiles and tests with the packages of this system.
here() {
  local compiler=$1 cmake=cmake folder=$3 c cxx package
  case $compiler in
    gcc-*) c=$compiler cxx=g++-${compiler#gcc-} package=$cxx ;;
    clang-*) c=$compiler cxx=clang++-${compiler#clang-} package=$compiler ;;
    *) echo "test-compilers: no compiler is called '$compiler'" >&2; return 2 ;;
  esac
  bash scripts/install-dependencies.sh --build --test || return 1
  if ! command -v "$cxx" >/dev/null; then
    apt-get -qq install --yes --no-install-recommends "$package" >&2 || { absent "$compiler: apt has no package $package"; return; }
  fi
  if [ -n "$2" ]; then
    cmake=$(cmake_of "$2") || { absent "CMake $2: PyPI does not give it"; return; }
  fi
  "$cxx" --version | sed -n 1p
  "$cmake" --version | sed -n 1p
  "$cmake" -G Ninja -S . -B "$folder" -DCMAKE_C_COMPILER="$c" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_CXX_FLAGS_DEBUG=-O1 -DBERTH_WERROR=ON -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=24 >/dev/null || return 1
  "$cmake" --build "$folder" --target berth "${tests[@]}" || return 1
  local test failed=0
  for test in "${tests[@]}"; do
    "$folder/tests/$test" --gtest_brief=1 || failed=1
  done
  return $failed
}

# inside SUITE COMPILER CMAKE FOLDER: the same in another release of Debian, where the repository is /src.
inside() {
  local root=$PWD/build/compilers/$1
  [ "$(id -u)" -eq 0 ] || { absent "$1:$2: it needs root"; return; }
  if [ ! -f "$root.installed" ]; then
    rm -rf --one-file-system "$root"
    if ! bash scripts/install-dependencies.sh --container ||
      ! SUITE=$1 bash scripts/bootstrap-debian.sh "$root" --variant=apt --include=ca-certificates; then
      absent "$1: it cannot be installed"
      return
    fi
    touch "$root.installed"
  fi
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child bash -c '
    root=$1; shift
    mkdir -p "$root/src" && mount --bind . "$root/src" && mount --rbind /dev "$root/dev" && mount -t proc proc "$root/proc" &&
      exec chroot "$root" bash -c "cd /src && exec bash scripts/test-compilers.sh --here \"\$@\"" - "$@"' \
    - "$root" "$2" "$3" "$4"
}

if [ "${1:-}" = --here ]; then
  shift
  [ -n "$(ls /var/lib/apt/lists/*Packages* 2>/dev/null)" ] || apt-get -qq update
  here "$@"
  exit
fi

rows=("$@")
[ ${#rows[@]} -gt 0 ] || rows=("${all[@]}")
passed=0 failed=0 skipped=0 summary=()
for row in "${rows[@]}"; do
  suite='' cmake='' compiler=${row%@*}
  [[ $row != *@* ]] || cmake=${row#*@}
  [[ $compiler != *:* ]] || { suite=${compiler%%:*} compiler=${compiler#*:}; }
  folder=build/compilers/build-${row//[:@]/-}
  printf '\n=== %s\n' "$row"
  start=$SECONDS
  if [ -n "$suite" ]; then inside "$suite" "$compiler" "$cmake" "$folder"; else here "$compiler" "$cmake" "$folder"; fi 2>&1 | tee "$folder.log"
  case ${PIPESTATUS[0]} in
    0) passed=$((passed + 1)) said=ok ;;
    77) skipped=$((skipped + 1)) said="NOT SEEN" ;;
    *) failed=$((failed + 1)) said=FAILED ;;
  esac
  summary+=("$said  $((SECONDS - start)) s  $row")
done
printf '\n=== summary\n'
printf '%s\n' "${summary[@]}"
echo "compilers: $passed passed, $failed failed, $skipped skipped"
[ $((failed + skipped)) -eq 0 ]
