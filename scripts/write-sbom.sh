#!/usr/bin/env bash
# Writes the software bill of materials of the image as SPDX 2.3 JSON to ROOT/usr/local/share/berth/sbom.spdx.json, and the licence of
# each Debian package to ROOT/usr/local/share/berth/licenses/PACKAGE. Needs a finished build by Ninja, whose records say which headers
# and static libraries the binary was made of; dpkg says which package and version each of them belongs to.
#
#   bash scripts/write-sbom.sh BUILD BINARY ROOT
#
# The environment: REVISION is the commit, and SOURCE_DATE_EPOCH its time, so that a commit has one bill.
set -euo pipefail
build=$1 binary=$2 root=$3
to=$root/usr/local/share/berth
install -d "$to/licenses"

# The packages of the files that standard input names, one a line. Since the merge of /usr, dpkg may know a file of /usr/lib as one of
# /lib, so it is asked for both.
owners() {
  xargs -r readlink -f | sort -u | sed -e 'p' -e 's|^/usr/lib|/lib|;t' -e 'd' |
    { xargs -r dpkg-query --search 2>/dev/null || true; } | sed -n 's/^\([^ :,]*\)[^ ]*: .*/\1/p' | sort -u
}

headers=$(ninja -C "$build" -t deps | sed -n 's/^ *\(\/usr\/include\/.*\)/\1/p' | sort -u | owners)
static=$(ninja -C "$build" -t commands "$(basename "$binary")" | grep -o '/[^ ]*\.a\b' | grep '^/usr' | sort -u | owners)
shared=$(ldd "$binary" | grep -o '/[^ ]*' | owners)

created=$(date --utc --date "@${SOURCE_DATE_EPOCH:-0}" +%Y-%m-%dT%H:%M:%SZ)
revision=${REVISION:-unknown}
packages='' relations=''

# add PACKAGE RELATION: adds a package once, and its relation to berth.
added=' '
add() {
  local package=$1 relation=$2 version source identity
  identity=SPDXRef-${package//[^A-Za-z0-9.-]/-}
  if [[ $added != *" $package "* ]]; then
    added+="$package "
    version=$(dpkg-query --show --showformat='${Version}\n' "$package" | head -n 1)
    source=$(dpkg-query --show --showformat='${source:Package}\n' "$package" | head -n 1)
    packages+=$(printf ',\n    {"name": "%s", "SPDXID": "%s", "versionInfo": "%s", "supplier": "Organization: Debian",' \
      "$package" "$identity" "$version")
    packages+=$(printf ' "downloadLocation": "NOASSERTION", "filesAnalyzed": false, "sourceInfo": "built from %s",' "$source")
    packages+=$(printf ' "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": "pkg:deb/debian/%s@%s"}]}' \
      "$package" "${version//+/%2B}")
    cp "/usr/share/doc/$package/copyright" "$to/licenses/$package" 2>/dev/null || true
  fi
  relations+=$(printf ',\n    {"spdxElementId": "SPDXRef-berth", "relationshipType": "%s", "relatedSpdxElement": "%s"}' "$relation" "$identity")
}

for package in $static; do add "$package" STATIC_LINK; done
for package in $shared; do add "$package" DYNAMIC_LINK; done
add ca-certificates CONTAINS
for package in $headers; do
  [[ $added == *" $package "* ]] || add "$package" DEPENDS_ON
done

cat >"$to/sbom.spdx.json" <<EOF
{
  "spdxVersion": "SPDX-2.3",
  "dataLicense": "CC0-1.0",
  "SPDXID": "SPDXRef-DOCUMENT",
  "name": "berth-$revision",
  "documentNamespace": "https://spdx.org/spdxdocs/berth-$revision",
  "creationInfo": {"created": "$created", "creators": ["Tool: write-sbom.sh"]},
  "packages": [
    {"name": "berth", "SPDXID": "SPDXRef-berth", "versionInfo": "$revision", "downloadLocation": "NOASSERTION", "filesAnalyzed": false, "licenseDeclared": "Apache-2.0"}$packages
  ],
  "relationships": [
    {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-berth"}$relations
  ]
}
EOF
echo "sbom: $(wc -w <<<"$added") packages"
