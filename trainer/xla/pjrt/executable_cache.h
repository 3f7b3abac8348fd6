#pragma once

#include <string>
#include <string_view>

#include "trainer/xla/pjrt/client.h"
#include "trainer/xla/pjrt/executable.h"

namespace berth {

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
