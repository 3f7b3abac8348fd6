#!/usr/bin/env bash
# Copies into the empty folder ROOT what the image holds of the program: all but the model and the data, which bake-image.sh adds. The
# Dockerfile calls this script. With SYSROOT, the binary is of another architecture, and its libraries are there.
#
#   bash scripts/collect-image.sh BINARY ROOT [SYSROOT]
#
#   /usr/local             the program as collect-program.sh collects it, its bill of materials and the licences (write-sbom.sh)
#   /etc                   passwd, group, nsswitch.conf and CA certificates
#   /job, /tmp             these two are writable by every user
#
# The environment: BASE, REVISION and SOURCE_DATE_EPOCH, as write-sbom.sh says.
set -euo pipefail
binary=$1 root=$2 sysroot=${3:-}

prefix=$root/usr/local
install -d "$prefix" "$root"/etc/ssl/certs
install -d -m 1777 "$root"/tmp "$root"/job
bash scripts/collect-program.sh "$binary" "$prefix" "$sysroot" >"$root/libraries"
bash scripts/write-sbom.sh "$binary" "$prefix" "$sysroot" <"$root/libraries"
rm "$root/libraries"

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

chmod -R u=rwX,go=rX "$root/usr"
# Every build of a commit has the same times.
find "$root" -mindepth 1 -exec touch --no-dereference --date "@${SOURCE_DATE_EPOCH:-0}" {} +
echo "image: binary $(stat --format %s "$prefix/bin/berth") bytes stripped"
