#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "storage/http/http_client.h"
#include "storage/hub/hub_path.h"
#include "storage/retry.h"

namespace berth {

// The settings for the hub in the environment, by the variables of the huggingface_hub package.
struct HubOptions {
  std::string endpoint = "https://huggingface.co";  // HF_ENDPOINT
  std::string token{};                              // HF_TOKEN, or the text of the file below
  std::string token_file{};                         // HF_TOKEN_PATH, or HF_HOME/token
  std::string cache_dir{};  // HF_HUB_CACHE, or HF_HOME/hub; empty: a temporary one
  bool offline = false;     // HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE
};

// A file of a repository.
struct HubFile {
  std::string path;  // relative; it leads to no other folder
  uint64_t size = 0;
  std::string hash;  // what ContentHash makes of the content
};

// The files of a repository at one commit, except files whose names no local file can have.
struct HubSnapshot {
  std::string commit;
  std::vector<HubFile> files;  // sorted by path
  bool is_whole = true;        // false: a cache holds these files, and there may be others
};

// The snapshot that the hub's answer describes. Throws kBadData, about `path`, if the answer is not
// in the hub's format.
HubSnapshot parse_snapshot(std::string_view answer, const HubPath& path);
// An answer from which parse_snapshot() makes this snapshot again.
std::string to_answer(const HubSnapshot& snapshot);

// The program's requests to the hub. The token is sent to the endpoint's own scheme, host and port,
// and never to where the endpoint redirects. Thread-safe.
class HubRequests {
 public:
  // `http` must outlive this.
  HubRequests(HttpClient& http, HubOptions options);

  // Makes one attempt. Throws kNotFound if there is no such repository or revision, and
  // kNotPermitted if the token does not give access. Throws kUnavailable if another attempt may
  // help, and kBadData if the answer is not in the hub's format.
  HubSnapshot snapshot(const HubPath& path);

  // Starts to fetch a file from its byte `offset` on; the answer's status is 200 (from the first
  // byte on) or 206. Makes one attempt and throws what snapshot() throws.
  std::unique_ptr<HttpStream> open(const HubPath& path, const std::string& commit,
                                   const HubFile& file, uint64_t offset,
                                   const std::stop_token& stop);

 private:
  std::unique_ptr<HttpStream> get(std::string url, const std::string& range,
                                  const std::stop_token& stop);
  Error refusal(const HttpStream& answer, const HubPath& path) const;

  HttpClient& http_;
  const HubOptions options_;
  const std::string token_;
};

}  // namespace berth
