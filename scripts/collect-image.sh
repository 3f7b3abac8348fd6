#!/usr/bin/env bash
# Copies into the empty folder ROOT what the image holds of the program: all but the model and the data, which bake-image.sh adds. The
# Dockerfile calls this script. With SYSROOT, the binary is of another architecture, and its libraries are there.
#
#   bash scripts/collect-image.sh BINARY ROOT [SYSROOT]
#
#   /usr/local/bin/berth            the stripped binary
#   /lib/..., /lib64/...            the shared libraries that it loads, the dynamic loader, and what plugins load besides
#   /usr/local/share/berth          sbom.spdx.json and the licences (write-sbom.sh)
#   /etc                            passwd, group, nsswitch.conf and CA certificates
#   /job, /tmp                      these two are writable by every user
#
# The environment: BASE, REVISION and SOURCE_DATE_EPOCH, as write-sbom.sh says.
set -euo pipefail
binary=$1 root=$2 sysroot=${3:-}

case $(readelf --file-header "$binary") in
  *X86-64*) triplet=x86_64-linux-gnu ;;
  *AArch64*) triplet=aarch64-linux-gnu ;;
  *) echo "collect-image: $binary is for a processor that no image is made for" >&2; exit 1 ;;
esac

# Prints the paths of the shared libraries that the file needs, and of those that they need.
found=' '
collect() {
  local name
  for name in $(readelf --dynamic "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    [[ $found != *" $name "* ]] || continue
    found+="$name "
    case $name in ld-linux-*) continue ;; esac  # the interpreter
    if [ ! -e "$(located "/lib/$triplet/$name")" ]; then
      echo "collect-image: $name, which $1 needs, is not in ${sysroot:-/}lib/$triplet" >&2
      return 1
    fi
    echo "/lib/$triplet/$name"
    collect "$(located "/lib/$triplet/$name")"
  done
}
located() {  # the file of this system that is to have the path $1 in the image
  local path
  for path in "$1" "/usr$1" "/usr/lib/${1##*/}"; do  # Debian's libgloo is in no folder of the architecture
    if [ -e "$sysroot$path" ]; then realpath "$sysroot$path"; return; fi
  done
  echo "$sysroot$1"
}

install -d "$root"/usr/local/{bin,share/berth} "$root"/etc/ssl/certs
install -d -m 1777 "$root"/tmp "$root"/job
"$triplet-strip" --strip-all -o "$root/usr/local/bin/berth" "$binary"

interpreter=$(readelf --program-headers "$binary" | sed -n 's/.*program interpreter: \(.*\)\]/\1/p')
collect "$binary" >"$root/libraries"
curl=/lib/$triplet/libcurl.so.4  # which storage/http/curl_library.cpp loads
{ echo "$curl"; collect "$(located "$curl")"; } >>"$root/libraries"
# PJRT plugins also name parts of the C library that are empty since glibc 2.34 and that the binary does not name.
printf '%s\n' "$interpreter" "/lib/$triplet/"{libdl.so.2,libpthread.so.0,librt.so.1} >>"$root/libraries"
sort -u -o "$root/libraries" "$root/libraries"
while read -r library; do install -D -m 0755 "$(located "$library")" "$root$library"; done <"$root/libraries"

if [ -n "$sysroot" ]; then
  cat "$sysroot"/usr/share/ca-certificates/mozilla/*.crt >"$root/etc/ssl/certs/ca-certificates.crt"
else
  install -m 0644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
fi
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
cat >"$root/etc/passwd" <<'END'
root:x:0:0:root:/:/sbin/nologin
berth:x:65532:65532:berth:/job:/sbin/nologin
END
cat >"$root/etc/group" <<'END'
root:x:0:
berth:x:65532:
END

while read -r library; do located "$library"; done <"$root/libraries" |
  bash scripts/write-sbom.sh "$(dirname "$binary")" "$binary" "$root" "$sysroot"
rm "$root/libraries"
chmod -R u=rwX,go=rX "$root/usr"
# Every build of a commit has the same times.
find "$root" -mindepth 1 -exec touch --no-dereference --date "@${SOURCE_DATE_EPOCH:-0}" {} +
echo "image: binary $(stat --format %s "$root/usr/local/bin/berth") bytes stripped"
