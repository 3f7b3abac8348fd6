#!/usr/bin/env bash
# Copies everything that the final stage of the image holds into the empty folder ROOT. The Dockerfile calls this script.
#
#   bash scripts/collect-image.sh BINARY ROOT
#
#   /usr/local/bin/berth            the stripped binary
#   /lib/..., /lib64/...            the shared libraries that it loads, the dynamic loader, and what plugins load besides
#   /usr/local/share/berth/model    the bundled model
#   /usr/local/share/berth          sbom.spdx.json and the licences of Debian's packages (write-sbom.sh)
#   /job/data/df.pickle             the sample; /job is the working directory
#   /etc                            passwd, group, nsswitch.conf and CA certificates
#   /job, /tmp                      these two are writable by every user
#
# The environment: REVISION and SOURCE_DATE_EPOCH, as write-sbom.sh says.
set -euo pipefail
binary=$1 root=$2

install -d "$root"/usr/local/{bin,share/berth} "$root"/etc/ssl/certs
install -d -m 1777 "$root"/tmp "$root"/job
strip --strip-all -o "$root/usr/local/bin/berth" "$binary"

libraries=$(ldd "$binary" | grep -o '/[^ ]*')
# PJRT plugins also name parts of the C library that are empty since glibc 2.34 and that the binary does not name.
c_library=$(dirname "$(grep -m 1 '/libc\.so' <<<"$libraries")")
libraries+=" $c_library/libdl.so.2 $c_library/libpthread.so.0 $c_library/librt.so.1"
for library in $libraries; do
  install -D -m 0755 "$(realpath "$library")" "$root$library"
done

cp -r examples/model "$root/usr/local/share/berth/model"
chmod -R u=rwX,go=rX "$root/usr/local/share/berth"
install -D -m 0644 examples/data/df.pickle "$root/job/data/df.pickle"
install -m 0644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
cat >"$root/etc/passwd" <<'EOF'
root:x:0:0:root:/:/sbin/nologin
berth:x:65532:65532:berth:/job:/sbin/nologin
EOF
cat >"$root/etc/group" <<'EOF'
root:x:0:
berth:x:65532:
EOF

bash scripts/write-sbom.sh "$(dirname "$binary")" "$binary" "$root"
# Every build of a commit has the same times.
find "$root" -mindepth 1 -exec touch --no-dereference --date "@${SOURCE_DATE_EPOCH:-0}" {} +
echo "image: binary $(stat --format %s "$root/usr/local/bin/berth") bytes stripped"
