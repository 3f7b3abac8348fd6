#!/usr/bin/env bash
# Installs a Debian 12 system into TARGET, a folder or a tar file. It uses the mirrors and the proxy of this machine's apt. SUITE names
# another release, such as trixie, which comes from the same mirror without its updates.
#
#   bash scripts/bootstrap-debian.sh TARGET [OPTION of mmdebstrap]...
set -euo pipefail
target=$1
shift

options=()
while read -r line; do options+=(--aptopt="$line"); done \
  < <(apt-config dump | grep -E '^Acquire::(https?::Proxy|Check-Date|Check-Valid-Until) ')
sources=$(apt-get indextargets --format 'deb $(REPO_URI) $(CODENAME) $(COMPONENT)' \
  'Created-By: Packages' 'Origin: Debian' | grep ' bookworm' || true)
suite=${SUITE:-bookworm}
[ "$suite" = bookworm ] || sources=$(awk -v suite="$suite" '$3 == "bookworm" { $3 = suite; print }' <<<"$sources")
mmdebstrap --quiet "${options[@]}" "$@" "$suite" "$target" - <<<"$sources"
