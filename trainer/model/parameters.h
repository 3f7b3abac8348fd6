#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/kernels/kernels.h"

namespace berth {

struct LoraOptions;
struct ModelConfig;

enum class Initial { kNormal, kZeros, kOnes };

// One parameter: its Hugging Face name, what other files call it, and how it is treated.
struct ParameterSpec {
  std::string name;
  std::vector<std::string> aliases{};
  std::vector<int64_t> shape;
  Initial initial = Initial::kNormal;
  bool decays = true;         // weight decay: matrices, not biases and LayerNorm
  bool is_head = false;       // may be missing from pretrained files
  bool is_adapter = false;    // LoRA's: is missing from pretrained files
  bool trains = true;         // has a gradient
  bool is_looked_up = false;  // a table of which only the rows of a batch's ids have a gradient
  // 0 for embeddings, 1 for the first layer, ... and 1 more than the last layer's for the head.
  // Does not decrease along the table, but for adapters, which stand behind all layers.
  int64_t depth = 0;

  int64_t elements() const {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    return count;
  }
};

// THE table: every parameter of the encoder and of the config's task, in arena order; those that
// layers share once. Query, key and value of a layer stand next to each other, so that one product
// computes all three.
std::vector<ParameterSpec> parameter_table(const ModelConfig& config);
// With LoRA's adapters before the head; only these and the head train.
std::vector<ParameterSpec> parameter_table(const ModelConfig& config, const LoraOptions& lora);

// All parameters in one block of fp32, their gradients in another of the same layout (without
// gaps), where the backend computes. Layers hold views.
class Parameters {
 public:
  // Values and gradients start as zeros. Throws kMemory.
  Parameters(std::vector<ParameterSpec> specs, bool with_gradients, Kernels& kernels);
  // A plan: all shapes, no memory; every view is null.
  explicit Parameters(std::vector<ParameterSpec> specs);

  std::span<const ParameterSpec> specs() const { return specs_; }
  int64_t size() const { return size_; }  // elements of all

  Tensor values() const;     // [size]
  Tensor gradients() const;  // [size]; null without gradients; zeros of what does not train
  Tensor value(size_t index) const { return view(values_.get(), index); }
  // Null where it does not train.
  Tensor gradient(size_t index) const { return view(gradients_of(index), index); }

  // By Hugging Face name, which must exist. `count` > 1 joins that many neighbours along rows.
  Tensor value(std::string_view name, int count = 1) const;
  Tensor gradient(std::string_view name, int count = 1) const;

  // The RowMarks of a parameter that is looked up and has gradients, int32 [rows]; else null. Who
  // writes to gradients or moments keeps them true; at first every row has every mark.
  Tensor marks(size_t index) const;
  Tensor marks(std::string_view name) const { return marks(index_of(name)); }
  void mark_all_rows(Kernels& kernels);

  // First element of parameter `index` in values().
  int64_t offset(size_t index) const { return offsets_[index]; }

 private:
  size_t index_of(std::string_view name) const;
  const Memory* gradients_of(size_t index) const {
    return specs_[index].trains ? gradients_.get() : nullptr;
  }
  Tensor view(const Memory* memory, size_t index, int count = 1) const;

  std::vector<ParameterSpec> specs_;
  std::vector<int64_t> offsets_;
  int64_t size_ = 0;
  std::unique_ptr<Memory> values_, gradients_;  // values_ null: a plan
  std::vector<std::unique_ptr<Memory>> marks_;  // of every parameter, null where it has none
};

// Fills every parameter, or those at `indices`, with its initial values: normal with the config's
// initializer_range, zeros or ones. Depends on seed, name and shape only.
void initialize(Parameters& parameters, std::span<const size_t> indices, double initializer_range,
                uint64_t seed, Kernels& kernels);

}  // namespace berth
