#!/usr/bin/env bash
# Runs the fuzz targets of the readers under MemorySanitizer, which stops a program that decides on memory that nothing has written.
#
#   bash scripts/test-memory.sh
#
# MemorySanitizer knows only what instrumented code writes. So the script fetches Debian's sources of the libraries that write into the
# readers' memory and compiles them, too: the C++ standard library, zlib, bzip2, liblzma, zstd, lz4, libarchive and utf8proc. Of the
# other libraries, the targets reach only OpenSSL; tests/fuzz/openssl_under_msan.cpp says how. The script needs
# Debian's archive, writes only to build/memory, and continues there when it is called again.
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/install-dependencies.sh --build --test --memory
here=$PWD/build/memory
sources=$here/sources libraries=$here/libraries
jobs=$(nproc)
mkdir -p "$sources" "$libraries"

export CC=clang-14 CXX=clang++-14
memory="-fsanitize=memory -fsanitize-memory-track-origins -fno-omit-frame-pointer"
flags="$memory -O1 -g1 -fPIC"

# fetch SOURCE: the upstream source of one of Debian's packages, in a folder of its own. The lists of source packages are the script's
# own, so that the system's lists stay as they are.
fetch() {
  local folder=$sources/$1
  [ ! -d "$folder" ] || return 0
  rm -rf "$folder.partial"
  mkdir -p "$folder.partial" "$here/apt/lists/partial" "$here/apt/cache"
  printf 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main\n' \
    >"$here/apt/sources.list"
  local apt=(apt-get -q -o Dir::Etc::sourcelist="$here/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::State::lists="$here/apt/lists" -o Dir::Cache="$here/apt/cache" -o APT::Sandbox::User=)
  [ -n "$(ls "$here"/apt/lists/*Sources* 2>/dev/null)" ] || "${apt[@]}" update
  (cd "$folder.partial" && "${apt[@]}" source --download-only "$1" && rm -f ./*.asc && tar xf ./*.orig.tar.*)
  mv "$folder.partial" "$folder"
}

# objects FOLDER "COMPILER FLAGS" SOURCE...: compiles each source into FOLDER.
objects() {
  local folder=$1 compile=$2 source
  shift 2
  mkdir -p "$folder"
  for source; do
    printf '%s -c %s -o %s\0' "$compile" "$source" "$folder/$(tr / _ <<<"${source#"$sources"/}").o"
  done | xargs -0 -P "$jobs" -I{} bash -c '{} || exit 255'
}

# archive NAME "COMPILER FLAGS" SOURCE...: makes the static library NAME.
archive() {
  local name=$1
  shift
  [ ! -e "$libraries/$name" ] || return 0
  rm -rf "$here/objects/$name"
  objects "$here/objects/$name" "$@"
  ar rcs "$libraries/$name" "$here/objects/$name"/*.o
}

# The C++ standard library: what its shared library holds besides the templates that its headers instantiate, without wide characters,
# and without the parts that only throw and catch exceptions. What this archive lacks comes from the shared library.
standard_library() {
  fetch gcc-12
  local folder=$sources/gcc-12/gcc-12.2.0 name=libstdc++-memory.a
  [ ! -e "$libraries/$name" ] || return 0
  [ -d "$folder" ] || {
    tar xf "$sources"/gcc-12/gcc-12-12.2.0/gcc-12.2.0-dfsg.tar.xz -C "$sources/gcc-12" --wildcards 'gcc-12.2.0/libstdc++-v3/*'
  }
  local root=$folder/libstdc++-v3 objects=$here/objects/$name
  rm -rf "$objects"
  mkdir -p "$objects/include/bits"
  cp "$root/config/locale/gnu/c++locale_internal.h" "$objects/include/bits"
  : >"$objects/include/bits/largefile-config.h"
  # The headers are the installed ones. Only headers that are not installed come from the source.
  local compile="$CXX $flags -w -fimplicit-templates -fsized-deallocation -I$root/libsupc++ -I$root/src/c++11 -I$objects/include"
  # random.cc calls a function of GCC's that clang has under another name.
  compile+=" -mrdrnd -mrdseed -D__builtin_ia32_rdseed_si_step=__builtin_ia32_rdseed32_step"
  local old=() eleven=() seventeen=() file
  for file in list tree streambuf ios_init ios_locale ios_failure istream istream-string locale locale_facets globals_io codecvt \
    stdexcept misc-inst; do
    old+=("$root/src/c++98/$file.cc")
  done
  for file in "$root"/src/c++11/*.cc; do
    case ${file##*/} in
      compatibility* | *wlocale* | *wstring* | debug.cc | regex.cc | limits.cc | *hash_tr1.cc | ext11-inst.cc) ;;
      *) eleven+=("$file") ;;
    esac
  done
  for file in numeric ctype codecvt collate monetary time; do
    eleven+=("$root/config/locale/gnu/${file}_members.cc")
  done
  eleven+=("$root/src/c++98/locale_init.cc" "$root/src/c++98/localename.cc" "$root/config/io/basic_file_stdio.cc"
    "$root/config/os/gnu-linux/ctype_configure_char.cc")
  for file in "$root"/src/c++17/*.cc; do
    case ${file##*/} in
      cow-fs*) ;;
      *) seventeen+=("$file") ;;
    esac
  done
  objects "$objects/old" "$compile -std=gnu++98 -D_GLIBCXX_USE_CXX11_ABI=0" "${old[@]}"
  objects "$objects/old" "$compile -std=gnu++11 -D_GLIBCXX_USE_CXX11_ABI=0" "$root/config/locale/gnu/numeric_members.cc"
  objects "$objects" "$compile -std=gnu++11" "${eleven[@]}"
  objects "$objects" "$compile -std=gnu++11 -include memory" "$root/config/locale/gnu/c_locale.cc"
  objects "$objects" "$compile -std=gnu++17" "${seventeen[@]}"
  objects "$objects" "$compile -std=gnu++20" "$root"/src/c++20/*.cc
  ar rcs "$libraries/$name" "$objects"/*.o "$objects"/old/*.o
}

# with_cmake SOURCE LIBRARY TARGET FLAGS...: builds TARGET with the CMake files of the source and keeps the static library.
with_cmake() {
  local source=$1 library=$2 target=$3
  shift 3
  fetch "$source"
  [ ! -e "$libraries/$library" ] || return 0
  cmake -G "Unix Makefiles" -S "$(echo "$sources/$source"/*/)" -B "$here/$source" -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE= -DCMAKE_C_FLAGS="$flags -w" "$@" >"$here/$source.log"
  cmake --build "$here/$source" --target "$target" --parallel "$jobs" >>"$here/$source.log"
  cp "$(find "$here/$source" -name "$library")" "$libraries/$library"
}

c_libraries() {
  for source in zlib bzip2 libzstd lz4 utf8proc; do fetch $source; done
  local c="$CC $flags -w"
  archive libz.a "$c -DHAVE_UNISTD_H" "$sources"/zlib/*/*.c
  local bzip2=("$sources"/bzip2/*/{blocksort,huffman,crctable,randtable,compress,decompress,bzlib}.c)
  archive libbz2.a "$c" "${bzip2[@]}"
  archive libzstd.a "$c -DZSTD_DISABLE_ASM" "$sources"/libzstd/*/lib/{common,compress,decompress}/*.c
  archive liblz4.a "$c" "$sources"/lz4/*/lib/*.c
  archive libutf8proc.a "$c -DUTF8PROC_STATIC" "$sources"/utf8proc/*/utf8proc.c
  # With vector instructions, its CRC-64 reads the aligned words around the bytes and masks the rest, which MemorySanitizer reports.
  with_cmake xz-utils liblzma.a liblzma -DHAVE_USABLE_CLMUL=OFF
  local off=()
  for feature in OPENSSL NETTLE MBEDTLS LIBXML2 EXPAT LZ4 LZO LIBB2 TEST TAR CPIO CAT ACL XATTR ICONV PCREPOSIX LibGCC CNG; do
    off+=("-DENABLE_$feature=OFF")
  done
  with_cmake libarchive libarchive.a archive_static "${off[@]}" \
    -DZLIB_LIBRARY="$libraries/libz.a" -DBZIP2_LIBRARY_RELEASE="$libraries/libbz2.a" -DLIBLZMA_LIBRARY="$libraries/liblzma.a" \
    -DZSTD_LIBRARY="$libraries/libzstd.a"
}

standard_library
c_libraries
$CXX $flags -std=c++20 -c tests/fuzz/openssl_under_msan.cpp -o "$libraries/openssl_under_msan.o"
standard="-Wl,--whole-archive $libraries/libstdc++-memory.a -Wl,--no-whole-archive -lstdc++ -lm"
cmake -G Ninja -S . -B "$here/berth" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=24 \
  -DCMAKE_C_FLAGS="$memory" -DCMAKE_CXX_FLAGS="$memory" -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" \
  -DCMAKE_EXE_LINKER_FLAGS="$libraries/openssl_under_msan.o $standard" \
  -DZLIB_LIBRARY="$libraries/libz.a" -DBZIP2_LIBRARY_RELEASE="$libraries/libbz2.a" -DLIBLZMA_LIBRARY="$libraries/liblzma.a" \
  -DBERTH_ZSTD="$libraries/libzstd.a" -DBERTH_LZ4="$libraries/liblz4.a" -DBERTH_LIBARCHIVE="$libraries/libarchive.a" \
  -DBERTH_UTF8PROC="$libraries/libutf8proc.a" >/dev/null
# Under MemorySanitizer, tests/fuzz/CMakeLists.txt leaves out the targets that need more of the program than its readers:
# annotated_words, example, explained_file, report and text_list.
cmake --build "$here/berth" --target fuzz_targets
ctest --test-dir "$here/berth/tests/fuzz" --output-on-failure --no-tests=error --parallel "$jobs"
