#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/formats/safetensors.h"
#include "tests/trainer/xla/stablehlo/interpreter.h"
#include "trainer/cpu/cpu_device.h"
#include "trainer/engine/device.h"
#include "trainer/xla/network/programs.h"

namespace berth {

// The name of a tensor and its elements.
using NamedArrays = std::map<std::string, stablehlo::Array>;

// One of the small models with inputs and labels in tests/testdata/architectures.tar: on the CPU
// engine, and as programs.
class RecordedCase {
 public:
  // Dropout has probabilities that differ from place to place, or is off.
  RecordedCase(const std::string& name, bool drops);
  // With another batch than the recorded one.
  RecordedCase(const std::string& name, bool drops, PackedBatch other);

  // To be changed before the first use.
  ProgramOptions options;
  PackedBatch batch;
  float next_weight = 1;  // of the loss of next sentences

  // The engine of this machine's CPUs with the recorded values. Adapters get values of their own.
  Engine& cpu();
  // The values of all parameters, and the other inputs of programs: of the batch, in rows.
  NamedArrays values();
  NamedArrays inputs(const UpdateInputs& update) const { return inputs(update, shape()); }
  NamedArrays inputs(const UpdateInputs& update, const BatchShape& shape) const;
  // With room for one more row and one more sequence than the batch has.
  BatchShape shape() const;

  // The elements of rows [R,S,...], in the order of the batch's tokens.
  std::vector<double> tokens_of(const stablehlo::Array& rows) const;

 private:
  void lay_out();
  // Whether the product lays the batch out. Other batches are laid out here, by other code.
  bool has_product_layout() const;
  void add_labels(const BatchShape& shape, NamedArrays& inputs) const;

  std::unique_ptr<RandomAccessSource> file_;
  SafetensorsReader recorded_;
  std::unique_ptr<Device> device_ = make_cpu_device(1);
  std::unique_ptr<Engine> engine_;
  int64_t rows_ = 0;
  std::vector<int32_t> places_;  // of each token of the batch: row * row_length + column
};

// The sequences [first, end) of a batch of classes, as a micro-batch of the same update.
PackedBatch part_of(const PackedBatch& whole, size_t first, size_t end);

}  // namespace berth
