#include "entrypoint/platform/bundled_model.h"

#include <system_error>

#include "entrypoint/platform/program_folder.h"

namespace berth {

std::optional<std::filesystem::path> find_bundled_model() {
  namespace fs = std::filesystem;
  std::error_code unreadable;
  const fs::path directory = program_folder();
  for (const fs::path& candidate :
       {directory / "../share/berth/model", directory / "../../examples/model"}) {
    if (fs::exists(candidate / "config.json", unreadable)) return candidate.lexically_normal();
  }
  return std::nullopt;
}

}  // namespace berth
