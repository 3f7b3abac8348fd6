#!/usr/bin/env bash
# Writes the software bill of materials of a collected program as SPDX 2.3 JSON to PREFIX/share/berth/sbom.spdx.json, and the licences to
# PREFIX/share/berth/licenses: berth's, the licence of a header in third_party, and one file for each Debian package. Debian's files refer
# to texts in /usr/share/common-licenses; these are in PREFIX/share/berth/common-licenses. Standard input names the shared libraries that
# were collected, one a line. Needs a finished build by Ninja. Ninja's records say which headers and static libraries the binary was made
# of. dpkg gives the package and version of each of them. With SYSROOT, the libraries are of the packages that are recorded there.
#
#   bash scripts/write-sbom.sh BINARY PREFIX [SYSROOT]
#
# The environment: REVISION is the commit, SOURCE_DATE_EPOCH its time, so that a commit has one bill, and BASE the image that the build
# ran in.
set -euo pipefail
binary=$1 prefix=$2 sysroot=${3:-}
build=$(dirname "$binary")
to=$prefix/share/berth
install -d "$to/licenses"
[ -z "$sysroot" ] || export DPKG_ADMINDIR=$sysroot/var/lib/dpkg

# The packages of the files that standard input names, one a line. Since the merge of /usr, dpkg may know a file of /usr/lib as one of
# /lib, so it is asked for both.
owners() {
  xargs -r readlink -f | sed "s|^$sysroot/|/|" | sort -u | sed -e 'p' -e 's|^/usr/lib|/lib|;t' -e 'd' |
    { xargs -r dpkg-query --search 2>/dev/null || true; } | sed -n 's/^\([^ :,]*\)[^ ]*: .*/\1/p' | sort -u
}

# Ninja names the files of a SYSROOT below the build relative to the build.
with_whole_paths() {
  if [ -n "$sysroot" ]; then sed "s#\(^\| \)$(realpath --relative-to="$build" "$sysroot")/#\1$sysroot/#g"; else cat; fi
}

shared=$(owners)
headers=$(ninja -C "$build" -t deps | with_whole_paths | sed -n "s|^ *\($sysroot/usr/include/.*\)|\1|p" | sort -u | owners)
static=$(ninja -C "$build" -t commands "$(basename "$binary")" | with_whole_paths | grep -o '/[^ ]*\.a\b' | grep "^$sysroot/usr" | sort -u | owners)

created=$(date --utc --date "@${SOURCE_DATE_EPOCH:-0}" +%Y-%m-%dT%H:%M:%SZ)
revision=${REVISION:-unknown}
packages='' relations=''

# copy_licence PACKAGE SOURCE: copies the licence of a package, or of another one that is built from the same source. Debian's slim images
# have left out the links by which such packages share a file.
copy_licence() {
  local package
  for package in "$1" $(dpkg-query --show --showformat='${source:Package} ${Package}\n' | sed -n "s|^$2 ||p"); do
    [ -e "$sysroot/usr/share/doc/$package/copyright" ] || continue
    cp "$sysroot/usr/share/doc/$package/copyright" "$to/licenses/$1"
    return
  done
  echo "write-sbom: there is no licence of $1" >&2
  return 1
}

# add PACKAGE RELATION: adds a package once, and its relation to berth.
added=' '
add() {
  local package=$1 relation=$2 version source identity
  identity=SPDXRef-${package//[^A-Za-z0-9.-]/-}
  if [[ $added != *" $package "* ]]; then
    added+="$package "
    version=$(dpkg-query --show --showformat='${Version}\n' "$package" | sed -n 1p)
    source=$(dpkg-query --show --showformat='${source:Package}\n' "$package" | sed -n 1p)
    packages+=$(printf ',\n    {"name": "%s", "SPDXID": "%s", "versionInfo": "%s", "supplier": "Organization: Debian",' \
      "$package" "$identity" "$version")
    packages+=$(printf ' "downloadLocation": "NOASSERTION", "filesAnalyzed": false, "sourceInfo": "built from %s",' "$source")
    packages+=$(printf ' "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": "pkg:deb/debian/%s@%s"}]}' \
      "$package" "${version//+/%2B}")
    copy_licence "$package" "$source"
  fi
  relations+=$(printf ',\n    {"spdxElementId": "SPDXRef-berth", "relationshipType": "%s", "relatedSpdxElement": "%s"}' "$relation" "$identity")
}

for package in $static; do add "$package" STATIC_LINK; done
for package in $shared; do add "$package" DYNAMIC_LINK; done
add ca-certificates CONTAINS
for package in $headers; do
  [[ $added == *" $package "* ]] || add "$package" DEPENDS_ON
done
cp LICENSE "$to/licenses/berth"
cp third_party/openxla/LICENSE "$to/licenses/openxla"
cp -r /usr/share/common-licenses "$to/"

cat >"$to/sbom.spdx.json" <<END
{
  "spdxVersion": "SPDX-2.3",
  "dataLicense": "CC0-1.0",
  "SPDXID": "SPDXRef-DOCUMENT",
  "name": "berth-$revision",
  "documentNamespace": "https://spdx.org/spdxdocs/berth-$revision",
  "creationInfo": {"created": "$created", "creators": ["Tool: write-sbom.sh"], "comment": "built in ${BASE:-a Debian system}"},
  "packages": [
    {"name": "berth", "SPDXID": "SPDXRef-berth", "versionInfo": "$revision", "downloadLocation": "NOASSERTION", "filesAnalyzed": false, "licenseDeclared": "Apache-2.0"},
    {"name": "pjrt_c_api.h", "SPDXID": "SPDXRef-openxla", "versionInfo": "0.81", "supplier": "Organization: OpenXLA", "downloadLocation": "NOASSERTION", "filesAnalyzed": false, "licenseDeclared": "Apache-2.0"}$packages
  ],
  "relationships": [
    {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-berth"},
    {"spdxElementId": "SPDXRef-berth", "relationshipType": "DEPENDS_ON", "relatedSpdxElement": "SPDXRef-openxla"}$relations
  ]
}
END
echo "sbom: $(wc -w <<<"$added") packages"
