#include "trainer/xla/pjrt/executable_cache.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

#include "storage/base/bytes.h"
#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/philox.h"
#include "storage/base/text.h"

namespace berth {

void Hash128::mix(const std::array<uint32_t, 4>& block) {
  // Philox's key has 64 bits, half of the state. The other half goes into the counter, so that all
  // of the state decides the result.
  const std::array<uint32_t, 4> counter = {block[0] ^ state_[2], block[1] ^ state_[3],
                                           block[2] ^ state_[0], block[3] ^ state_[1]};
  const std::array<uint32_t, 4> mixed = philox4x32(counter, {state_[0], state_[1]});
  for (size_t i = 0; i < 4; ++i) state_[i] ^= mixed[i] ^ block[i];
}

void Hash128::add(std::string_view text) {
  mix({low_word(text.size()), high_word(text.size()), 0, 1});
  for (size_t at = 0; at < text.size(); at += 16) {
    std::array<uint32_t, 4> block = {};
    const std::string_view part = text.substr(at, 16);
    std::memcpy(block.data(), part.data(), part.size());
    mix(block);
  }
}

std::string Hash128::hex() const {
  return formatted("%08x%08x%08x%08x", state_[0], state_[1], state_[2], state_[3]);
}

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

namespace {

// A program that was compiled for the CPU uses the instructions of the machine that compiled it.
std::string instruction_set() {
  std::ifstream cpus("/proc/cpuinfo");
  for (std::string line; std::getline(cpus, line);) {
    if (line.starts_with("flags") || line.starts_with("Features")) return line;
  }
  return "";
}

std::string key_of(const PjrtClient& client, std::string_view program,
                   const PjrtCompileOptions& options, const std::string& compiler_environment) {
  std::error_code ignored;
  Hash128 hash;
  hash.add(program);
  hash.add(serialized(options));
  hash.add(compiler_environment);
  // Not every plugin has a version of its own in platform_version. The size of its file
  // distinguishes builds. The time of the file would differ between two containers with the same
  // plugin.
  hash.add(client.plugin().api_version());
  hash.add(std::to_string(std::filesystem::file_size(client.plugin().path(), ignored)));
  hash.add(client.platform());
  hash.add(client.platform_version());
  hash.add(std::to_string(client.devices().size()));
  for (const PjrtDevice& device : client.devices()) hash.add(device.kind);
  if (client.platform() == "cpu") hash.add(instruction_set());
  return hash.hex();
}

std::optional<PjrtExecutable> load_entry(const PjrtClient& client, const std::string& path) {
  try {
    const std::optional<std::string> payload = read_cache_entry(path);
    if (payload) return PjrtExecutable::load(client, *payload);
  } catch (const Error& error) {
    if (error.code() == Code::kMemory) throw;
    log_warning("a cached program is unusable and is compiled again: " + std::string(error.what()));
  }
  return std::nullopt;
}

void store_entry(const PjrtExecutable& executable, const std::string& path) {
  try {
    write_cache_entry(path, executable.serialize());
  } catch (const Error& error) {
    log_warning("a compiled program is not cached: " + std::string(error.what()));
  }
}

}  // namespace

std::string ExecutableCache::entry_path(const PjrtClient& client, std::string_view program,
                                        const PjrtCompileOptions& options) const {
  return (std::filesystem::path(folder_) /
          (key_of(client, program, options, compiler_environment_) + ".xla"))
      .string();
}

PjrtExecutable ExecutableCache::compile(const PjrtClient& client, std::string_view program,
                                        const PjrtCompileOptions& options) const {
  if (folder_.empty()) return PjrtExecutable::compile(client, program, options, deadline_s_);
  const std::string path = entry_path(client, program, options);
  if (auto cached = load_entry(client, path)) return std::move(*cached);
  PjrtExecutable executable = PjrtExecutable::compile(client, program, options, deadline_s_);
  store_entry(executable, path);
  return executable;
}

}  // namespace berth
