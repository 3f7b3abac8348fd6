#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "storage/base/thread_pool.h"
#include "storage/formats/safetensors.h"
#include "storage/local_storage.h"
#include "trainer/cpu/kernels/cpu_kernels.h"
#include "trainer/cpu/network/model.h"
#include "trainer/model/config.h"
#include "trainer/weights/pretrained.h"

namespace berth {

// The small BERT that tests/record/record_bert_parity.py recorded, as our model.
struct RecordedModel {
  static constexpr int kUpdates = 10;

  explicit RecordedModel(int threads = 2, std::string_view instruction_set = "",
                         Precision precision = Precision::kFp32)
      : file(map_file(BERTH_TESTDATA "/parity/bert.safetensors")),
        reader(*file->view()),
        pool(threads),
        kernels(make_cpu_kernels(pool, instruction_set, precision)) {
    std::ifstream stream(BERTH_TESTDATA "/parity/config.json");
    config = parse_config(std::string(std::istreambuf_iterator<char>(stream), {}));
    parameters = std::make_unique<Parameters>(parameter_table(config), true, *kernels);
    for (size_t i = 0; i < parameters->specs().size(); ++i) {
      copy_in(parameters->value(i), tensor(parameters->specs()[i].name).data.data());
    }
    model = std::make_unique<Model>(config, BatchLimits{.tokens = 256, .sequences = 16},
                                    *parameters, *kernels);
    state = std::make_unique<StepState>();
  }

  const NamedTensor& tensor(const std::string& name) const {
    const NamedTensor* found = reader.find(name);
    if (found == nullptr) throw std::runtime_error("not recorded: " + name);
    return *found;
  }
  template <typename T>
  std::vector<T> values(const std::string& name) const {
    const Bytes data = tensor(name).data;
    std::vector<T> result(data.size() / sizeof(T));
    std::memcpy(result.data(), data.data(), data.size());
    return result;
  }

  // The examples [begin, end) of update `index` as one packed batch.
  PackedBatch batch(int index, size_t begin = 0, size_t end = SIZE_MAX) const {
    const std::string suffix = "." + std::to_string(index);
    const auto ids = values<int32_t>("input_ids" + suffix);
    const auto types = values<int32_t>("token_type_ids" + suffix);
    const auto lengths = values<int32_t>("lengths" + suffix);
    const auto labels = values<int32_t>("labels" + suffix);
    PackedBatch packed;
    PackedBatch::Classes classes;
    size_t token = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      for (int32_t position = 0; position < lengths[i]; ++position, ++token) {
        if (i < begin) ++packed.first_token;
        if (i < begin || i >= end) continue;
        packed.input_ids.push_back(ids[token]);
        packed.token_type_ids.push_back(types[token]);
        packed.position_ids.push_back(position);
      }
      if (i < begin || i >= end) continue;
      packed.cu_seqlens.push_back(static_cast<int32_t>(packed.input_ids.size()));
      classes.push_back(labels[i]);
    }
    packed.first_sequence = begin;
    packed.labels = classes;
    return packed;
  }

  std::vector<float> gradients() const {
    std::vector<float> all(static_cast<size_t>(parameters->size()));
    copy_out(parameters->gradients(), all.data());
    return all;
  }

  std::unique_ptr<RandomAccessSource> file;
  SafetensorsReader reader;
  ThreadPool pool;
  std::unique_ptr<Kernels> kernels;
  ModelConfig config;
  std::unique_ptr<Parameters> parameters;
  std::unique_ptr<Model> model;
  std::unique_ptr<StepState> state;
};

}  // namespace berth
