#include "storage/open_storage.h"

#include <mutex>

#include "storage/archived_storage.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/cached_storage.h"
#include "storage/google/gcs_storage.h"
#include "storage/http/http_storage.h"
#include "storage/hub/hub_storage.h"
#include "storage/local_storage.h"
#include "storage/retry.h"

namespace berth {
namespace {

constexpr const char* kGoogleStorage = "https://storage.googleapis.com";

// Normalizes an endpoint as users write it: the scheme may be missing, and "/" or "/storage/v1" may
// follow.
std::string normalized(std::string endpoint, std::string_view default_scheme) {
  if (endpoint.find("://") == std::string::npos) endpoint = cat(default_scheme, endpoint);
  const auto drop = [&endpoint](std::string_view tail) {
    if (endpoint.ends_with(tail)) endpoint.resize(endpoint.size() - tail.size());
  };
  drop("/");
  drop("/storage/v1");
  drop("/");
  return endpoint;
}

class StorageByScheme final : public StorageLayer {
 public:
  explicit StorageByScheme(const StorageOptions& options)
      : StorageLayer(make_local_storage(options.pipes)), options_(options) {}

 private:
  Storage& inner_for(const Uri& uri) override {
    if (uri.is_local()) return inner();
    const std::lock_guard lock(mutex_);
    if (!http_client_) http_client_ = make_http_client(options_.http);
    if (uri.scheme() == "gs") {
      if (!google_) make_google();
      return *google_;
    }
    if (uri.scheme() == "hf") {
      if (!hub_) hub_ = make_hub_storage(*http_client_, inner(), options_.hub, options_.retry);
      return *hub_;
    }
    if (!http_) {
      TransferOptions one =
          options_.transfer;  // a single request per file is kinder to other people's servers
      one.connections = 1;
      http_ = whole_objects(make_http_storage(*http_client_), one);
    }
    return *http_;
  }

  void make_google() {
    std::string endpoint = kGoogleStorage;
    bool anonymous = options_.anonymous;
    if (!options_.endpoint.empty()) {
      endpoint = normalized(options_.endpoint, "https://");
    } else if (!options_.emulator_host.empty()) {
      endpoint = normalized(options_.emulator_host, "http://");
      anonymous = true;
      log_info(cat("STORAGE_EMULATOR_HOST: gs:// is ", endpoint, ", without credentials"));
    }
    credentials_ = anonymous ? anonymous_credentials()
                             : default_credentials(options_.credentials, *http_client_);
    google_ = whole_objects(
        make_gcs_storage(endpoint, *http_client_, *credentials_, options_.user_project),
        options_.transfer);
  }

  // Adds the layers above a transport. The transport itself never retries.
  template <typename Transport>  // Storage or JoiningStorage
  std::unique_ptr<Storage> whole_objects(std::unique_ptr<Transport> transport,
                                         const TransferOptions& transfer) {
    auto storage = make_verified_storage(
        make_retrying_storage(std::move(transport), options_.retry), transfer);
    if (options_.cache_dir.empty()) return storage;
    return make_cached_storage(std::move(storage), inner(), options_.cache_dir);
  }

  const StorageOptions options_;
  std::mutex mutex_;  // guards the creation of the members below
  std::unique_ptr<HttpClient> http_client_;
  std::unique_ptr<Credentials> credentials_;
  std::unique_ptr<Storage> google_, hub_, http_;
};

}  // namespace

std::unique_ptr<Storage> open_storage(const StorageOptions& options) {
  return make_archived_storage(std::make_unique<StorageByScheme>(options));
}

}  // namespace berth
