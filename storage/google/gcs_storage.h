#pragma once

#include <memory>
#include <string>

#include "storage/google/credentials.h"
#include "storage/http/http_client.h"
#include "storage/storage.h"

namespace berth {

// Accesses objects of Google Cloud Storage through its JSON API. Each call makes one attempt and
// throws kUnavailable if another one may succeed. Sources return the stored bytes: nothing is
// decompressed, and checksums are not compared (see verified_storage.h). Every write has a
// precondition. The server's answer to a write is compared with the CRC-32C and the size of what
// was sent. `http` and `credentials` must outlive the storage. `endpoint` is
// "https://storage.googleapis.com" or an emulator's "http://host:port". `user_project` is billed
// for the requests. If it is empty, the bucket's project is billed.
std::unique_ptr<JoiningStorage> make_gcs_storage(std::string endpoint, HttpClient& http,
                                                 Credentials& credentials,
                                                 std::string user_project = {});

}  // namespace berth
