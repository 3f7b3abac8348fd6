#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trainer/xla/pjrt/client.h"
#include "trainer/xla/pjrt/executable_cache.h"

namespace berth {

// Runs a small training program on the client's first device, for several steps, with its state
// donated and not donated. Compares both results with numbers computed on the host. A plugin may be
// silently wrong: xla-cpu-pjrt 0.0.1 (PJRT 0.81) computes wrong gradients from donated state on
// CPUs with AVX-512, though not on CPUs with AVX2 alone. Throws kUsage, in one sentence, where the
// numbers differ. `cache` saves the compilation, which takes nearly all of the time.
void check_computes_correctly(const PjrtClient& client, const ExecutableCache& cache);

// The largest difference between the device's numbers and the host's, relative to how far the
// numbers move in these steps: what check_computes_correctly() compares with its tolerance.
double check_difference(const PjrtClient& client, bool donated, const ExecutableCache& cache);

// The training program of the check, as StableHLO and as a plain loop on the host. Two layers with
// a bias below them, whose gradients are clipped by their common norm and then go through AdamW:
//
//   x' = x + b;  h = tanh(x' f^T);  y = h g^T;  loss = sum((y - t)^2)
//
// It was found by cutting a BERT step down to the smallest program that xla-cpu-pjrt 0.0.1 gets
// wrong with donated state: the norm, which makes every update wait for every gradient, both layers
// and a batch of this size are needed.
struct CheckProgram {
  static constexpr int64_t kRows = 512;     // of x, t, h, y
  static constexpr int64_t kInner = 128;    // columns of x, t, y
  static constexpr int64_t kOuter = 512;    // columns of h
  static constexpr int64_t kDistinct = 8;   // x and t repeat their first rows, so the host is quick
  static constexpr size_t kParameters = 3;  // b [kInner], f [kOuter,kInner], g [kInner,kOuter]
  // AdamW without bias correction. epsilon is large enough for rounding errors of tiny gradients to
  // stay tiny.
  static constexpr double kRate = 0.01, kDecay = 0.01, kBeta1 = 0.9, kBeta2 = 0.999,
                          kEpsilon = 1e-4;

  // The parameters, then their first moments, then their second ones: row-major.
  using State = std::array<std::vector<float>, 3 * kParameters>;
  static std::vector<int64_t> dimensions(size_t index);  // of a tensor of the state

  static State first_state();
  static std::vector<float> x();  // [kRows,kInner]
  static std::vector<float> t();  // [kRows,kInner]

  // A module whose @main takes (state..., x, t) and returns (new state..., loss). `donated`: the
  // new state takes the memory of the state.
  static std::string text(bool donated);

  // One step on the host, in double precision but for the state. Returns the loss.
  static double step(State& state, const std::vector<float>& x, const std::vector<float>& t);
};

}  // namespace berth
