#!/usr/bin/env bash
# Runs the packaged folder in bare roots of other systems: the newest Debian, Debian 11 (glibc 2.31), a system with musl alone, and an empty
# one. In each root, an unprivileged user works with all but /tmp read-only. The user trains on the sample, predicts, embeds, and trains
# with two seeds. The user also reads from a server whose certificate a private authority signed, and trains through a PJRT plugin for CPUs.
#
#   bash scripts/test-package.sh [ROOT...]       ROOT is trixie, bullseye, musl or empty; default: all
#
# Needs root or user namespaces, and the archives of Debian. scripts/package.sh makes the folder. scripts/install-xla-plugin.sh downloads the
# plugin; without it that part is skipped and the script says so.
set -uo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- trixie bullseye musl empty
bash scripts/install-dependencies.sh --package || exit 1
work=$PWD/build/package-test
plugin=$PWD/build/xla-plugins/pjrt-cpu-0.115.so
archive=$(ls -t dist/berth-*-linux-"$(uname -m)".tar.xz 2>/dev/null | sed -n 1p)
[ -n "$archive" ] || { echo "test-package: there is no archive in dist; run scripts/package.sh" >&2; exit 2; }
server_pid=
trap '[ -z "$server_pid" ] || kill "$server_pid"; rm -rf "$work/scratch"' EXIT
rm -rf "$work/scratch"
mkdir -p "$work/scratch/served"

failures=0
check() {  # check WHAT COMMAND...
  local what=$1 start=$EPOCHREALTIME code=0
  shift
  "$@" >"$work/out.log" 2>"$work/err.log" || code=$?
  if [ $code = 0 ]; then
    awk -v what="$what" -v start="$start" -v end="$EPOCHREALTIME" 'BEGIN {printf "  ok    %s (%.1f s)\n", what, end - start}'
  else
    echo "  FAIL  $what: exit code $code"
    tail -n 5 "$work/err.log"
    failures=$((failures + 1))
  fi
}

# make_root NAME: makes the folder $work/NAME once.
make_root() {
  [ ! -d "$work/$1" ] || return 0
  rm -rf "$work/partial"
  case $1 in
    trixie | bullseye) SUITE=$1 bash scripts/bootstrap-debian.sh "$work/partial" --variant=minbase ;;
    musl)  # the loader and the shell of a musl system; Fedora's place of certificates
      bash scripts/bootstrap-debian.sh "$work/unpacked" --variant=extract --include=musl,busybox-static &&
        mkdir -p "$work"/partial/{bin,lib,etc} && cp "$work/unpacked/bin/busybox" "$work/partial/bin/" &&
        ln -s busybox "$work/partial/bin/sh" && cp -r "$work/unpacked/lib/x86_64-linux-musl" "$work/unpacked"/lib/ld-musl-* "$work/partial/lib/"
      rm -rf "$work/unpacked" ;;
    empty) mkdir -p "$work/partial" ;;
    *) echo "test-package: unknown root '$1'" >&2; exit 2 ;;
  esac || { echo "test-package: the root $1 could not be made" >&2; exit 1; }
  mkdir -p "$work"/partial/{proc,dev,tmp,opt,plugins}
  mv "$work/partial" "$work/$1"
}

# in_root NAME COMMAND...: runs as nobody in the root, which is read-only but for /tmp. SSL_CERT_FILE is $authority there.
authority=
in_root() {
  local root=$work/$1
  shift
  unshare --mount --pid --fork --kill-child bash -c '
    set -e
    root=$0 package=$1 plugins=$2 tmp=$3 authority=$4
    shift 4
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --bind "$package" "$root/opt"
    [ ! -d "$plugins" ] || mount --bind "$plugins" "$root/plugins"
    mount --bind "$tmp" "$root/tmp"
    touch "$root/dev/null" && mount --bind /dev/null "$root/dev/null"
    for folder in "$root" "$root/opt" "$root/plugins"; do mount -o remount,bind,ro "$folder" 2>/dev/null || true; done
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin SSL_CERT_FILE="$authority" HF_HUB_OFFLINE=1 chroot --userspec=65534:65534 "$root" "$@"' \
    "$root" "$work/scratch/package" "$(dirname "$plugin")" "$work/scratch/tmp" "$authority" "$@"
}

holds() {  # holds FILE [TEXT]: that the job wrote the file, with that text in it
  [ -s "$work/scratch/tmp/$1" ] && { [ $# = 1 ] || grep -q -- "$2" "$work/scratch/tmp/$1"; }
}

printf 'text,label\nA ball was kicked.,sports\nShares fell.,business\n' >"$work/scratch/served/rows.csv"
python3 tests/support/https_server.py "$work/scratch/served" "$work/scratch" >/dev/null 2>&1 &
server_pid=$!
for _ in $(seq 300); do [ -s "$work/scratch/port" ] && break; sleep 0.1; done
[ -s "$work/scratch/port" ] || { echo "test-package: the https server does not start" >&2; exit 1; }
address=https://localhost:$(cat "$work/scratch/port")/rows.csv

test_root() {
  local root=$1 place program sample
  make_root "$root"
  echo "package: in the root $root"
  rm -rf "$work/scratch/package" "$work/scratch/tmp"
  mkdir -p "$work/scratch/package"
  install -d -m 0777 "$work/scratch/tmp"
  local start=$EPOCHREALTIME
  tar -xf "$archive" -C "$work/scratch/package"
  place=/opt/$(basename "$archive" .tar.xz)
  program=$place/bin/berth sample=$place/data/df.pickle
  check "it starts" in_root "$root" "$program" --version
  check "one epoch of the sample" in_root "$root" "$program" --train-data-file "$sample" --job-dir /tmp/job --epochs 1 --batch-size 16
  awk -v start="$start" -v end="$EPOCHREALTIME" 'BEGIN {printf "        %.1f s from the archive to the end of the first epoch\n", end - start}'
  check "it wrote a model" holds job/model/model.safetensors
  check "prediction" in_root "$root" "$program" --mode predict --predict-data-file "$sample" --job-dir /tmp/job
  check "it wrote predictions" holds job/predictions.tsv prediction
  check "embedding" in_root "$root" "$program" --mode embed --predict-data-file "$sample" --model "$place/share/berth/model" --job-dir /tmp/embedded
  check "it wrote embeddings" holds embedded/embeddings.npy
  check "two seeds, for which the program starts itself" in_root "$root" "$program" --train-data-file "$sample" --job-dir /tmp/seeds --seeds 2 \
    --max-steps 4 --batch-size 8
  check "it wrote the mean of both" holds seeds/metrics.json '"seeds"'
  install -m 0644 "$work/scratch/authority.pem" "$work/scratch/tmp/authority.pem"
  authority=/tmp/authority.pem
  check "https with SSL_CERT_FILE" in_root "$root" "$program" --mode inspect "$address"
  authority=
  check "https without that authority is refused" refused "$root" "$program" --mode inspect "$address"
  if [ "$root" = musl ]; then
    install -D -m 0644 "$work/scratch/authority.pem" "$work/$root/etc/pki/tls/certs/ca-bundle.crt"
    check "https by the certificates of another distribution" in_root "$root" "$program" --mode inspect "$address"
    rm "$work/$root/etc/pki/tls/certs/ca-bundle.crt"
  fi
  if [ -s "$plugin" ]; then
    check "training through a PJRT plugin" in_root "$root" "$program" --train-data-file "$sample" --job-dir /tmp/xla --max-steps 2 --batch-size 4 \
      --max-seq-length 32 --device xla-cpu --pjrt-plugin "/plugins/$(basename "$plugin")"
  else
    echo "  NOT TESTED: a PJRT plugin, because there is no $plugin; run scripts/install-xla-plugin.sh"
  fi
}
refused() {  # refused ROOT COMMAND...: that it ends with 4, because of the certificate
  in_root "$@"
  [ $? = 4 ] && grep -q 'certificate' "$work/err.log"
}

for root; do test_root "$root"; done
echo "package: $failures failed"
[ $failures -eq 0 ]
