#include "trainer/xla/pjrt/library_file.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "storage/base/error.h"

namespace berth {

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

}  // namespace berth
