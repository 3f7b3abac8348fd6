#include "trainer/data/batcher.h"

#include <algorithm>
#include <numeric>

namespace berth {
namespace {

// In-memory data is one block: its shuffle is complete.
int64_t whole(const Dataset& data) { return data.size(); }

}  // namespace

PackedBatch pack(Dataset& data, std::span<const int64_t> indices) {
  PackedBatch batch;
  PackedBatch::Classes classes;
  for (const int64_t index : indices) {
    const Encoding& encoding = data.encoding(index);
    const size_t length = encoding.input_ids.size();
    batch.input_ids.insert(batch.input_ids.end(), encoding.input_ids.begin(),
                           encoding.input_ids.end());
    batch.token_type_ids.insert(batch.token_type_ids.end(), encoding.token_type_ids.begin(),
                                encoding.token_type_ids.end());
    const size_t first = batch.position_ids.size();
    batch.position_ids.resize(first + length);
    std::iota(batch.position_ids.begin() + static_cast<std::ptrdiff_t>(first),
              batch.position_ids.end(), 0);
    batch.cu_seqlens.push_back(static_cast<int32_t>(batch.input_ids.size()));
    if (data.labelled()) classes.push_back(data.label(index));
  }
  if (data.labelled()) batch.labels = std::move(classes);
  return batch;
}

Batcher::Batcher(const BatchOptions& options, Dataset& data)
    : options_(options), data_(data), sampler_(data.size(), whole(data), options.seed) {}

UpdateBatch Batcher::next(DataCursor cursor) {
  UpdateBatch update;
  std::vector<int64_t> indices;
  const int64_t epoch = cursor.epoch;
  while (static_cast<int64_t>(indices.size()) < options_.batch_size && cursor.epoch == epoch) {
    indices.push_back(sampler_.next(cursor));
  }
  const auto examples = static_cast<int64_t>(indices.size());
  uint64_t first_token = 0;
  for (int64_t part = 0; part < options_.micro_batches; ++part) {
    const int64_t begin = examples * part / options_.micro_batches;
    const int64_t end = examples * (part + 1) / options_.micro_batches;
    if (begin == end) continue;
    PackedBatch batch = pack(data_, std::span(indices).subspan(static_cast<size_t>(begin),
                                                               static_cast<size_t>(end - begin)));
    batch.first_token = first_token;
    batch.first_sequence = static_cast<uint64_t>(begin);
    first_token += static_cast<uint64_t>(batch.num_tokens());
    update.micro_batches.push_back(std::move(batch));
  }
  update.examples = examples;
  update.tokens = static_cast<int64_t>(first_token);
  update.after = cursor;
  return update;
}

}  // namespace berth
