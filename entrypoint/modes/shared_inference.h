#pragma once

#include <functional>

#include "entrypoint/job/job.h"
#include "storage/storage.h"

namespace berth {

// Runs a mode that only reads a model: eval, predict or embed. With several workers, each computes
// a part of the batches, and worker 0 writes the results of all. Throws what `mode` and Cluster do.
void run_inference(Job& job, void (*mode)(Job& job));

// Writes one object, which `fill` computes: store_object(), where `fill` may be called again. With
// several workers it is called once, because the others compute with this one, and the bytes wait
// in a temporary file.
void store_results(Job& job, const Uri& uri, const std::function<void(ByteSink&)>& fill);

}  // namespace berth
