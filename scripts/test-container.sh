#!/usr/bin/env bash
# Builds the image and runs it with the README's command. Then it checks the behaviour on which a scheduler relies: the exit codes, and a
# container without rights and with limits. It also checks the reaction to SIGTERM while the job's files are in Google Cloud Storage, which
# a fake server replaces. The script uses the Docker engine if there is one. Otherwise it uses buildah and podman with a base image that
# mmdebstrap makes from this machine's apt sources.
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
baked=image/test-container  # what the second image brings along
server_pid=

clean_up() {
  [ -z "$server_pid" ] || kill "$server_pid" 2>/dev/null || true
  rm -rf "$baked"
  if [ $engine = docker ]; then
    docker rm -f berth-test-stop >/dev/null 2>&1 || true
    docker image rm -f berth-test berth-test-baked >/dev/null 2>&1 || true
  else
    podman "${storage[@]}" rm -f berth-test-stop >/dev/null 2>&1 || true
    umount "$work/storage/overlay" 2>/dev/null || true
    rm -rf "$work/storage" "$work/run" "$work/out"
  fi
}
trap clean_up EXIT

# Makes an image that stands for Debian's.
base=docker.io/library/debian:bookworm-slim
import_base() {
  if [ ! -s "$work/base.tar" ]; then
    bash scripts/bootstrap-debian.sh "$work/partial.tar" --variant=minbase
    mv "$work/partial.tar" "$work/base.tar"
  fi
  podman "${storage[@]}" import --quiet "$work/base.tar" $base >/dev/null
}

# buildah shares the compiler cache of this machine, where the tests may have compiled the same sources.
cache=()
if [ $engine = podman ]; then
  cache_folder=$(ccache --get-config cache_dir)
  mkdir -p "$cache_folder"
  cache=(--build-arg CCACHE_DIR=/ccache --volume "$cache_folder:/ccache")
fi

# build_image TAG ARGUMENTS...: builds the image, or only the stages that have changed since it was built last.
build_image() {
  local tag=$1 epoch
  shift
  epoch=$(git log -1 --format=%ct 2>/dev/null || echo 0)
  local arguments=(--target runtime --build-arg SOURCE_DATE_EPOCH="$epoch"
    --build-arg REVISION="$(git rev-parse HEAD 2>/dev/null || echo unknown)"
    --build-arg CREATED="$(date --utc --date "@$epoch" +%Y-%m-%dT%H:%M:%SZ)" "$@" -t "$tag")
  if [ $engine = docker ]; then
    DOCKER_BUILDKIT=1 docker build --progress plain "${arguments[@]}" .
  else
    buildah "${storage[@]}" bud --isolation chroot --pull-never --layers --timestamp "$epoch" --build-arg BASE=$base "${cache[@]}" \
      "${arguments[@]}" .
  fi >"$work/build.log" 2>&1 || { tail -n 60 "$work/build.log"; return 1; }
}

# run [options of the engine --] FLAGS...: runs berth in a container of the image $image.
image=berth-test
run() {
  local options=()
  if [[ " $* " == *" -- "* ]]; then
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
  fi
  if [ $engine = docker ]; then
    docker run --network=host "${options[@]}" $image "$@"
  else
    podman "${storage[@]}" --runtime runc run --ulimit nofile=1024:1024 --ulimit nproc=4000:4000 --network=host "${options[@]}" $image "$@"
  fi
}
control=("$engine")
[ $engine = docker ] || control=(podman "${storage[@]}")
label() { "${control[@]}" image inspect --format "{{index .Config.Labels \"org.opencontainers.image.$1\"}}" $image; }

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
  [ $code = 0 ] || cp "$work/last.log" "$work/failed.log"
  echo $code
}
holds() { if (($(grep -c -- "$@"))); then echo yes; else echo no; fi; }  # holds TEXT [FILE], read to its end

echo "container: building with $engine"
[ $engine = docker ] || import_base
build_image berth-test
bytes=$("${control[@]}" image inspect --format '{{.Size}}' berth-test)
parameters=$(stat --format %s examples/model/model.safetensors)
printf 'container: image %s bytes (%d MB), %s\n' "$bytes" $((bytes / 1000000)) "$(grep -m 1 -o 'binary [0-9]* bytes' "$work/build.log")"
check "at most 60 MB without the parameters" yes "$([ $((bytes - parameters)) -le 60000000 ] && echo yes || echo no)"

echo "container: running"
command=$(grep -m 1 '^    docker run nlp --train' README.md)
read -ra job <<<"${command#*docker run nlp}"
check "docker run nlp ${job[*]}" 0 "$(exit_code_of run --rm -- "${job[@]}")"
tail -n 3 "$work/last.log"
check "a data file that is not there" 4 "$(exit_code_of run --rm -- --train-data-file data/none.pickle --job-dir .)"
check "an unknown flag" 2 "$(exit_code_of run --rm -- --no-such-flag)"
check "no shell in the image" no "$(run --rm --entrypoint /bin/sh -- -c true >/dev/null 2>&1 && echo yes || echo no)"
check "the label of the version is what the program says" "berth $(label version)" "$(run --rm -- --version | cut -d ' ' -f 1-2)"
check "the label of the revision" "$(git rev-parse HEAD 2>/dev/null || echo unknown)" "$(label revision)"

# As Kubernetes' restricted profile runs it: the engine's own seccomp profile is RuntimeDefault.
restricted=(--read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges)
limits=(--cpus 2 --memory 1g)
if ! run --rm "${restricted[@]}" "${limits[@]}" -- --version >"$work/last.log" 2>&1; then
  echo "container: WARNING: THE LIMITS OF CPUs AND MEMORY ARE NOT TESTED, because this machine lets no container have them:"
  tail -n 1 "$work/last.log"
  limits=()
fi
rm -rf "$work/out" && install -d -m 0777 "$work/out"
check "no rights, a read-only root, limits, another user and a mounted job directory" 0 "$(
  exit_code_of run --rm --user 1234:1234 "${restricted[@]}" "${limits[@]}" -v "$work/out:/out" -- \
    --train-data-file data/df.pickle --job-dir /out/job --max-steps 5)"
check "the mounted job directory holds the model" yes "$([ -s "$work/out/job/model/model.safetensors" ] && echo yes || echo no)"
if [ ${#limits[@]} -gt 0 ]; then
  check "a job that does not fit into the container's memory" 14 "$(
    exit_code_of run --rm "${restricted[@]}" --memory 96m -- --train-data-file data/df.pickle --job-dir /tmp/job --batch-size 512)"
fi

# A job in gs:// that is stopped while it trains saves a checkpoint and exits with 143, never with 0.
cmake --preset release -DBUILD_TESTING=ON >"$work/last.log" && cmake --build --preset release --target fake_gcs_server >>"$work/last.log"
rm -f "$work/port"
build/release/tests/fake_gcs_server --port-file "$work/port" --bucket bucket >"$work/server.log" 2>&1 &
server_pid=$!
for _ in $(seq 100); do [ -e "$work/port" ] && break; sleep 0.1; done
bucket=(-e "STORAGE_EMULATOR_HOST=127.0.0.1:$(cat "$work/port")")
check "a long job in gs:// starts" 0 "$(exit_code_of run -d --name berth-test-stop "${restricted[@]}" "${limits[@]}" "${bucket[@]}" -- \
  --train-data-file data/df.pickle --job-dir gs://bucket/job --epochs 1000 --logging-steps 1)"
for _ in $(seq 200); do
  if [[ $("${control[@]}" logs berth-test-stop 2>&1) == *'"step"'* ]]; then break; fi
  sleep 0.1
done
"${control[@]}" stop --time 30 berth-test-stop >/dev/null 2>&1
check "docker stop" 143 "$("${control[@]}" inspect --format '{{.State.ExitCode}}' berth-test-stop)"
check "its files are fetched" 0 "$(
  exit_code_of run --rm "${bucket[@]}" -v "$work/out:/out" -- --mode fetch gs://bucket/job --export-dir /out/stopped)"
check "its last checkpoint has a manifest" yes "$(ls "$work"/out/stopped/checkpoints/step-*/MANIFEST.json | tail -n 1 | xargs cat | holds crc32c)"
check "its last checkpoint is complete" 0 "$(
  exit_code_of run --rm -v "$work/out:/out" -- --mode export_only --job-dir /out/stopped --export-dir /out/exported)"

share=/usr/local/share/berth
rm -rf "$work/share"
"${control[@]}" cp "berth-test-stop:$share" "$work/share" >/dev/null 2>&1
check "the bill of materials names what is linked" yes,yes \
  "$(holds '"name": "libcurl4"' "$work/share/sbom.spdx.json"),$(holds '"name": "libopenblas' "$work/share/sbom.spdx.json")"
check "the licences of berth and of what is linked are there" 3 "$(cd "$work/share/licenses" && find berth libcurl4 openxla -size +0 | wc -l)"

# A second image with another model and other data.
mkdir -p $baked/rows
tar -czf $baked/model.tar.gz -C tests/testdata tiny_model
printf 'text,label\ngood,1\nbad,0\n' | tee $baked/rows/train.csv >$baked/rows/test.csv
build_image berth-test-baked --build-arg MODEL=$baked/model.tar.gz --build-arg DATA=$baked/rows
image=berth-test-baked
check "a job on the model and the data of an image" 0 "$(
  exit_code_of run --rm -- --train-data-file data/train.csv --eval-data-file data/test.csv --job-dir . --max-steps 1 --batch-size 2)"
check "its model is the one that was put there" yes "$(run --rm -- --mode inspect $share/model 2>/dev/null | holds '2 layers, hidden size 128')"
check "its data have taken the place of the sample" 4 "$(exit_code_of run --rm -- "${job[@]}")"

echo "container: digest $("${control[@]}" image inspect --format '{{.Id}}' berth-test)"
echo "container: $failures failed"
[ $failures -eq 0 ]
