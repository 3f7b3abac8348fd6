#pragma once

#include <memory>
#include <numeric>
#include <vector>

#include "storage/base/thread_pool.h"
#include "tests/support/tiny_config.h"
#include "trainer/cpu/kernels/cpu_kernels.h"
#include "trainer/cpu/network/model.h"
#include "trainer/cpu/optimizer.h"

namespace berth {

// Everything a run has learned, to the bit.
struct Learned {
  std::vector<float> parameters, first_moment, second_moment;
  bool operator==(const Learned&) const = default;
};

// A tiny model, initialised at random, with its optimizer.
struct TinyModel {
  explicit TinyModel(uint64_t seed = 1, const ModelConfig& model_config = tiny_config(),
                     int threads = 1, const LoraOptions& adapters = {})
      : config(model_config), lora(adapters), pool(threads) {
    fill(seed);
  }

  void fill(uint64_t seed) {
    std::vector<size_t> all(parameters.specs().size());
    std::iota(all.begin(), all.end(), size_t{0});
    initialize(parameters, all, config.initializer_range, seed, *kernels);
    model.refresh();
  }

  Learned learned() {
    return {.parameters = read(parameters.values()),
            .first_moment = read(optimizer.first_moment()),
            .second_moment = read(optimizer.second_moment())};
  }
  std::vector<float> read(Tensor tensor) {
    std::vector<float> host(static_cast<size_t>(tensor.elements()));
    kernels->download(host.data(), tensor);
    return host;
  }

  ModelConfig config;
  LoraOptions lora;
  ThreadPool pool;
  std::unique_ptr<Kernels> kernels = make_cpu_kernels(pool);
  Parameters parameters{parameter_table(config, lora), true, *kernels};
  Model model{config, BatchLimits{.tokens = 256, .sequences = 16}, parameters, *kernels, {}, lora};
  Optimizer optimizer{{}, parameters, *kernels};
};

}  // namespace berth
