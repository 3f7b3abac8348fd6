#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trainer/xla/pjrt/client.h"
#include "trainer/xla/pjrt/executable.h"

namespace berth {

// A 128-bit hash of a sequence of texts, for names of cache entries. Different sequences get
// different hashes but for a chance of about 2^-128 a pair. It is no defence against someone who
// searches for two texts with the same hash.
//
// Philox 4x32-10 (storage/base/philox.h) as a block cipher in the Matyas-Meyer-Oseas mode (Menezes
// et al., Handbook of Applied Cryptography, 9.4.1): H_i = philox(block_i; key from H_{i-1}) ^
// block_i ^ H_{i-1}. Each text is preceded by its size.
class Hash128 {
 public:
  void add(std::string_view text);
  std::string hex() const;  // 32 digits

 private:
  void mix(const std::array<uint32_t, 4>& block);

  std::array<uint32_t, 4> state_ = {0x62657274, 0x68786c61, 0x63616368, 0x65763031};
};

// One file of the executable cache, little-endian:
//
//   offset  0  "berthxla"
//           8  u32  version of this layout, 1
//          12  u32  CRC-32C of the payload
//          16  u64  size of the payload in bytes
//          24  the payload, to the end of the file

// Returns the payload, or nullopt if there is no such file. Throws kCorrupt where the file is
// damaged, and kNotPermitted where it cannot be read.
std::optional<std::string> read_cache_entry(const std::string& path);

// Writes to a temporary name in the same folder, which it makes if it is absent, and renames that:
// the entry appears as a whole. Throws kNotPermitted or kNoSpace.
void write_cache_entry(const std::string& path, std::string_view payload);

// Compiled programs in a folder, because compiling a large one takes tens of seconds.
//
// An entry's name is a 128-bit hash of everything on which the compiled program depends. This is
// the program, the options, the compiler's environment, the plugin's file and versions, and the
// kind and number of the devices. On the platform "cpu", it is also the instruction set of this
// machine. An entry is written to a temporary name and then renamed, so several processes may share
// a folder. Whoever can write to the folder can make this program run any code: it must be as
// trusted as the program itself. Nothing is ever removed.
//
// Thread-safe.
class ExecutableCache {
 public:
  // `folder` is local, and is made when the first entry is written. "" caches nothing.
  // `compiler_environment` is the part of the process's environment that the compiler reads, in any
  // form. compile() waits `deadline_s` seconds for one program.
  explicit ExecutableCache(std::string folder, std::string compiler_environment = "",
                           double deadline_s = kCompileDeadlineS)
      : folder_(std::move(folder)),
        compiler_environment_(std::move(compiler_environment)),
        deadline_s_(deadline_s) {}

  // Returns the program, loaded from its entry or else compiled and then stored. A damaged entry,
  // and one that the plugin does not accept, is compiled again after one warning. An entry that
  // cannot be written costs one warning. Throws what PjrtExecutable::compile() throws.
  PjrtExecutable compile(const PjrtClient& client, std::string_view program,
                         const PjrtCompileOptions& options = {}) const;

  // The path of the entry that compile() would read and write.
  std::string entry_path(const PjrtClient& client, std::string_view program,
                         const PjrtCompileOptions& options) const;

 private:
  std::string folder_, compiler_environment_;
  double deadline_s_;
};

}  // namespace berth
