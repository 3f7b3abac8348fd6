#include "trainer/xla/pjrt/cache_entry.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "storage/base/bytes.h"
#include "storage/base/crc32c.h"
#include "storage/base/error.h"

namespace berth {
namespace {

constexpr std::string_view kMagic = "berthxla";
constexpr uint32_t kVersion = 1;

template <typename T>
void put(std::string& out, T value) {
  for (size_t i = 0; i < sizeof value; ++i) out += static_cast<char>(value >> (8 * i));
}

[[noreturn]] void throw_not_written(const std::string& path) {
  const int number = errno;
  throw Error(number == ENOSPC || number == EDQUOT ? Code::kNoSpace : Code::kNotPermitted,
              "cannot be written: " + std::system_category().message(number), path);
}

}  // namespace

std::optional<std::string> read_cache_entry(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(Code::kNotPermitted, "cannot be read", path);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  try {
    Cursor cursor(as_bytes(content));
    if (as_text(cursor.take(kMagic.size())) != kMagic) cursor.fail("not an entry of this cache");
    if (cursor.u32() != kVersion) cursor.fail("another version of the layout");
    const uint32_t crc = cursor.u32();
    const uint64_t size = cursor.u64();
    if (size != cursor.remaining()) cursor.fail("the size is wrong");
    const size_t header = cursor.offset();
    if (crc32c(cursor.take(size)) != crc) cursor.fail("the checksum is wrong");
    return content.substr(header);
  } catch (const Error& error) {
    throw error.at(path);
  }
}

void write_cache_entry(const std::string& path, std::string_view payload) {
  std::string header(kMagic);
  put(header, kVersion);
  put(header, crc32c(as_bytes(payload)));
  put(header, uint64_t{payload.size()});

  std::error_code failure;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failure);
  if (failure) {
    throw Error(Code::kNotPermitted, "its folder cannot be made: " + failure.message(), path);
  }
  static std::atomic<int> counter = 0;  // several threads of one process may write the same entry
  const std::string temporary =
      path + "." + std::to_string(::getpid()) + "-" + std::to_string(counter++) + ".tmp";
  errno = 0;
  std::ofstream file(temporary, std::ios::binary);
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  file.write(payload.data(), static_cast<std::streamsize>(payload.size()));
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int number = errno;
    std::filesystem::remove(temporary, failure);
    errno = number;
    throw_not_written(path);
  }
}

}  // namespace berth
