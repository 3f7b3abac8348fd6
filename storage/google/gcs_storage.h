#pragma once

#include <memory>
#include <string>

#include "storage/google/credentials.h"
#include "storage/http/http_client.h"
#include "storage/storage.h"

namespace berth {

// Objects of Google Cloud Storage, by its JSON API. One try a call; what another try may mend is
// kUnavailable. Bytes are the stored ones: nothing is decompressed here, and sources do not compare
// checksums (see verified_storage.h). Every write carries a precondition; its answer is compared
// with the CRC-32C and the size of what was sent. `http` and `credentials` outlive it. `endpoint`
// is "https://storage.googleapis.com" or an emulator's "http://host:port".
std::unique_ptr<Storage> make_gcs_storage(std::string endpoint, HttpClient& http,
                                          Credentials& credentials);

}  // namespace berth
