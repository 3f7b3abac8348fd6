#include "entrypoint/job/hub_model.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/http/http_client.h"
#include "storage/hub/hub_path.h"

namespace berth {
namespace {

// Endings of names that are files and never models of the hub.
constexpr std::string_view kFileEndings[] = {".safetensors", ".bin",  ".pt",  ".pth",
                                             ".ckpt",        ".json", ".txt", ".index"};

bool looks_like_file(std::string_view name) {
  return is_archive(name) ||
         std::any_of(std::begin(kFileEndings), std::end(kFileEndings),
                     [name](std::string_view ending) { return name.ends_with(ending); });
}

// Whether the name, or the folder that it would lie in, exists here. In the second case the name is
// a misspelt path.
bool is_local(const std::string& name) {
  std::error_code ignored;
  const std::filesystem::path first = *std::filesystem::path(name).begin();
  return std::filesystem::exists(first, ignored) || std::filesystem::exists(name, ignored);
}

}  // namespace

std::string local_or_hub_name(const std::string& name) {
  const std::optional<std::string> uri = hub_uri_of(name);
  return !uri || looks_like_file(name) || is_local(name) ? name : *uri;
}

std::string local_or_hub_model(Storage& storage, const std::string& name) {
  std::string uri = local_or_hub_name(name);
  if (uri == name) return name;
  constexpr size_t kOne = 1;
  try {
    storage.list(Uri::parse(uri), kOne);
  } catch (const Error& error) {
    const bool is_unavailable = error.code() == Code::kUnavailable;
    if (error.code() != Code::kNotFound && !is_unavailable) throw;
    const bool may_come = is_unavailable && error.problem().find(kUnknownHost) == std::string::npos;
    throw Error(may_come ? Code::kUnavailable : Code::kNotFound,
                cat("no such folder here, and as a name of the hub: ", error.problem()), name,
                error.hint());
  }
  log_info(cat(name, " is not a folder here, but of the Hugging Face hub: ",
               HubPath::parse(Uri::parse(uri)).repository_uri()));
  return uri;
}

}  // namespace berth
