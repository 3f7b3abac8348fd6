#pragma once

#include <memory>

#include "storage/google/gcs_requests.h"
#include "storage/storage.h"

namespace berth {

// A new version of the object `uri` out of `options.made_of`, joined by the server and deleted by
// it. `options.if_generation` is set. A lost answer is made good by asking the object for its mark;
// parts that are gone are UploadLost.
//
// Protocol: https://cloud.google.com/storage/docs/composite-objects
std::unique_ptr<ByteSink> make_gcs_join(GcsRequests& requests, const Uri& uri,
                                        const WriteOptions& options);

}  // namespace berth
