#pragma once

#include <memory>
#include <vector>

#include "storage/google/gcs_requests.h"
#include "storage/storage.h"

namespace berth {

// The sink of JoiningStorage::join(): the server joins the parts and deletes them. If the answer is
// lost, the next close() finds the object by the mark in its metadata.
//
// Protocol: https://cloud.google.com/storage/docs/composite-objects
std::unique_ptr<ByteSink> make_gcs_join(GcsRequests& requests, const Uri& uri,
                                        std::vector<Stat> parts, Generation if_generation);

}  // namespace berth
