#pragma once

#include <memory>
#include <string>

#include "storage/base/bytes.h"

struct evp_md_ctx_st;

// The hashes of the hub. Throws std::bad_alloc alone.
namespace berth {

// The hash by which the hub names the content of a file: SHA-256 of the bytes for large files, and
// what git calls a blob (SHA-1 of "blob SIZE", a zero byte and the bytes) for the others. The
// number of its hexadecimal digits shows which one. Not thread-safe.
class ContentHash {
 public:
  // `expected` has 64 or 40 hexadecimal digits. `size` is the size of the whole content.
  ContentHash(const std::string& expected, uint64_t size);

  void update(Bytes bytes);
  std::string finish();  // in hexadecimal digits; call it once

  static bool is_one(std::string_view text);  // 64 or 40 hexadecimal digits in lower case

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace berth
