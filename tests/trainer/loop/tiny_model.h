#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/tiny_config.h"
#include "trainer/cpu/cpu_device.h"
#include "trainer/inputs/options.h"
#include "trainer/weights/initial_values.h"

namespace berth {

// The parameters and moments of a model, compared to the bit.
struct Learned {
  std::vector<float> parameters, first_moment, second_moment;
  bool operator==(const Learned&) const = default;
};

// A tiny model on the CPU engine, initialised at random, with its optimizer.
struct TinyModel {
  explicit TinyModel(uint64_t seed = 1, const ModelConfig& config = tiny_config(), int threads = 1,
                     const LoraOptions& lora = {}, Communicator* ranks = nullptr,
                     const TrainingOptions& options = {})
      : device(make_cpu_device(threads)),
        engine(
            device->make_engine({.config = config,
                                 .lora = lora,
                                 .optimizer = {.max_grad_norm = options.optimization.max_grad_norm},
                                 .limits = {.tokens = 256, .sequences = 16},
                                 .longest = 16,
                                 .ranks = {.size = ranks == nullptr ? 1 : ranks->size(),
                                           .communicator = ranks,
                                           .reduce_dtype = DType::kF32,
                                           .shards_optimizer = options.shard_optimizer}})) {
    fill(seed);
  }

  void fill(uint64_t seed) {
    initialize(values(), tiny_config().initializer_range, seed, /*threads=*/1);
    engine->tensors_written();
  }

  ParameterTensors& values() { return engine->tensors(StateTensors::kValues); }

  Learned learned() {
    return {.parameters = read(StateTensors::kValues),
            .first_moment = read(StateTensors::kFirstMoments),
            .second_moment = read(StateTensors::kSecondMoments)};
  }
  // Returns all elements, one tensor after the other. Moments are those of parameters that train.
  std::vector<float> read(StateTensors which) {
    std::vector<float> all;
    for (size_t i = 0; i < values().specs().size(); ++i) {
      if (which != StateTensors::kValues && !values().specs()[i].trains) continue;
      const std::vector<float> part = engine->tensors(which).read(i);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
  // Sets every element.
  void set_all(StateTensors which, float value) {
    for (const ParameterSpec& spec : values().specs()) set(which, spec.name, value);
  }
  void set(StateTensors which, const std::string& name, float value) {
    for (size_t i = 0; i < values().specs().size(); ++i) {
      if (values().specs()[i].name != name) continue;
      const std::vector<float> all(static_cast<size_t>(values().specs()[i].elements()), value);
      engine->tensors(which).write(i, 0, std::as_bytes(std::span(all)));
    }
    engine->tensors_written();
  }

  std::unique_ptr<Device> device;
  std::unique_ptr<Engine> engine;
};

}  // namespace berth
