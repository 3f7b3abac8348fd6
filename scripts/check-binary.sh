#!/usr/bin/env bash
# Checks that a binary was built with what makes memory errors hard to use.
#
#   bash scripts/check-binary.sh BINARY
set -u
binary=$1
failures=0

has() {  # has WHAT PATTERN COMMAND...
  local what=$1 pattern=$2
  shift 2
  if [ "$("$@" 2>/dev/null | grep -cE -- "$pattern")" -gt 0 ]; then
    echo "  ok    $what"
  else
    echo "  FAIL  $what"
    failures=$((failures + 1))
  fi
}
lacks() {  # lacks WHAT PATTERN COMMAND...
  local what=$1 pattern=$2
  shift 2
  if [ "$("$@" 2>/dev/null | grep -cE -- "$pattern")" -gt 0 ]; then
    echo "  FAIL  $what"
    failures=$((failures + 1))
  else
    echo "  ok    $what"
  fi
}
bytes() { LC_ALL=C grep --only-matching --byte-offset --text --perl-regexp "$1" "$binary"; }  # bytes PATTERN

has "is position-independent" 'Type: +DYN' readelf --wide --file-header "$binary"
has "resolves all symbols at its start" 'BIND_NOW|FLAGS.*NOW' readelf --wide --dynamic "$binary"
has "has tables that are read-only after its start" 'GNU_RELRO' readelf --wide --program-headers "$binary"
has "has a stack that is not executable" 'GNU_STACK .* RW ' readelf --wide --program-headers "$binary"
lacks "has no segment that is writable and executable" 'LOAD .* RWE ' readelf --wide --program-headers "$binary"
folders=$(readelf --wide --dynamic "$binary" | sed -n 's/.*(R\(UN\)\?PATH).*\[\(.*\)\]/\2/p')
if [ -z "$folders" ] || [ "$folders" = '$ORIGIN/../lib/berth' ]; then
  echo "  ok    looks for libraries in no other folder of its own than ../lib/berth"
else
  echo "  FAIL  looks for libraries in $folders"
  failures=$((failures + 1))
fi
has "guards its stacks" '__stack_chk_fail' readelf --wide --dyn-syms "$binary"
has "checks the sizes of copies" '__mem(cpy|set|move)_chk|__read_chk|__snprintf_chk' readelf --wide --dyn-syms "$binary"
has "checks the bounds of containers" '__glibcxx_assert_fail' readelf --wide --dyn-syms "$binary"
# The libraries that are linked statically have neither of these instructions.
if [[ $(readelf --wide --file-header "$binary") == *X86-64* ]]; then
  has "touches each page of a large stack frame" . bytes '\x48\x83\x0c\x24\x00'  # orq $0, (%rsp)
  has "marks the targets of indirect jumps" . bytes '\xf3\x0f\x1e\xfa'           # endbr64
fi
[ $failures -eq 0 ]
