#!/usr/bin/env bash
# Builds the image and runs it with the README's command. Then it checks what a scheduler relies on: the exit codes, the reaction to
# SIGTERM and that the image has no shell. The script uses the Docker engine if there is one. Otherwise it uses buildah and podman
# with a base image that mmdebstrap makes from this machine's apt sources.
#
#   bash scripts/test-container.sh
set -euo pipefail
cd "$(dirname "$0")/.."

work=$PWD/build/container
mkdir -p "$work"
if docker info >/dev/null 2>&1; then
  engine=docker
else
  engine=podman
  bash scripts/install-dependencies.sh --container
fi
storage=(--root "$work/storage" --runroot "$work/run" --storage-driver "${BERTH_STORAGE_DRIVER:-overlay}")

clean_up() {
  if [ $engine = docker ]; then
    docker rm -f berth-test-stop >/dev/null 2>&1 || true
    docker image rm -f berth-test >/dev/null 2>&1 || true
  else
    podman "${storage[@]}" rm -f berth-test-stop >/dev/null 2>&1 || true
    umount "$work/storage/overlay" 2>/dev/null || true
    rm -rf "$work/storage" "$work/run" "$work/out"
  fi
}
trap clean_up EXIT

# Makes an image that stands for debian:bookworm-slim.
import_base() {
  if [ ! -s "$work/base.tar" ]; then
    bash scripts/bootstrap-debian.sh "$work/partial.tar" --variant=minbase
    mv "$work/partial.tar" "$work/base.tar"
  fi
  podman "${storage[@]}" import --quiet "$work/base.tar" docker.io/library/debian:bookworm-slim \
    >/dev/null
}

build_image() {
  local revision epoch
  local arguments
  revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
  epoch=$(git log -1 --format=%ct 2>/dev/null || echo 0)
  arguments=(--build-arg REVISION="$revision" --build-arg SOURCE_DATE_EPOCH="$epoch")
  if [ $engine = docker ]; then
    docker build --progress plain --target runtime "${arguments[@]}" -t berth-test . \
      >"$work/build.log" 2>&1 || { tail -n 60 "$work/build.log"; return 1; }
  else
    import_base
    buildah "${storage[@]}" bud --isolation chroot --pull-never --target runtime \
      --timestamp "$epoch" "${arguments[@]}" -t berth-test . >"$work/build.log" 2>&1 ||
      { tail -n 60 "$work/build.log"; return 1; }
  fi
}

# run [options of the engine --] FLAGS...: runs berth in a container.
run() {
  local options=()
  if [[ " $* " == *" -- "* ]]; then
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
  fi
  if [ $engine = docker ]; then
    docker run "${options[@]}" berth-test "$@"
  else
    podman "${storage[@]}" --runtime runc run --ulimit nofile=1024:1024 --ulimit nproc=4000:4000 \
      --network=host "${options[@]}" berth-test "$@"
  fi
}

failures=0
check() {  # check WHAT EXPECTED ACTUAL
  if [ "$2" = "$3" ]; then
    echo "  ok    $1"
  else
    echo "  FAIL  $1: expected $2, got $3"
    failures=$((failures + 1))
  fi
}

exit_code_of() {
  local code=0
  "$@" >"$work/last.log" 2>&1 || code=$?
  echo $code
}

job=(--train-data-file data/df.pickle --job-dir . --epochs 1 --batch-size 1)

echo "container: building with $engine"
build_image

echo "container: running"
check "docker run nlp ${job[*]}" 0 "$(exit_code_of run --rm -- "${job[@]}")"
tail -n 3 "$work/last.log"
check "a data file that is not there" 4 \
  "$(exit_code_of run --rm -- --train-data-file data/none.pickle --job-dir .)"
check "an unknown flag" 2 "$(exit_code_of run --rm -- --no-such-flag)"
check "another user, a read-only root and a mounted job directory" 0 "$(
  rm -rf "$work/out" && install -d -m 0777 "$work/out"
  exit_code_of run --rm --user 1234:1234 --read-only --tmpfs /tmp -v "$work/out:/out" -- \
    --train-data-file data/df.pickle --job-dir /out --max-steps 5
)"
check "the mounted job directory holds the model" yes \
  "$([ -s "$work/out/model/model.safetensors" ] && echo yes || echo no)"
check "no shell in the image" no \
  "$(run --rm --entrypoint /bin/sh -- -c true >/dev/null 2>&1 && echo yes || echo no)"

# A job that is stopped while it trains saves a checkpoint and exits with 143, never with 0.
check "a long job starts" 0 "$(exit_code_of run -d --name berth-test-stop -- \
  --train-data-file data/df.pickle --job-dir . --epochs 1000 --logging-steps 1)"
control=("$engine")
[ $engine = docker ] || control=(podman "${storage[@]}")
for _ in $(seq 100); do
  if "${control[@]}" logs berth-test-stop 2>&1 | grep -q '"step"'; then break; fi
  sleep 0.1
done
"${control[@]}" stop --time 30 berth-test-stop >/dev/null 2>&1
check "docker stop" 143 "$("${control[@]}" inspect --format '{{.State.ExitCode}}' berth-test-stop)"

share=/usr/local/share/berth
check "the bill of materials names what is linked" yes "$(
  "${control[@]}" cp "berth-test-stop:$share/sbom.spdx.json" "$work/sbom.json" >/dev/null 2>&1 &&
    grep -q '"name": "libcurl4"' "$work/sbom.json" && grep -q '"name": "libopenblas' "$work/sbom.json" && echo yes || echo no
)"
check "the licences of what is linked are there" yes "$(
  rm -rf "$work/licenses"
  "${control[@]}" cp "berth-test-stop:$share/licenses" "$work/licenses" >/dev/null 2>&1 &&
    [ -s "$work/licenses/libcurl4" ] && echo yes || echo no
)"

bytes=$("${control[@]}" image inspect --format '{{.Size}}' berth-test)
printf 'container: image %s bytes (%d MB), %s\n' "$bytes" $((bytes / 1000000)) \
  "$(grep -m 1 -o 'binary [0-9]* bytes' "$work/build.log")"
echo "container: digest $("${control[@]}" image inspect --format '{{.Id}}' berth-test)"
echo "container: $failures failed"
[ $failures -eq 0 ]
