#pragma once

#include <atomic>
#include <cstdint>

#include "storage/formats/vector_writer.h"
#include "trainer/data/dataset.h"
#include "trainer/distributed/communicator.h"
#include "trainer/engine/engine.h"
#include "trainer/loop/observer.h"

namespace berth {

// The steps that turn each pooled state into an embedding, in this order.
struct EmbeddingForm {
  bool normalizes = false;  // scaled to length 1
  size_t width = SIZE_MAX;  // its first numbers only
  bool normalizes_after = false;
};

// Writes the embedding of each example, in order, and finishes the writer. The engine's task is
// Task::kTextEmbedding. Returns false if `stop` was set meanwhile; the writer then lacks rows.
// Throws kBadData, naming the row, if a number is not finite. With several ranks, each computes a
// part, as run_forward() says. Ranks that write nothing have no writer. `writer` and `ranks` may be
// null.
bool write_embeddings(Engine& engine, Dataset& data, int64_t batch_size, const EmbeddingForm& form,
                      VectorWriter* writer, Observer& observer, const std::atomic<bool>& stop,
                      Communicator* ranks);

}  // namespace berth
