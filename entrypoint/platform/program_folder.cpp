#include "entrypoint/platform/program_folder.h"

#include <system_error>

namespace berth {

std::filesystem::path program_folder() {
  std::error_code unreadable;
  return std::filesystem::read_symlink("/proc/self/exe", unreadable).parent_path();
}

}  // namespace berth
