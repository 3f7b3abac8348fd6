#include "trainer/xla/pjrt/executable_cache.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "trainer/xla/pjrt/cache_entry.h"
#include "trainer/xla/pjrt/hash128.h"

namespace berth {
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
