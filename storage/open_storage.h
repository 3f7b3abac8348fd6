#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/google/credentials.h"
#include "storage/http/http_client.h"
#include "storage/hub/hub_requests.h"
#include "storage/retry.h"
#include "storage/storage.h"
#include "storage/verified_storage.h"

// The program's storage, built from its layers. Thread-safe.
namespace berth {

struct StorageOptions {
  std::string endpoint{};  // of a Cloud Storage server to use instead of Google's; with credentials
  std::string emulator_host{};  // STORAGE_EMULATOR_HOST, scheme optional; without credentials
  bool anonymous = false;       // read public objects without credentials
  std::string user_project{};   // that is billed for requests to Cloud Storage; empty: the bucket's
  std::string cache_dir{};      // local directory for copies of remote objects; empty: no cache
  std::vector<std::string> pipes{};  // named pipes that may be read (make_local_storage())
  CredentialOptions credentials{};
  HubOptions hub{};
  RetryOptions retry{};
  HttpClientOptions http{};
  TransferOptions transfer{.joins_parts = true};  // joins_parts applies to Cloud Storage only
};

// Returns the program's storage. Each call goes to the implementation for the URI's scheme (file,
// gs, hf, http, https), which is created at first use. Remote calls are retried and verified, and
// cached if there is a cache_dir; those to the hub have a cache of their own. Paths may lead into
// archives. Throws kUsage for a malformed endpoint.
std::unique_ptr<Storage> open_storage(const StorageOptions& options = {});

}  // namespace berth
