#pragma once

#include <memory>

#include "storage/google/gcs_requests.h"
#include "storage/google/spare_buffers.h"
#include "storage/storage.h"

namespace berth {

// Writes a new version of the object `uri`. Up to 8 MiB are sent in one request. More is sent
// through a resumable upload session in chunks of 16 MiB. Two chunks are kept: one is being sent
// while the next one fills. Lent bytes are sent from the caller's memory without a copy.
// `options.if_generation` must be set.
//
// If an answer is lost, the next attempt asks the session how much it has, or looks for the object
// with this upload's mark. A session that expired before it stored anything is started again. If it
// expires later, the sink throws UploadLost.
//
// `requests` and `buffers` must outlive the sink. Protocol:
// https://cloud.google.com/storage/docs/performing-resumable-uploads
std::unique_ptr<ByteSink> make_gcs_upload(GcsRequests& requests, SpareBuffers& buffers,
                                          const Uri& uri, const WriteOptions& options);

}  // namespace berth
