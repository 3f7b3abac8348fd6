#!/usr/bin/env bash
# Tests scripts/install-dependencies.sh on a system without apt: it names what is absent, and succeeds where everything is there. Needs a
# compiler, CMake, Ninja and the libraries of the build, and no binary.
. "$(dirname "$0")/../jobs/lib.sh" /bin/true

mkdir bin
for tool in bash c++ cmake ninja; do ln -s "$(command -v $tool)" bin/$tool; done
ask() { env -u CXX PATH="$PWD/bin" bash "$repository/scripts/install-dependencies.sh" "$@" >out.txt 2>err.txt; }

ask --build --test || fail "refuses a system that has everything: $(cat err.txt)"
[ ! -s err.txt ] || fail "says where nothing is absent: $(cat err.txt)"

# A system without two of the libraries.
compiler=$(command -v c++)
rm bin/c++
cat >bin/c++ <<END
#!$(command -v bash)
text=\$(</dev/stdin)
[[ \$text != *gloo/* && \$text != *gmock/* ]] && exec "$compiler" "\$@" <<<"\$text"
END
chmod +x bin/c++
ask --build && fail "finds Gloo where it is absent"
says -F 'Gloo, https://github.com/facebookincubator/gloo: the header gloo/context.h' <err.txt || fail "does not name Gloo"
! says -F 'OpenBLAS' <err.txt >out.txt || fail "names OpenBLAS, which is there"
! says -F 'GoogleMock' <err.txt >out.txt || fail "names a library of the tests for the build"
ask && fail "finds GoogleMock where it is absent"
says -F 'GoogleTest and GoogleMock: the header gmock/gmock.h, pkg-config gmock' <err.txt || fail "does not name GoogleMock"

rm bin/c++ bin/cmake
ask --build && fail "needs no compiler"
for name in 'a compiler for C++20' 'cmake, 3.22 or newer' 'OpenBLAS' 'libarchive: the header archive.h'; do
  says -F "$name" <err.txt || fail "does not name $name"
done
! says -F 'ninja' <err.txt >out.txt || fail "names ninja, which is there"

ask --container && fail "installs packages without apt"
says -F 'podman' <err.txt || fail "does not name the packages of Debian"
finish
