#!/usr/bin/env bash
# Lays out, in an empty ROOT, all that the image's last stage holds. Called by the Dockerfile.
#
#   bash scripts/collect-image.sh BINARY ROOT
#
#   /usr/local/bin/berth            stripped
#   /lib/..., /lib64/...            the shared libraries that it loads, the loader included
#   /usr/local/share/berth/model    the default model
#   /job/data/df.pickle             the sample; /job is the working directory
#   /etc                            passwd, group, nsswitch.conf, certificates
#   /job, /tmp                      writable by whatever user the container runs as
set -euo pipefail
binary=$1 root=$2

install -d "$root"/usr/local/{bin,share/berth} "$root"/etc/ssl/certs
install -d -m 1777 "$root"/tmp "$root"/job
strip --strip-all -o "$root/usr/local/bin/berth" "$binary"

libraries=$(ldd "$binary" | grep -o '/[^ ]*')
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

echo "image: binary $(stat --format %s "$root/usr/local/bin/berth") bytes stripped"
