#!/usr/bin/env bash
# Installs a Debian system into TARGET, a folder or a tar file: Debian 12, or SUITE. It uses the mirrors and the proxy of this machine's apt.
#
#   bash scripts/bootstrap-debian.sh TARGET [--suite=SUITE] [OPTION of mmdebstrap]...
set -euo pipefail
target=$1
shift
suite=bookworm
[[ ${1:-} != --suite=* ]] || { suite=${1#*=}; shift; }

options=()
while read -r line; do options+=(--aptopt="$line"); done \
  < <(apt-config dump | grep -E '^Acquire::(https?::Proxy|Check-Date|Check-Valid-Until) ')
sources=$(apt-get indextargets --format 'deb $(REPO_URI) $(CODENAME) $(COMPONENT)' \
  'Created-By: Packages' 'Origin: Debian' | grep ' bookworm' || true)
# Of another suite there is the main archive alone.
[ $suite = bookworm ] || sources=$(sed -n "s/ bookworm main$/ $suite main/p" <<<"$sources")
mmdebstrap --quiet "${options[@]}" "$@" "$suite" "$target" - <<<"$sources"
