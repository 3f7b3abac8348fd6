#pragma once

#include <optional>

#include "storage/base/error.h"
#include "trainer/engine/device.h"
#include "trainer/xla/xla_programs.h"
#include "trainer/xla/xla_tensors.h"

namespace berth {

// The memory that an XLA engine takes on each of `replicas` devices, or on all of them if their
// memory is the host's (`on_host`). Parameters, moments and the
// gradients of several micro-batches are exact. Activations are an estimate for the largest batch,
// because only the compiler knows: of what the layers keep for the backward pass, of the scores of
// attention, of the logits, and of the gradients of a single micro-batch.
//
// `plugin` is without the plugin itself: it is what its compiler takes to compile the programs.
EngineMemory xla_memory(const EngineOptions& options, size_t replicas, bool on_host);

// If `error` is kMemory and the devices report their memory: the same error with a hint how many
// tokens a batch may have. It is computed from the compiler's plan for the largest `compiled`
// program. If no program was compiled, it is computed from the estimate. Any other error as it is.
Error with_batch_that_fits(const Error& error, const EngineOptions& options,
                           const XlaReplicas& replicas,
                           const std::optional<XlaPrograms::BatchMemory>& compiled = {});

}  // namespace berth
