#!/usr/bin/env bash
# Cross-compiles berth for aarch64 and runs it with qemu-user.
#
#   bash scripts/test-aarch64.sh            runs the tests that depend on the processor: of the kernels, of the checksums and of
#                                           the text code, because char is unsigned on aarch64 by default
#   bash scripts/test-aarch64.sh --image    makes the image for linux/arm64 instead, as build/aarch64/image.tar (an OCI archive), and
#                                           trains for five updates with what it holds
set -euo pipefail
cd "$(dirname "$0")/.."

what=tests
case ${1:-} in
  '') ;;
  --image) what=image ;;
  *) echo "test-aarch64: unknown option '$1'" >&2; exit 2 ;;
esac
groups=(--aarch64)
[ $what = tests ] || groups+=(--container)
bash scripts/install-dependencies.sh "${groups[@]}"
build=$PWD/build/aarch64
sysroot=$build/sysroot
mkdir -p "$build"

# The libraries of install-dependencies.sh are only unpacked. None of their install scripts run. Their records are written as dpkg
# would, so that write-sbom.sh can ask for the package of a file.
if [ ! -d "$sysroot" ]; then
  packages=(libc6-dev libstdc++-12-dev libopenblas-serial-dev libgloo-dev libutf8proc-dev libcxxopts-dev nlohmann-json3-dev
    libcurl4-openssl-dev libssl-dev libarchive-dev zlib1g-dev libbz2-dev liblzma-dev libzstd-dev liblz4-dev nettle-dev libgtest-dev
    libgmock-dev ca-certificates)
  record='records=$1/var/lib/dpkg
  echo 1 >"$records/info/format"
  for deb in "$1"/var/cache/apt/archives/*.deb; do
    name=$(dpkg-deb --field "$deb" Package)
    [ "$(dpkg-deb --field "$deb" Multi-Arch)" != same ] || name=$name:arm64
    { dpkg-deb --field "$deb"; echo "Status: install ok unpacked"; echo; } >>"$records/status"
    dpkg-deb --fsys-tarfile "$deb" | tar -t | sed -e "s|^[.]||" -e "s|/\$||" -e "s|^\$|/.|" >"$records/info/$name.list"
  done'
  rm -rf "$build/partial"
  bash scripts/bootstrap-debian.sh "$build/partial" --variant=extract --arch=arm64 --include="$(IFS=,; echo "${packages[*]}")" \
    --extract-hook="$record"
  mv "$build/partial" "$sysroot"
fi
cmake -S . -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake -DBERTH_SYSROOT="$sysroot" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=24 >/dev/null

if [ $what = tests ]; then
  cmake --build "$build" --target berth cpu_kernels_test storage_base_test text_test
  run() { qemu-aarch64 -L "$sysroot" "$@"; }
  run "$build/berth" --version
  run "$build/tests/storage_base_test" --gtest_brief=1
  run "$build/tests/text_test" --gtest_brief=1
  run "$build/tests/cpu_kernels_test" --gtest_brief=1 --gtest_filter='-*avx*:*AVX*:*AMX*'
  exit
fi

cmake --build "$build" --target berth
REVISION=$(git rev-parse HEAD) SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export REVISION SOURCE_DATE_EPOCH
# The folders image and content are what the stages of the Dockerfile with those names make.
rm -rf "$build"/context "$build"/job "$build"/root "$build"/image.tar
mkdir -p "$build"/context "$build"/job
bash scripts/collect-image.sh "$build/berth" "$build/context/image" "$sysroot"
bash scripts/bake-image.sh "$build/berth" "$build/context/content"
cp -al "$build/context/image" "$build/root"
cp -al "$build"/context/content/. "$build/root"

echo "arm64: running with the files of the image alone"
run() { (cd "$build/root/job" && qemu-aarch64 -L "$build/root" "$build/root/usr/local/bin/berth" "$@"); }
run --version
run --train-data-file data/df.pickle --job-dir "$build/job" --max-steps 5 --batch-size 4
[ -s "$build/job/model/model.safetensors" ]

# The stage of the Dockerfile, with folders in the place of the stages that it copies from.
sed -n '/^FROM scratch AS runtime$/,/^ENTRYPOINT/p' Dockerfile | sed 's|^COPY --from=[a-z]* /\([a-z]*\)/ /$|COPY \1/ /|' >"$build/context/Containerfile"
storage=(--root "$build/images/storage" --runroot "$build/images/run" --storage-driver vfs)
buildah "${storage[@]}" bud --isolation chroot --platform linux/arm64 --timestamp "$SOURCE_DATE_EPOCH" --build-arg REVISION="$REVISION" \
  --build-arg CREATED="$(date --utc --date "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)" --layers -t berth-arm64 "$build/context"
buildah "${storage[@]}" push berth-arm64 "oci-archive:$build/image.tar:berth"
rm -rf "$build/images"
echo "arm64: $build/image.tar, $(du -s --apparent-size -B 1000000 "$build/root" | cut -f 1) MB unpacked"
