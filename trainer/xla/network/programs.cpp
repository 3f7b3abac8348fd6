#include "trainer/xla/network/programs.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "trainer/model/generator.h"
#include "trainer/model/parameter_table.h"
#include "trainer/model/update.h"
#include "trainer/xla/network/batch_inputs.h"
#include "trainer/xla/network/forward_pass.h"
#include "trainer/xla/network/losses.h"
#include "trainer/xla/stablehlo/gradients.h"
#include "trainer/xla/stablehlo/operations.h"
#include "trainer/xla/stablehlo/text.h"

namespace berth {

using stablehlo::array_of;

namespace {

// What an update reads, and what it makes of that. Each vector has an entry for each parameter that
// trains, in the order of the table.
struct OptimizerState {
  std::vector<Value> values, first_moments, second_moments;
};

// The gradients of a sum of losses, with that sum, and the sum of the examples' weights.
struct SummedGradients {
  std::vector<Value> gradients;
  Value loss_sum, examples;  // f32
};

struct Update {
  OptimizerState state;
  Value outcome;  // f32 [3], as in programs.h
};

Value sum_of_squares(Value x) { return reduce_sum(x * x); }

// What all parameters share: scalars, f32.
struct Factors {
  const OptimizerOptions& options;
  // Turns the gradient of the sum of losses into the clipped gradient of their mean.
  Value gradient_scale;
  Value learning_rate;
  // 1 - beta^t after t updates. The moments start as zeros, so they are too small by this factor
  // (Kingma and Ba 2015, arXiv:1412.6980).
  Value first_correction, second_correction;
};

// 1 - beta^t without cancellation.
Value bias_correction(float beta, Value updates) {
  return negate(expm1(updates * std::log(static_cast<double>(beta))));
}

struct Moved {
  Value value, first_moment, second_moment;
};

// Both optimizers move by the first moment over the root of the second. LAMB adds the weight decay
// to that step, and scales it by the size of the weights.
Moved move(const Factors& factors, const ParameterSpec& spec, double rate_scale, Value w, Value g,
           Value m, Value v) {
  const auto& [beta1, beta2, epsilon] = factors.options.adamw;
  const double decay = spec.decays ? factors.options.weight_decay : 0;
  // m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;  both corrected where they are
  // used.
  g = g * factors.gradient_scale;
  m = m * static_cast<double>(beta1) + g * static_cast<double>(1.0f - beta1);
  v = v * static_cast<double>(beta2) + g * g * static_cast<double>(1.0f - beta2);
  const Value denominator =
      sqrt(v) * rsqrt(factors.second_correction) + static_cast<double>(epsilon);
  const Value rate = factors.learning_rate * rate_scale;
  if (factors.options.type == OptimizerType::kAdamW) {
    const Value decayed = decay > 0 ? w * (1 - rate * decay) : w;
    return {decayed - m / denominator * (rate / factors.first_correction), m, v};
  }
  Value step = m / factors.first_correction / denominator;
  if (decay > 0) step = step + w * decay;
  if (!spec.decays) return {w - step * rate, m, v};
  const Value of_weights = sum_of_squares(w), of_step = sum_of_squares(step);
  const Value has_sizes =
      compare(of_weights, Comparison::kGreater, 0) & compare(of_step, Comparison::kGreater, 0);
  const Value trust_ratio = select(has_sizes, sqrt(of_weights / select(has_sizes, of_step, 1)), 1);
  return {w - step * (rate * trust_ratio), m, v};
}

// 1 / x, or 0 where x is not positive.
Value inverse(Value x) {
  const Value is_positive = compare(x, Comparison::kGreater, 0);
  return select(is_positive, 1 / select(is_positive, x, 1), 0);
}

// One step of AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101) or LAMB (You et al. 2020,
// arXiv:1904.00962) on the mean loss, with its gradient clipped by the norm over all parameters.
// `specs` is the whole table. `steps_before`, u32, counts the updates before this one;
// `learning_rate` is f32. The state stays as it is where the loss or the norm is not finite.
Update apply_gradients(const OptimizerOptions& options, std::span<const ParameterSpec> specs,
                       const OptimizerState& state, const SummedGradients& summed,
                       Value steps_before, Value learning_rate) {
  // 1. The norm of the mean's gradient, and the scale that clips it.
  Value squares = constant(learning_rate.graph(), 0);
  for (const Value& gradient : summed.gradients) squares = squares + sum_of_squares(gradient);
  const Value mean = inverse(summed.examples);
  const Value norm = sqrt(squares) * mean;
  Value scale = mean;
  if (options.max_grad_norm > 0) {
    const Value most = constant(norm.graph(), options.max_grad_norm);
    scale = select(compare(norm, Comparison::kGreater, most), mean * (most * inverse(norm)), mean);
  }
  // 2. What all parameters share.
  const Value updates = convert(steps_before, ElementType::kF32) + 1;
  const Factors factors{.options = options,
                        .gradient_scale = scale,
                        .learning_rate = learning_rate,
                        .first_correction = bias_correction(options.adamw.beta1, updates),
                        .second_correction = bias_correction(options.adamw.beta2, updates)};
  int64_t deepest = 0;
  for (const ParameterSpec& spec : specs) deepest = std::max(deepest, spec.depth);
  // 3. Each parameter moves, or stays if a number is not finite.
  const Value is_sound = is_finite(summed.loss_sum) & is_finite(norm);
  Update update{.state = {}, .outcome = array_of({summed.loss_sum, summed.examples, norm})};
  size_t i = 0;
  for (const ParameterSpec& spec : specs) {
    if (!spec.trains) continue;
    const auto layers_above = static_cast<double>(deepest - spec.depth);
    const double rate_scale =
        static_cast<double>(static_cast<float>(std::pow(options.layerwise_decay, layers_above)));
    const Value w = state.values[i], m = state.first_moments[i], v = state.second_moments[i];
    const Moved moved = move(factors, spec, rate_scale, w, summed.gradients[i], m, v);
    update.state.values.push_back(select(is_sound, moved.value, w));
    update.state.first_moments.push_back(select(is_sound, moved.first_moment, m));
    update.state.second_moments.push_back(select(is_sound, moved.second_moment, v));
    ++i;
  }
  return update;
}

// A program that is being built: its inputs in their order, then what it computes, then its
// outputs.
class Builder {
 public:
  explicit Builder(const ProgramOptions& options)
      : options_(options),
        config_(options.is_generator ? generator_config(options.config) : options.config),
        specs_(parameter_table(options.config, options.lora, options.optimizer.first_depth)) {
    program.graph = std::make_unique<Graph>();
  }

  Value add_input(const std::string& name, ElementType element, stablehlo::Dims shape) {
    program.inputs.push_back({name, program.graph->parameter(element, std::move(shape))});
    return program.inputs.back().value;
  }
  void add_values() {
    for (const ParameterSpec& spec : specs_) {
      const Value value = add_input("value:" + spec.name, ElementType::kF32, spec.shape);
      pass_.parameters[spec.name] = value;
      if (spec.trains) state_.values.push_back(value);
    }
  }
  // One input for each parameter that trains.
  std::vector<Value> add_trained(const std::string& kind) {
    std::vector<Value> all;
    for (const ParameterSpec& spec : specs_) {
      if (spec.trains) all.push_back(add_input(kind + spec.name, ElementType::kF32, spec.shape));
    }
    return all;
  }
  void add_moments() {
    state_.first_moments = add_trained("first_moment:");
    state_.second_moments = add_trained("second_moment:");
  }
  Value add_sums() { return add_input("sums", ElementType::kF32, {2}); }
  void add_step() { step_words_ = add_input("step_words", ElementType::kU32, {4}); }
  void add_rate() { learning_rate_ = add_input("learning_rate", ElementType::kF32, {}); }
  void add_batch(const BatchShape& shape) {
    batch_ = batch_inputs(*program.graph, config_, shape);
    program.inputs.insert(program.inputs.end(), batch_.in_order.begin(), batch_.in_order.end());
    program.batch_inputs = batch_.in_order.size();
  }

  // Of this replica's micro-batch.
  const HeadOutputs& compute_outputs() {
    outputs_ = head_outputs(pass_, encode(pass_));
    return outputs_;
  }
  Value inferred_of(const HeadOutputs& outputs) { return inferred(pass_, outputs); }
  // The loss of its own examples. Where replicas compute the loss of all of them, its share.
  Loss own_loss(const HeadOutputs& outputs, const LossOptions& options) {
    return share_of(loss_of(pass_, outputs, options));
  }
  SummedGradients compute_gradients() {
    draw_masks();
    const Loss loss = loss_of(pass_, compute_outputs(), options_.loss);
    const Value sum = loss.second_sum ? loss.sum + loss.second_sum : loss.sum;
    const Loss share = share_of({.sum = sum, .weights = loss.weights});
    const bool is_discriminator = traits(config_.task).rows == HeadRows::kReplaced;
    return {.gradients = gradients(sum, state_.values),
            .loss_sum = batch_.gradients ? element(batch_.loss_sums, 0) : share.sum,
            .examples = is_discriminator ? constant(*program.graph, 0) : share.weights};
  }
  // Dropout drops from here on.
  void draw_masks() {
    // generator_inputs() sets the step's highest bit.
    const Value step_words =
        options_.is_generator
            ? array_of({element(step_words_, 0), element(step_words_, 1), element(step_words_, 2),
                        element(step_words_, 3) | word(*program.graph, 0x80000000u)})
            : step_words_;
    pass_.masks.emplace(step_words, config_.num_hidden_layers, !options_.recomputes,
                        options_.generator);
    pass_.recomputes = options_.recomputes;
  }
  // Of outputs that are given: the derivatives of the loss by them.
  Value gradients_of_outputs(const Loss& loss) {
    return gradients(loss.sum, std::vector{batch_.embeddings})[0];
  }
  void take_outputs() { outputs_ = {.logits = batch_.embeddings}; }
  const HeadOutputs& outputs() const { return outputs_; }
  Loss loss() { return loss_of(pass_, outputs_, options_.loss); }
  Loss share_of(Loss loss) const {
    if (batch_.group == 1 || options_.replicas == 1) return loss;
    const double share = 1 / static_cast<double>(options_.replicas);
    return {.sum = loss.sum * share, .weights = loss.weights * share};
  }
  // The ids that a generator draws, behind the other outputs.
  void add_drawn_ids() {
    if (options_.is_generator) add_output("drawn", drawn_ids(batch_, outputs_.logits));
  }

  // An output with the name of an input takes its memory.
  void add_output(const std::string& name, Value value) {
    for (size_t i = 0; i < program.inputs.size(); ++i) {
      if (program.inputs[i].name != name) continue;
      program.aliases.push_back({.input = i, .output = program.outputs.size()});
    }
    program.outputs.push_back({name, value});
  }
  void add_trained_outputs(const std::string& kind, const std::vector<Value>& trained) {
    size_t next = 0;
    for (const ParameterSpec& spec : specs_) {
      if (spec.trains) add_output(kind + spec.name, trained[next++]);
    }
  }
  // The state after an update by the gradients of all replicas. Returns the outcome.
  Value add_update(SummedGradients summed) {
    for (Value& gradient : summed.gradients) gradient = all_reduce(gradient, options_.replicas);
    summed.loss_sum = all_reduce(summed.loss_sum, options_.replicas);
    summed.examples = all_reduce(summed.examples, options_.replicas);
    const Update update = apply_gradients(options_.optimizer, specs_, state_, summed,
                                          element(step_words_, 2), learning_rate_);
    add_trained_outputs("value:", update.state.values);
    add_trained_outputs("first_moment:", update.state.first_moments);
    add_trained_outputs("second_moment:", update.state.second_moments);
    return update.outcome;
  }

  Program program;

 private:
  const ProgramOptions& options_;
  const ModelConfig config_;  // of the network
  const std::vector<ParameterSpec> specs_;
  OptimizerState state_;  // before the update
  Value step_words_, learning_rate_;
  BatchInputs batch_;
  HeadOutputs outputs_;
  ForwardPass pass_{.config = config_,
                    .lora = options_.lora,
                    .product_dtype = options_.product_dtype,
                    .parameters = {},
                    .batch = batch_,
                    .replicas = options_.replicas};
};

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
  const Value outcome = build.add_update(build.compute_gradients());
  build.add_output("outcome", outcome);
  return std::move(build.program);
}

Program accumulation_program(const ProgramOptions& options, const BatchShape& shape) {
  Builder build(options);
  build.add_values();
  std::vector<Value> gradients = build.add_trained("gradient:");
  const Value sums = build.add_sums();
  build.add_step();
  build.add_batch(shape);
  const SummedGradients summed = build.compute_gradients();
  for (size_t i = 0; i < gradients.size(); ++i) gradients[i] = gradients[i] + summed.gradients[i];
  build.add_trained_outputs("gradient:", gradients);
  build.add_output("sums", sums + array_of({summed.loss_sum, summed.examples}));
  build.add_drawn_ids();
  return std::move(build.program);
}

Program application_program(const ProgramOptions& options) {
  Builder build(options);
  build.add_values();
  build.add_moments();
  std::vector<Value> gradients = build.add_trained("gradient:");
  const Value sums = build.add_sums();
  build.add_step();
  build.add_rate();
  const Value outcome = build.add_update(
      {.gradients = gradients, .loss_sum = element(sums, 0), .examples = element(sums, 1)});
  const auto zeros = [](Value x) { return constant(x.graph(), 0, x.element(), x.shape()); };
  for (Value& gradient : gradients) gradient = zeros(gradient);
  build.add_trained_outputs("gradient:", gradients);
  build.add_output("sums", zeros(sums));
  build.add_output("outcome", outcome);
  return std::move(build.program);
}

Program part_program(const ProgramOptions& options, const BatchShape& shape) {
  Builder build(options);
  build.add_values();
  build.add_step();
  build.add_batch(shape);
  build.draw_masks();
  build.add_output("outputs", build.compute_outputs().logits);
  return std::move(build.program);
}

Program comparison_program(const ProgramOptions& options, const BatchShape& shape) {
  Builder build(options);
  build.add_batch(shape);
  build.take_outputs();
  const Loss loss = build.loss(), share = build.share_of(loss);
  build.add_output("gradients", build.gradients_of_outputs(loss));
  build.add_output("sums", array_of({share.sum, share.weights}));
  build.add_output("compared", build.inferred_of(build.outputs()));
  return std::move(build.program);
}

Program inference_program(const ProgramOptions& options, const BatchShape& shape) {
  Builder build(options);
  build.add_values();
  build.add_batch(shape);
  const HeadOutputs& outputs = build.compute_outputs();
  const Loss loss = build.own_loss(outputs, LossOptions());
  build.add_output("logits", build.inferred_of(outputs));
  std::vector<Value> sums = {loss.sum, loss.weights};
  if (loss.second_sum) sums.insert(sums.end(), {loss.second_sum, loss.second_weights});
  build.add_output("sums", array_of(std::move(sums)));
  build.add_drawn_ids();
  return std::move(build.program);
}

}  // namespace berth
