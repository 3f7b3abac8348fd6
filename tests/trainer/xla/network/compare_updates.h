#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/trainer/xla/network/recorded_case.h"

// Runs programs beside the CPU engine.
namespace berth {

constexpr double kTolerance = 1e-4;  // relative to the largest value of the tensor

// Runs a program on the arrays of these names. The results replace inputs of the same name.
using RunProgram = std::function<void(const Program& program, NamedArrays& arrays)>;

// By the interpreter.
inline void run(const Program& program, NamedArrays& arrays) {
  stablehlo::Inputs inputs;
  for (const auto& [name, value] : program.inputs) {
    inputs[value.index()] = arrays.at(name);
  }
  std::vector<stablehlo::Value> outputs;
  for (const auto& [name, value] : program.outputs) outputs.push_back(value);
  const std::vector<stablehlo::Array> results = interpret(outputs, inputs);
  for (size_t i = 0; i < results.size(); ++i) arrays[program.outputs[i].name] = results[i];
}

inline double largest(const std::vector<float>& values) {
  double most = 0;
  for (const float value : values) most = std::max(most, std::abs(static_cast<double>(value)));
  return most;
}

inline void expect_close(const std::vector<double>& found, const std::vector<float>& expected,
                         double scale, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], kTolerance * scale) << what << "[" << i << "]";
  }
}

// `updates` on both. The first moments of the first update are its clipped gradients, up to a
// factor.
inline void expect_equal_updates(RecordedCase& recorded, int updates,
                                 const RunProgram& run_by = run) {
  Engine& engine = recorded.cpu();
  NamedArrays arrays = recorded.values();
  const Program program = training_program(recorded.options, recorded.shape());
  const std::atomic<bool> stop = false;
  for (int step = 0; step < updates; ++step) {
    SCOPED_TRACE(step);
    const UpdateInputs update{
        .seed = 0x123456789ABull, .step = static_cast<uint64_t>(step), .learning_rate = 2e-3f};
    ASSERT_TRUE(engine.start_update({&recorded.batch, 1}, update, stop));
    const UpdateOutcome outcome = engine.collect_update();
    for (auto& [name, array] : recorded.inputs(update)) arrays[name] = array;
    run_by(program, arrays);
    const std::vector<double>& found = arrays.at("outcome").numbers;
    ASSERT_NEAR(found[0], outcome.loss_sum, kTolerance * outcome.loss_sum);
    ASSERT_NEAR(found[1], outcome.examples, kTolerance);
    ASSERT_NEAR(found[2], outcome.grad_norm, 3 * kTolerance * outcome.grad_norm);
    if (step > 0) continue;
    const ParameterTensors& moments = engine.tensors(StateTensors::kFirstMoments);
    double most = 0;  // gradients that are zero but for rounding are compared with this
    for (size_t i = 0; i < moments.specs().size(); ++i) {
      if (moments.specs()[i].trains) most = std::max(most, largest(moments.read(i)));
    }
    for (size_t i = 0; i < moments.specs().size(); ++i) {
      const ParameterSpec& spec = moments.specs()[i];
      if (!spec.trains) continue;
      const std::vector<float> expected = moments.read(i);
      expect_close(arrays.at("first_moment:" + spec.name).numbers, expected,
                   std::max(largest(expected), 1e-2 * most), spec.name);
    }
  }
}

}  // namespace berth
