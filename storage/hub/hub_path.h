#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "storage/storage.h"

// Names of the hub's repositories and files. Thread-safe.
namespace berth {

// A file, or with an empty `path` the root, of a repository of the Hugging Face hub. Its URI is
// hf://[datasets/][ORGANISATION/]NAME[@REVISION][/PATH]. A NAME without an organisation has a
// REVISION before a PATH, because NAME/PATH would otherwise read as ORGANISATION/NAME. A "/" in
// REVISION is written "%2F".
struct HubPath {
  bool is_dataset = false;
  std::string repository;         // "google-bert/bert-base-uncased" or "bert-base-uncased"
  std::string revision = "main";  // a branch, a tag or a commit
  std::string path;               // in the repository; without "/" at its ends

  // Throws kUsage if the URI names no repository, or if a name has a form that the hub forbids. All
  // parts are safe as parts of local paths.
  static HubPath parse(const Uri& uri);

  // What follows the endpoint in addresses of the repository's files: "datasets/ORG/NAME".
  std::string web_path() const;
  // What follows "/api/": "models/ORG/NAME".
  std::string api_path() const;
  // The repository's folder in the cache: "models--ORG--NAME".
  std::string cache_folder() const;
  // hf://..., without the path.
  std::string repository_uri() const;
};

// The URI of the model that `name` may mean on the hub, such as "bert-base-uncased", "org/name" or
// "org/name@revision". nullopt if the hub has no names of this form. The caller checks whether
// there is a local folder of that name.
std::optional<std::string> hub_uri_of(std::string_view name);

// Whether `text` is the hash of a commit: 40 hexadecimal digits in lower case.
bool is_commit(std::string_view text);

}  // namespace berth
