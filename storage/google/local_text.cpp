#include "storage/google/local_text.h"

#include <filesystem>
#include <fstream>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongest = 1 << 20;

}  // namespace

std::optional<LocalText> read_local_text(const std::string& path) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (status.type() == fs::file_type::not_found) return std::nullopt;
  if (status.type() == fs::file_type::directory) {
    throw Error(Code::kUsage, "is a directory", path, "name a file in it");
  }
  std::ifstream file;
  file.rdbuf()->pubsetbuf(nullptr, 0);
  if (!failure) file.open(path, std::ios::binary);
  if (failure || !file.is_open()) {
    throw Error(Code::kNotPermitted, "cannot be opened", path,
                "change its owner or mode, or run as another user");
  }
  LocalText read{.text = std::string(kLongest + 1, '\0'),
                 .is_shared = (status.permissions() & (fs::perms::group_read |
                                                       fs::perms::others_read)) != fs::perms::none};
  file.read(read.text.data(), static_cast<std::streamsize>(read.text.size()));
  if (file.bad()) throw Error(Code::kNotPermitted, "cannot be read", path, "check the disk");
  const auto size = static_cast<size_t>(file.gcount());
  if (size > kLongest) {
    throw Error(Code::kUsage, "is larger than " + human_bytes(kLongest), path,
                "name a file of credentials");
  }
  read.text.resize(size);
  return read;
}

}  // namespace berth
