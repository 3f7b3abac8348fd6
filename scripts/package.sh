#!/usr/bin/env bash
# Makes what users download, in dist/:
#
#   berth-VERSION-linux-ARCHITECTURE.tar.xz    a folder that runs where it is unpacked, on every Linux of that architecture, without root
#   berth_trainer-VERSION-....whl              the same folder as a Python package (python/README.md)
#   berth_trainer-VERSION.tar.gz               what pip finds on a Mac or Windows: it refuses, and names the docker line
#   SHA256SUMS
#
#   bash scripts/package.sh                      builds the release preset first, and packages it
#   bash scripts/package.sh BINARY [SYSROOT]     packages a release build of another place or architecture; collect-program.sh says more
#
# The folder is also left in build/package. It holds:
#
#   bin/berth                the program
#   lib/berth                its dynamic loader and libraries
#   share/berth/model        the bundled model, which jobs without --model begin with
#   share/berth/data         the sample, also as data
#   share/berth              sbom.spdx.json, licenses, and ca-certificates.crt for systems that have no certificates
#
# The environment: SOURCE_DATE_EPOCH, REVISION and BASE, as write-sbom.sh says; the first two default to the commit's.
set -euo pipefail
cd "$(dirname "$0")/.."

binary=${1:-build/release/berth} sysroot=${2:-}
if [ $# -eq 0 ]; then
  bash scripts/install-dependencies.sh --build --package
  ! command -v ccache >/dev/null || export CMAKE_CXX_COMPILER_LAUNCHER=ccache
  without_tests=()
  [ -f build/release/CMakeCache.txt ] || without_tests=(-DBUILD_TESTING=OFF)
  cmake --preset release "${without_tests[@]}" >/dev/null
  cmake --build --preset release --target berth
fi
# The records of the build have complete paths.
binary=$(realpath "$binary") sysroot=${sysroot:+$(realpath "$sysroot")}
REVISION=${REVISION:-$(git rev-parse HEAD 2>/dev/null || echo unknown)}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export REVISION SOURCE_DATE_EPOCH

version=$(sed -n 's/^project(berth VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
header=$(readelf --file-header "$binary")
case $header in
  *X86-64*) architecture=x86_64 ;;
  *AArch64*) architecture=aarch64 ;;
  *) echo "package: $binary is for a processor that no package is made for" >&2; exit 1 ;;
esac
name=berth-$version-linux-$architecture
folder=build/package/$name
rm -rf "$folder"
mkdir -p "$folder/share/berth" dist

bash scripts/collect-program.sh "$binary" "$folder" "$sysroot" >build/package/libraries
bash scripts/write-sbom.sh "$binary" "$folder" "$sysroot" <build/package/libraries
cp -r examples/model "$folder/share/berth/model"
install -D -m 0644 examples/data/df.pickle "$folder/share/berth/data/df.pickle"
cat "$sysroot"/usr/share/ca-certificates/mozilla/*.crt >"$folder/share/berth/ca-certificates.crt"
ln -s share/berth/data "$folder/data"
cp LICENSE "$folder/"
cat >"$folder/README.txt" <<END
berth $version for Linux on $architecture. Nothing needs to be installed. In this folder,

    bin/berth --train-data-file data/df.pickle --job-dir runs/first --epochs 5 --batch-size 16

fine-tunes the bundled model on the bundled sample. The results are in runs/first: model/, report.html, metrics.json.
bin/berth --help lists the flags. bin, lib and share belong together: link to bin/berth from elsewhere instead of copying it.
share/berth/licenses has the licences of berth and of the libraries in lib/berth.
END
chmod -R u=rwX,go=rX "$folder"
find "$folder" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +

tar --create --sort=name --owner=0 --group=0 --numeric-owner --directory build/package "$name" | xz -9e >"dist/$name.tar.xz"
python3 scripts/make-wheel.py "$folder" dist
(cd dist && sha256sum -- *.tar.xz *.tar.gz *.whl >SHA256SUMS)
for file in dist/*"$architecture"*; do echo "package: $file, $(stat --format %s "$file") bytes"; done
echo "package: $folder, $(du -s --apparent-size -B 1000000 "$folder" | cut -f 1) MB unpacked"
