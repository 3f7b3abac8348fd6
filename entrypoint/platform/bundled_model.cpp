#include "entrypoint/platform/bundled_model.h"

#include <system_error>

namespace berth {

std::optional<std::filesystem::path> find_bundled_model() {
  namespace fs = std::filesystem;
  std::error_code unreadable;
  const fs::path directory = fs::read_symlink("/proc/self/exe", unreadable).parent_path();
  for (const fs::path& candidate :
       {directory / "../share/berth/model", directory / "../../examples/model"}) {
    if (fs::exists(candidate / "config.json", unreadable)) return candidate.lexically_normal();
  }
  return std::nullopt;
}

}  // namespace berth
