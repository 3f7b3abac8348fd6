#!/usr/bin/env bash
# Collects a program in the folder PREFIX so that it runs on every Linux of its architecture, with any C library or none. The image, the
# archive, the wheel and the kit for devices are all made from such a folder.
#
#   bash scripts/collect-program.sh BINARY PREFIX [SYSROOT]
#
#   PREFIX/bin/NAME        the stripped program
#   PREFIX/lib/berth/      the dynamic loader, and the shared libraries that the program and PJRT plugins load
#
# A second program in the same PREFIX shares the libraries. With SYSROOT, the binary is of another architecture, and its libraries are
# there. Prints the files of this system that were copied to PREFIX/lib/berth, one a line, for write-sbom.sh.
#
# The program must have been linked with berth_portable (entrypoint/CMakeLists.txt). This script hides the program header that names the
# system's loader; entrypoint/platform/own_loader.cpp says how the program starts then.
set -euo pipefail
binary=$1 prefix=$2 sysroot=${3:-}

fail() {
  echo "collect-program: $*" >&2
  exit 1
}

case $(readelf --file-header "$binary") in
  *X86-64*) triplet=x86_64-linux-gnu ;;
  *AArch64*) triplet=aarch64-linux-gnu ;;
  *) fail "$binary is for a processor that no package is made for" ;;
esac
dynamic=$(readelf --wide --dynamic "$binary")
[[ $dynamic == *'[$ORIGIN/../lib/berth]'* ]] || fail "$binary does not look for its libraries in ../lib/berth; build the release preset"

located() {  # located NAME: the file of this system that is the shared library NAME
  local folder
  for folder in "/lib/$triplet" "/usr/lib/$triplet" /usr/lib; do  # Debian 12's libgloo is in no folder of the architecture
    if [ -e "$sysroot$folder/$1" ]; then realpath "$sysroot$folder/$1"; return; fi
  done
  fail "there is no library $1 in ${sysroot:-/}lib/$triplet"
}

# collect NAME: copies the shared library NAME and the libraries that it needs.
found=' '
collect() {
  local name=$1 file needed
  [[ $found != *" $name "* ]] || return 0
  found+="$name "
  file=$(located "$name")
  echo "$file"
  install -D -m 0755 "$file" "$prefix/lib/berth/$name"
  for needed in $(needed_by "$file"); do collect "$needed"; done
}
needed_by() { readelf --wide --dynamic "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }

headers=$(readelf --wide --program-headers "$binary")
interpreter=$(sed -n 's/.*program interpreter: \(.*\)\]/\1/p' <<<"$headers")
# The program loads libcurl at its first request (storage/http/curl_client.cpp). PJRT plugins also name parts of the C library that are
# empty since glibc 2.34 and that the program does not name.
for name in $(needed_by "$binary") "${interpreter##*/}" libcurl.so.4 libdl.so.2 libpthread.so.0 librt.so.1; do collect "$name"; done

program=$prefix/bin/$(basename "$binary")
install -d "$prefix/bin"
"$triplet-strip" --strip-all -o "$program" "$binary"

# number OFFSET SIZE: the unsigned number that the program's file has at OFFSET. Both architectures are little-endian.
number() { od --address-radix=n --skip-bytes="$1" --read-bytes="$2" --format="u$2" "$program" | tr -d ' '; }
# Offsets of the 64-bit ELF header: e_phoff 32, e_phnum 56. A program header has 56 bytes and begins with its type; PT_INTERP is 3.
table=$(number 32 8) count=$(number 56 2) hidden=0
for ((i = 0; i < count; ++i)); do
  at=$((table + 56 * i))
  [ "$(number $at 4)" != 3 ] || { printf '\0\0\0\0' | dd of="$program" bs=1 seek=$at conv=notrunc status=none; hidden=$((hidden + 1)); }
done
[ $hidden = 1 ] || fail "$binary has $hidden program headers that name a loader; one is expected"
