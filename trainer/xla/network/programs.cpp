#include "trainer/xla/network/programs.h"

#include <utility>

#include "trainer/xla/network/forward_pass.h"
#include "trainer/xla/network/optimizer.h"
#include "trainer/xla/stablehlo/gradients.h"
#include "trainer/xla/stablehlo/text.h"

namespace berth {

using stablehlo::concatenate;
using stablehlo::ElementType;
using stablehlo::Graph;
using stablehlo::Value;

namespace {

// Collects the inputs and outputs of a program in their order.
class Signature {
 public:
  explicit Signature(Program& program) : program_(program) {}

  Value add_input(const std::string& name, ElementType element, stablehlo::Dims shape) {
    return add_input(name, program_.graph->parameter(element, std::move(shape)));
  }
  Value add_input(const std::string& name, Value parameter) {
    program_.inputs.push_back({name, parameter});
    return parameter;
  }
  void add_output(const std::string& name, Value value) {
    program_.outputs.push_back({name, value});
  }
  // An output that takes the memory of the input of the same name.
  void add_new_state(const std::string& name, Value value) {
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      if (program_.inputs[i].name != name) continue;
      program_.aliases.push_back({.input = i, .output = program_.outputs.size()});
    }
    add_output(name, value);
  }

 private:
  Program& program_;
};

// A program that is being built.
struct Builder {
  explicit Builder(const ProgramOptions& asked)
      : options(asked),
        specs(parameter_table(asked.config, asked.lora, asked.optimizer.first_depth)) {
    program.graph = std::make_unique<Graph>();
  }

  // One input for each parameter that is wanted(spec).
  template <typename Wanted>
  std::vector<Value> inputs_of(const std::string& kind, const Wanted& wanted) {
    std::vector<Value> all;
    for (const ParameterSpec& spec : specs) {
      if (!wanted(spec)) continue;
      all.push_back(signature.add_input(kind + spec.name, ElementType::kF32, spec.shape));
    }
    return all;
  }
  std::vector<Value> trained_inputs(const std::string& kind) {
    return inputs_of(kind, [](const ParameterSpec& spec) { return spec.trains; });
  }
  void add_values() {
    values = inputs_of("value:", [](const ParameterSpec&) { return true; });
  }
  void add_moments() {
    first_moments = trained_inputs("first_moment:");
    second_moments = trained_inputs("second_moment:");
  }
  void add_step() { step_words = signature.add_input("step_words", ElementType::kU32, {4}); }
  void add_rate() { learning_rate = signature.add_input("learning_rate", ElementType::kF32, {}); }
  void add_batch(const BatchShape& shape) {
    batch = batch_inputs(*program.graph, options.config, shape);
    const std::vector<BatchInputs::Named> inputs = batch.in_order();
    for (const auto& [name, value] : inputs) signature.add_input(name, value);
    program.batch_inputs = inputs.size();
  }

  std::vector<Value> trained_of(const std::vector<Value>& all) const {
    std::vector<Value> trained;
    for (size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].trains) trained.push_back(all[i]);
    }
    return trained;
  }

  ForwardPass forward_pass() const {
    ForwardPass pass{.config = options.config,
                     .lora = options.lora,
                     .product_dtype = options.product_dtype,
                     .parameters = {},
                     .batch = batch};
    for (size_t i = 0; i < specs.size(); ++i) pass.parameters[specs[i].name] = values[i];
    return pass;
  }

  // Of this replica's micro-batch.
  SummedGradients compute_gradients() {
    ForwardPass pass = forward_pass();
    pass.masks.emplace(step_words, options.config.num_hidden_layers, !options.recomputes);
    const Value hidden = encode(pass, picked_tokens(pass), options.recomputes);
    const Loss loss = loss_of(pass, head_logits(pass, hidden), options.loss.label_smoothing);
    return {.gradients = gradients(loss.sum, trained_of(values)),
            .loss_sum = loss.sum,
            .examples = loss.weights};
  }

  // Over all replicas.
  SummedGradients sum_over_replicas(SummedGradients summed) const {
    for (Value& gradient : summed.gradients) gradient = all_reduce(gradient, options.replicas);
    summed.loss_sum = all_reduce(summed.loss_sum, options.replicas);
    summed.examples = all_reduce(summed.examples, options.replicas);
    return summed;
  }

  Update update_by(const SummedGradients& summed) const {
    const Value steps_before = reshape(slice(step_words, 0, 2, 3), {});
    return apply_gradients(options.optimizer, specs,
                           {.values = trained_of(values),
                            .first_moments = first_moments,
                            .second_moments = second_moments},
                           sum_over_replicas(summed), steps_before, learning_rate);
  }

  void add_trained_outputs(const std::string& kind, const std::vector<Value>& trained) {
    size_t next = 0;
    for (const ParameterSpec& spec : specs) {
      if (spec.trains) signature.add_new_state(kind + spec.name, trained[next++]);
    }
  }
  void add_state_outputs(const OptimizerState& state) {
    add_trained_outputs("value:", state.values);
    add_trained_outputs("first_moment:", state.first_moments);
    add_trained_outputs("second_moment:", state.second_moments);
  }

  const ProgramOptions& options;
  const std::vector<ParameterSpec> specs;
  Program program;
  Signature signature{program};
  std::vector<Value> values, first_moments, second_moments;
  Value step_words, learning_rate;
  BatchInputs batch;
};

Value joined(Value a, Value b) { return concatenate({reshape(a, {1}), reshape(b, {1})}, 0); }
Value element(Value x, int64_t i) { return reshape(slice(x, 0, i, i + 1), {}); }

}  // namespace

std::string Program::text() const {
  const auto values_of = [](const std::vector<Tensor>& tensors) {
    std::vector<Value> values;
    for (const Tensor& tensor : tensors) values.push_back(tensor.value);
    return values;
  };
  return to_text(values_of(inputs), values_of(outputs), aliases);
}

Program training_program(const ProgramOptions& options, const BatchShape& shape) {
  Builder build(options);
  build.add_values();
  build.add_moments();
  build.add_step();
  build.add_rate();
  build.add_batch(shape);
  const Update update = build.update_by(build.compute_gradients());
  build.add_state_outputs(update.state);
  build.signature.add_output("outcome", update.outcome);
  return std::move(build.program);
}

Program accumulation_program(const ProgramOptions& options, const BatchShape& shape) {
  Builder build(options);
  build.add_values();
  std::vector<Value> sums_of_gradients = build.trained_inputs("gradient:");
  const Value sums = build.signature.add_input("sums", ElementType::kF32, {2});
  build.add_step();
  build.add_batch(shape);
  const SummedGradients summed = build.compute_gradients();
  for (size_t i = 0; i < summed.gradients.size(); ++i) {
    sums_of_gradients[i] = sums_of_gradients[i] + summed.gradients[i];
  }
  build.add_trained_outputs("gradient:", sums_of_gradients);
  build.signature.add_new_state("sums", sums + joined(summed.loss_sum, summed.examples));
  return std::move(build.program);
}

Program application_program(const ProgramOptions& options) {
  Builder build(options);
  build.add_values();
  build.add_moments();
  const std::vector<Value> gradients = build.trained_inputs("gradient:");
  const Value sums = build.signature.add_input("sums", ElementType::kF32, {2});
  build.add_step();
  build.add_rate();
  const Update update = build.update_by(
      {.gradients = gradients, .loss_sum = element(sums, 0), .examples = element(sums, 1)});
  build.add_state_outputs(update.state);
  std::vector<Value> zeros;
  for (const Value& gradient : gradients) {
    zeros.push_back(constant(*build.program.graph, 0, ElementType::kF32, gradient.shape()));
  }
  build.add_trained_outputs("gradient:", zeros);
  build.signature.add_new_state("sums", constant(*build.program.graph, 0, ElementType::kF32, {2}));
  build.signature.add_output("outcome", update.outcome);
  return std::move(build.program);
}

Program inference_program(const ProgramOptions& options, const BatchShape& shape) {
  Builder build(options);
  build.add_values();
  build.add_batch(shape);
  ForwardPass pass = build.forward_pass();
  const Value hidden = encode(pass, picked_tokens(pass), /*recomputes=*/false);
  const Value logits = head_logits(pass, hidden);
  const Loss loss = loss_of(pass, logits, /*label_smoothing=*/0);
  const bool is_of_tokens = traits(options.config.task).rows == HeadRows::kTokens;
  build.signature.add_output(
      "logits",
      is_of_tokens ? reshape(logits, {shape.rows, shape.row_length, logits.size(1)}) : logits);
  build.signature.add_output("sums", joined(loss.sum, loss.weights));
  return std::move(build.program);
}

}  // namespace berth
