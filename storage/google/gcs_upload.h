#pragma once

#include <memory>

#include "storage/google/gcs_requests.h"
#include "storage/google/spare_buffers.h"
#include "storage/storage.h"

namespace berth {

// A new version of the object `uri`: up to 8 MiB in one request, more by a resumable session in
// chunks of 16 MiB, of which it keeps two: one is on its way while the next fills. What it is lent
// it sends from where it lies.
// `options.if_generation` is set. A lost answer is made good by asking the session, or the object
// for the mark that this upload left on it; a session that is gone before it stored anything is
// started again, later it is UploadLost.
//
// `requests` and `buffers` outlive it. Protocol:
// https://cloud.google.com/storage/docs/performing-resumable-uploads
std::unique_ptr<ByteSink> make_gcs_upload(GcsRequests& requests, SpareBuffers& buffers,
                                          const Uri& uri, const WriteOptions& options);

}  // namespace berth
