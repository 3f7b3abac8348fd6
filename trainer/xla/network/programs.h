#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/dtype.h"
#include "trainer/model/config.h"
#include "trainer/model/lora.h"
#include "trainer/model/update.h"
#include "trainer/xla/network/batch_inputs.h"
#include "trainer/xla/stablehlo/graph.h"
#include "trainer/xla/stablehlo/text.h"

// The programs of the XLA engine, as StableHLO. They compute what the CPU engine computes, with the
// same dropout masks to the bit.
namespace berth {

// XLA's flags for all programs: it must not leave out the roundings that they say.
inline const std::vector<std::pair<std::string, bool>> kProgramFlags = {
    {"xla_allow_excess_precision", false}};

struct ProgramOptions {
  ModelConfig config{};
  LoraOptions lora{};
  LossOptions loss{};
  OptimizerOptions optimizer{};
  // kF32 or kBF16: the type to which matrix products round their factors and results. Layers keep
  // their normalized rows, and what they normalize, in it. fp32 are: products with fewer than 16
  // outputs, logits of a vocabulary, all sums, the sums that pre-normalized layers add to,
  // parameters, their gradients and the optimizer.
  DType product_dtype = DType::kF32;
  DropoutGenerator generator = DropoutGenerator::kPhilox;
  // Gradient checkpointing: of each layer only the output is kept for the backward pass.
  bool recomputes = false;
  // For a config with a generator: the program is the generator's, and not the discriminator's.
  // Their parameter table is the config's. Each is a part of an update: accumulation_program().
  bool is_generator = false;
  // Copies of the program that run at the same time, each on micro-batches of its own. All of them
  // make the same update, of the sum of their gradients.
  int64_t replicas = 1;
};

// A program with its signature. Each function below defines the order of inputs and outputs. A kind
// such as values has one tensor for each parameter, or for each one that trains. They are in the
// order of parameter_table(config, lora, optimizer.first_depth). Movable.
struct Program {
  using Tensor = NamedValue;  // named "value:bert.pooler.dense.weight", for messages and tests
  std::unique_ptr<Graph> graph;
  std::vector<Tensor> inputs, outputs;
  size_t batch_inputs = 0;                // how many of the last inputs are the micro-batch
  std::vector<stablehlo::Alias> aliases;  // donated inputs

  // As StableHLO. The same options and shape always give the same text.
  std::string text() const;
};

// The inputs of all training programs besides the batch:
//   step_words     u32 [4]: low and high word of the seed, then of the number of updates before
//   learning_rate  f32
// and their output:
//   outcome        f32 [3]: the sum of the losses, the sum of the examples' weights, and the norm
//                  of the mean loss's gradient before clipping; over all replicas.
// An update whose loss or norm is not finite leaves values and moments as they were.

// A whole update of one micro-batch.
//   inputs:  values, first moments, second moments, step_words, learning_rate, batch
//   outputs: trained values, first moments, second moments, outcome
// Trained values and moments are donated: each output takes the memory of the input of its name.
Program training_program(const ProgramOptions& options, const BatchShape& shape);

// An update of several micro-batches: accumulation for each of them, then one application. The
// gradients are sums over examples; sums is f32 [2]: of losses, and of the examples' weights. Both
// must be zeros before the first micro-batch, and are zeros after the application.
//   accumulation inputs:  values, gradients (donated), sums (donated), step_words, batch
//   accumulation outputs: gradients, sums; of a generator also the ids that it draws, as
//   drawn_ids()
//                         says. The sums of a discriminator count no examples.
//   application inputs:   values, first moments, second moments, gradients, sums, step_words,
//                         learning_rate; all but the last two and frozen values are donated
//   application outputs:  trained values, first moments, second moments, gradients, sums, outcome
Program accumulation_program(const ProgramOptions& options, const BatchShape& shape);
Program application_program(const ProgramOptions& options);

// Gradient caching. The outputs of a part of a batch, with dropout, whose loss other parts decide:
//   inputs:  values, step_words, batch
//   outputs: outputs, f32 [B,H]
// They are compared by a program of a shape without rows, for all examples:
//   inputs:  batch, with the outputs of all of its sequences
//   outputs: gradients, f32 [E*G,H], by them; sums, f32 [2], this replica's share; compared, f32,
//   as
//            inferred() gives it
// Then accumulation_program() takes the gradients of each part, in a shape that has_gradients.
Program part_program(const ProgramOptions& options, const BatchShape& shape);
Program comparison_program(const ProgramOptions& options, const BatchShape& shape);

// Logits and plain loss without dropout. Label smoothing does not apply.
//   inputs:  values, batch
//   outputs: logits, f32, as inferred() gives them; sums, f32 [2] as above, or [4] where there
//            is a second loss; of a generator also the ids that it draws
// The sums are this replica's. Where several sequences are an example, all replicas have the logits
// of all examples.
Program inference_program(const ProgramOptions& options, const BatchShape& shape);

}  // namespace berth
