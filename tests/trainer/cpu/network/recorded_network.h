#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "storage/base/thread_pool.h"
#include "storage/formats/safetensors.h"
#include "storage/local_storage.h"
#include "tests/support/largest.h"
#include "tests/trainer/cpu/network/recorded_tensors.h"
#include "tests/trainer/cpu/values_of.h"
#include "trainer/cpu/kernels/cpu_kernels.h"
#include "trainer/cpu/network/model.h"

namespace berth {

// What a test needs beside a network to compare it with a recorded file.
struct RecordedNetwork {
  explicit RecordedNetwork(const std::string& path, int threads = 2)
      : file(map_file(path)),
        recorded(*file->view()),
        pool(threads),
        kernels(make_cpu_kernels(pool)),
        config(parse_config(recorded.metadata().at("config"))) {}

  // Makes the parameters of `config`, with the recorded values.
  void load() {
    parameters = std::make_unique<Parameters>(parameter_table(config), true, *kernels);
    report = load_parameters(Selected(recorded, "param."), *parameters);
  }

  // The recorded sequences from `begin` up to, not including, `end`, with their masked tokens.
  PackedBatch masked_batch(size_t begin, size_t end) const {
    const PackedBatch whole = recorded_inputs(recorded);
    const auto masked = recorded_values<int32_t>(recorded, "masked");
    const auto labels = recorded_values<int32_t>(recorded, "labels");
    const int32_t first = whole.cu_seqlens[begin], last = whole.cu_seqlens[end];
    const auto part = [&](const std::vector<int32_t>& of) {
      return std::vector<int32_t>(of.begin() + first, of.begin() + last);
    };
    PackedBatch batch;
    batch.input_ids = part(whole.input_ids);
    batch.token_type_ids = part(whole.token_type_ids);
    batch.position_ids = part(whole.position_ids);
    for (size_t b = begin; b < end; ++b) {
      batch.cu_seqlens.push_back(whole.cu_seqlens[b + 1] - first);
    }
    PackedBatch::MaskedTokens tokens;
    for (size_t m = 0; m < masked.size(); ++m) {
      if (masked[m] < first || masked[m] >= last) continue;
      tokens.tokens.push_back(masked[m] - first);
      tokens.ids.push_back(labels[m]);
    }
    batch.labels = tokens;
    batch.first_token = static_cast<uint64_t>(first);
    batch.first_sequence = begin;
    return batch;
  }

  std::vector<float> all_gradients() const {
    std::vector<float> all(static_cast<size_t>(parameters->gradients().elements()));
    copy_out(parameters->gradients(), all.data());
    return all;
  }

  // Expects the recorded gradients of a loss that is the mean over `examples`.
  void expect_gradients(double examples) const {
    for (size_t p = 0; p < parameters->specs().size(); ++p) {
      const std::string& name = parameters->specs()[p].name;
      const auto expected = recorded_values<float>(recorded, "grad." + name);
      std::vector<float> ours(expected.size());
      copy_out(parameters->gradient(p), ours.data());
      // The bias of a key moves all scores of a softmax alike, so its gradient is rounding.
      const double scale = std::max(largest(expected), name.ends_with("key.bias") ? 1.0 : 0.0);
      for (size_t i = 0; i < ours.size(); ++i) {
        ASSERT_NEAR(ours[i] / examples, expected[i], 1e-4 * scale) << name << "[" << i << "]";
      }
    }
  }

  std::unique_ptr<RandomAccessSource> file;
  SafetensorsReader recorded;
  ThreadPool pool;
  std::unique_ptr<Kernels> kernels;
  ModelConfig config;
  std::unique_ptr<Parameters> parameters;
  LoadReport report;
  StepState state;
};

// The batches of an update that is cut before each of `cuts`. batch(begin, end) makes one.
template <typename Batch>
std::vector<PackedBatch> cut_update(const std::vector<size_t>& cuts, size_t sequences,
                                    const Batch& batch) {
  std::vector<PackedBatch> batches;
  size_t begin = 0;
  for (const size_t cut : cuts) {
    batches.push_back(batch(begin, cut));
    begin = cut;
  }
  batches.push_back(batch(begin, sequences));
  return batches;
}

}  // namespace berth
