#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "storage/base/bytes.h"

namespace berth {

// Writes a file past the page cache (O_DIRECT in open(2)). This is for a large file that nobody
// reads soon, such as a checkpoint. The kernel then need not copy all bytes, nor make and drop
// pages for them, which costs more processor time than the writing itself. The pages also do not
// count toward the memory limit of a container.
//
// Where the file system cannot do this, the file is written through the page cache. Borrows the
// file descriptor. Not thread-safe.
class UncachedWriter {
 public:
  // `fd` is open for writing at its beginning. `path` is for Errors. Throws kMemory.
  UncachedWriter(int fd, std::string path);

  // Throws what file_error() makes of the failure.
  void write(Bytes bytes);
  // Writes the remaining bytes. Nothing may be written afterwards. The file is not synced yet.
  void finish();

 private:
  void write_blocks(size_t size);
  void use_page_cache();

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  const int fd_;
  const std::string path_;
  const std::unique_ptr<std::byte, Free> buffer_;
  size_t filled_ = 0;
  bool is_direct_;
};

}  // namespace berth
