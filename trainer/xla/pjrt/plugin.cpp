#include "trainer/xla/pjrt/plugin.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/xla/pjrt/api.h"

namespace berth {
namespace {

// Throws kUsage if the shared library at `path` ends before its last segment, as after a download
// that was cut off: dlopen() maps such a file and the process dies of SIGBUS. Other damage is left
// to dlopen(), which reports it.
void check_library_is_whole(const std::string& path) {
  std::error_code ignored;
  const uint64_t size = std::filesystem::file_size(path, ignored);
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header = {};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!file || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) return;

  uint64_t end = header.e_phoff + uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment = {};
    file.read(reinterpret_cast<char*>(&segment), sizeof segment);
    if (!file) break;
    if (segment.p_type == PT_LOAD) end = std::max(end, segment.p_offset + segment.p_filesz);
  }
  if (end <= size) return;
  throw Error(Code::kUsage,
              "cannot be loaded: the file has " + std::to_string(size) + " bytes of at least " +
                  std::to_string(end),
              path, "download it again");
}

const char kNameAPlugin[] = "name the shared library of a PJRT plugin";

const PJRT_Api* table_of(const std::string& path) {
  check_library_is_whole(path);
  // Plugins name these parts of the C library, which are empty since glibc 2.34. A packaged program
  // loads its own parts: the system's parts may belong to another C library, and a system without
  // glibc has none.
  for (const char* part : {"libdl.so.2", "libpthread.so.0", "librt.so.1"})
    ::dlopen(part, RTLD_LAZY);
  // RTLD_LOCAL: a plugin brings its own copies of libraries that this program also uses.
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    std::string text = reason == nullptr ? "no reason given" : reason;
    if (text.starts_with(path + ": ")) text.erase(0, path.size() + 2);
    throw Error(Code::kUsage, "cannot be loaded: " + text, path, kNameAPlugin);
  }
  using GetPjrtApi = const PJRT_Api* (*)();
  const auto get = reinterpret_cast<GetPjrtApi>(::dlsym(library, "GetPjrtApi"));
  if (get == nullptr) {
    throw Error(Code::kUsage, "has no function GetPjrtApi, so it is not a PJRT plugin", path,
                kNameAPlugin);
  }
  const PJRT_Api* table = get();
  if (table == nullptr)
    throw Error(Code::kUsage, "GetPjrtApi returned nothing", path, kNameAPlugin);
  return table;
}

void check_version(const PJRT_Api& table, const std::string& path) {
  constexpr size_t kVersionEnd = PJRT_STRUCT_SIZE(PJRT_Api, pjrt_api_version);
  constexpr size_t kErrorsEnd = PJRT_STRUCT_SIZE(PJRT_Api, PJRT_Error_Message);
  const int major = table.struct_size < kVersionEnd ? -1 : table.pjrt_api_version.major_version;
  if (major != PJRT_API_MAJOR) {
    throw Error(Code::kUsage,
                "is a plugin of PJRT's major version " +
                    (major < 0 ? "\"unknown\"" : std::to_string(major)) +
                    ", but this program needs " + std::to_string(PJRT_API_MAJOR),
                path, "use a plugin of that major version");
  }
  if (table.struct_size < kErrorsEnd || table.PJRT_Error_Destroy == nullptr ||
      table.PJRT_Error_Message == nullptr) {
    throw Error(Code::kUsage, "is a plugin that cannot report errors", path, kNameAPlugin);
  }
}

}  // namespace

PjrtPlugin::PjrtPlugin(std::string path, const PJRT_Api* table)
    : path_(std::move(path)), table_(table) {}

PjrtPlugin::PjrtPlugin(std::string path, double deadline_s) : path_(std::move(path)) {
  std::error_code ignored;
  if (!std::filesystem::exists(path_, ignored)) {
    throw Error(Code::kNotFound, "no such file", path_, kNameAPlugin);
  }
  const auto open = [path = path_] {
    const PJRT_Api* const table = table_of(path);
    check_version(*table, path);
    try {
      PJRT_CALL(PjrtPlugin(path, table), Plugin_Initialize);
    } catch (const Error& error) {
      const Code code = error.code() == Code::kMemory ? Code::kMemory : Code::kUsage;
      throw Error(code, error.problem(), error.where(),
                  "check that its device and the device's driver are present");
    }
    return table;
  };
  const Error late(Code::kUsage, cat("the plugin did not start within ", deadline_s, " s"), path_,
                   kDeviceHint);
  table_ = run_within<const PJRT_Api*>(deadline_s, open, late);
}

std::string PjrtPlugin::api_version() const {
  return cat(table_->pjrt_api_version.major_version, ".", table_->pjrt_api_version.minor_version);
}

void end_at_once_on_exit() {
  // exit() calls this before the destructors of static objects, with the process's exit code.
  ::on_exit(
      [](int status, void*) {
        std::fflush(nullptr);
        ::_exit(status);
      },
      nullptr);
}

}  // namespace berth
