#pragma once

#include <memory>

#include "storage/http/http_client.h"
#include "storage/hub/hub_requests.h"
#include "storage/retry.h"
#include "storage/storage.h"

// The Hugging Face hub as a Storage. Thread-safe. Errors name the repository or the file.
namespace berth {

// A read-only Storage for models and data sets of the Hugging Face hub, by hf:// URIs (HubPath). A
// file is fetched whole when it is first opened, into the cache that huggingface_hub uses, too
// (HubCache). It is then a local file, which can be mapped. If that cache cannot be written, files
// are in a temporary directory until the storage is destroyed.
//
// The files of a revision are looked up once, so that a branch that moves meanwhile changes
// nothing. The cache keeps their list. If the hub cannot be reached, or if HubOptions::offline is
// set, that list counts. A file on it that the cache lacks is fetched when it is opened; offline
// that throws kNotFound.
//
// Another program may have filled the cache, so that it has no list. Then the cached files count as
// the repository, and a warning says so. list() of a data set throws kUnavailable, offline
// kNotFound, where a download was broken off. Retries by itself. create() and remove() throw
// kUsage.
//
// `http` and `local` must outlive the storage.
std::unique_ptr<Storage> make_hub_storage(HttpClient& http, Storage& local, HubOptions options,
                                          const RetryOptions& retry);

}  // namespace berth
