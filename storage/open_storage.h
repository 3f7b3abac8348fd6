#pragma once

#include <functional>
#include <memory>
#include <string>

#include "storage/google/credentials.h"
#include "storage/http/http_client.h"
#include "storage/retry.h"
#include "storage/storage.h"
#include "storage/verified_storage.h"

namespace berth {

struct StorageOptions {
  std::string endpoint{};       // of Google Cloud Storage elsewhere; credentials are used
  std::string emulator_host{};  // STORAGE_EMULATOR_HOST, with or without scheme; none are used
  bool anonymous = false;       // no credentials: public objects
  std::string cache_dir{};  // where whole remote objects are kept on this machine; empty: nowhere
  CredentialOptions credentials{};
  RetryOptions retry{};
  HttpClientOptions http{};
  TransferOptions transfer{.joins_parts = true};  // joins_parts is of Google Cloud Storage alone
};

// The program's storage: each call goes to the implementation of the URI's scheme (file, gs, http,
// https), which is made at its first use. Remote ones are retried, verified and, with a cache_dir,
// cached; archives can be read into. Throws kUsage for a malformed endpoint.
std::unique_ptr<Storage> open_storage(const StorageOptions& options = {});

}  // namespace berth
