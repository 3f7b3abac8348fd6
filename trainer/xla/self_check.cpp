#include "trainer/xla/self_check.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <string>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/philox.h"
#include "storage/base/text.h"
#include "trainer/xla/pjrt/executable.h"
#include "trainer/xla/stablehlo/gradients.h"
#include "trainer/xla/stablehlo/operations.h"
#include "trainer/xla/stablehlo/text.h"

namespace berth {
namespace {

constexpr int kSteps = 4;
// The largest acceptable difference, relative to the size of what is compared. Right plugins differ
// by 2e-6, the wrong one by 1.3.
constexpr double kTolerance = 1e-3;

struct Outcome {
  CheckProgram::State state;
  std::vector<double> losses;
};

Outcome on_host() {
  Outcome outcome{CheckProgram::first_state(), {}};
  const std::vector<float> x = CheckProgram::x(), t = CheckProgram::t();
  for (int k = 0; k < kSteps; ++k) {
    outcome.losses.push_back(CheckProgram::step(outcome.state, x, t));
  }
  return outcome;
}

PjrtBuffer upload(const PjrtClient& client, const std::vector<float>& values,
                  const std::vector<int64_t>& dimensions) {
  return client.upload(std::as_bytes(std::span(values)), DType::kF32, dimensions,
                       client.devices().front());
}

Outcome on_device(const PjrtClient& client, bool donated, const ExecutableCache& cache) {
  PjrtCompileOptions options;
  // The plugin would choose a device of the first host.
  if (client.is_on_several_hosts()) options.device_ids = {client.devices().front().id};
  const PjrtExecutable program = cache.compile(client, CheckProgram::text(donated), options);
  // The state stays on the device from step to step, and only losses come back.
  Outcome outcome{CheckProgram::first_state(), {}};
  std::vector<PjrtBuffer> state;
  for (size_t i = 0; i < outcome.state.size(); ++i) {
    state.push_back(upload(client, outcome.state[i], CheckProgram::dimensions(i)));
  }
  const std::vector<int64_t> dimensions = {CheckProgram::kRows, CheckProgram::kInner};
  const PjrtBuffer x = upload(client, CheckProgram::x(), dimensions);
  const PjrtBuffer t = upload(client, CheckProgram::t(), dimensions);

  for (int k = 0; k < kSteps; ++k) {
    PjrtArguments arguments;
    for (const PjrtBuffer& buffer : state) arguments.push_back(&buffer);
    arguments.push_back(&x);
    arguments.push_back(&t);
    PjrtResults results = program.execute({&arguments, 1});
    state = std::move(results.outputs[0]);
    float loss = 0;
    state.back().download(std::as_writable_bytes(std::span(&loss, 1)));
    state.pop_back();
    outcome.losses.push_back(loss);
  }
  for (size_t i = 0; i < state.size(); ++i) {
    state[i].download(std::as_writable_bytes(std::span(outcome.state[i])));
  }
  return outcome;
}

// The largest difference of any tensor's change since the start, and of any loss, each relative to
// its size. Infinite where a number is not finite.
double difference(const Outcome& a, const Outcome& b) {
  double worst = 0;
  const auto compare = [&](double squares, double size) {
    const double relative = std::sqrt(squares / size);
    worst = std::isfinite(relative) ? std::max(worst, relative) : HUGE_VAL;
  };
  const CheckProgram::State start = CheckProgram::first_state();
  for (size_t i = 0; i < start.size(); ++i) {
    double squares = 0, size = 0;
    for (size_t j = 0; j < start[i].size(); ++j) {
      squares += std::pow(double{a.state[i][j]} - b.state[i][j], 2);
      size += std::pow(double{b.state[i][j]} - start[i][j], 2);
    }
    compare(squares, size);
  }
  for (size_t k = 0; k < a.losses.size(); ++k) {
    compare(std::pow(a.losses[k] - b.losses[k], 2), std::pow(b.losses[k], 2));
  }
  return worst;
}

std::string description(bool donated) {
  return cat("a small training program ", donated ? "with" : "without", " donated state");
}

Error refusal(const std::string& problem, const PjrtClient& client) {
  return Error(Code::kUsage, problem, client.plugin().path(), "use another version of the plugin");
}

Error wrong_numbers(bool donated, double relative, const PjrtClient& client) {
  std::string amount = "are not finite";
  if (std::isfinite(relative)) {
    amount = cat("differ from the host's by ", std::setprecision(2), 100 * relative, " %");
  }
  return refusal(cat("computes wrong numbers: the results of ", kSteps, " steps of ",
                     description(donated), " ", amount),
                 client);
}

}  // namespace

std::string CheckProgram::text(bool donated) {
  using namespace stablehlo;
  Graph graph;
  std::vector<Value> inputs;
  for (size_t i = 0; i < 3 * kParameters; ++i) {
    inputs.push_back(graph.parameter(ElementType::kF32, dimensions(i)));
  }
  const Value x = graph.parameter(ElementType::kF32, {kRows, kInner});
  const Value t = graph.parameter(ElementType::kF32, x.shape());
  const Value b = inputs[0], f = inputs[1], g = inputs[2];
  // loss = |tanh((x + b) f^T) g^T - t|^2, with x, t [rows,inner], f [outer,inner], g [inner,outer].
  const DotDims columns{.contracted_x = {1}, .contracted_y = {1}};
  const Value h = tanh(dot(x + broadcast(b, x.shape(), {1}), f, columns));
  const Value e = dot(h, g, columns) - t;
  const Value loss = reduce_sum(e * e);

  // One step of AdamW without bias correction, with the gradient scaled to the norm 1.
  const std::vector<Value> slopes = gradients(loss, std::span(inputs).first(kParameters));
  Value squares = constant(graph, 0);
  for (const Value& slope : slopes) squares = squares + reduce_sum(slope * slope);
  std::vector<Value> outputs(inputs.size());
  std::vector<Alias> aliases;
  for (size_t p = 0; p < kParameters; ++p) {
    const Value clipped = slopes[p] * rsqrt(squares);
    const Value m = inputs[kParameters + p] * kBeta1 + clipped * (1 - kBeta1);
    const Value v = inputs[2 * kParameters + p] * kBeta2 + clipped * clipped * (1 - kBeta2);
    const Value move = m / (sqrt(v) + kEpsilon) * kRate;
    outputs[p] = inputs[p] * (1 - kRate * kDecay) - move;
    outputs[kParameters + p] = m;
    outputs[2 * kParameters + p] = v;
  }
  for (size_t i = 0; donated && i < outputs.size(); ++i) aliases.push_back({i, i});
  inputs.insert(inputs.end(), {x, t});
  outputs.push_back(loss);
  return to_text(inputs, outputs, aliases);
}

double check_difference(const PjrtClient& client, bool donated, const ExecutableCache& cache) {
  return difference(on_device(client, donated, cache), on_host());
}

void check_computes_correctly(const PjrtClient& client, const ExecutableCache& cache) {
  for (const bool donated : {true, false}) {
    double relative = 0;
    try {
      relative = check_difference(client, donated, cache);
    } catch (const Error& error) {
      if (error.code() == Code::kMemory || error.code() == Code::kUnavailable) throw;
      throw refusal(cat("cannot run ", description(donated), ": ", error.problem()), client);
    }
    if (!(relative <= kTolerance)) throw wrong_numbers(donated, relative, client);
  }
}

namespace {

constexpr size_t kInner = CheckProgram::kInner, kOuter = CheckProgram::kOuter;

// Uniform in (-scale, scale).
std::vector<float> random_values(size_t count, uint32_t stream, float scale) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    const auto words = philox4x32({low_word(i), high_word(i), stream, 0}, {7, 7});
    values[i] = scale * (static_cast<float>(words[0] >> 8) / 8388608.0f - 1.0f);
  }
  return values;
}

std::vector<float> repeated_rows(uint32_t stream) {
  std::vector<float> values = random_values(CheckProgram::kDistinct * kInner, stream, 1);
  const size_t distinct = values.size();
  values.resize(CheckProgram::kRows * kInner);
  for (size_t i = distinct; i < values.size(); ++i) values[i] = values[i - distinct];
  return values;
}

struct Gradients {
  double loss = 0;
  std::vector<double> b = std::vector<double>(kInner), f = std::vector<double>(kOuter * kInner),
                      g = std::vector<double>(kInner * kOuter);
};

// Adds the gradients of one row, with which all rows that are equal to it are counted.
void add_row(const CheckProgram::State& state, const float* x, const float* t, Gradients& sums) {
  constexpr double kRepeats = static_cast<double>(CheckProgram::kRows) / CheckProgram::kDistinct;
  const std::vector<float>&b = state[0], &f = state[1], &g = state[2];
  std::vector<double> x1(kInner), h(kOuter), dh(kOuter);
  for (size_t i = 0; i < kInner; ++i) x1[i] = double{x[i]} + b[i];
  for (size_t o = 0; o < kOuter; ++o) {
    for (size_t i = 0; i < kInner; ++i) h[o] += x1[i] * f[o * kInner + i];
    h[o] = std::tanh(h[o]);
  }
  for (size_t i = 0; i < kInner; ++i) {
    double e = -t[i];
    for (size_t o = 0; o < kOuter; ++o) e += h[o] * g[i * kOuter + o];
    sums.loss += kRepeats * e * e;
    const double dy = kRepeats * 2 * e;
    for (size_t o = 0; o < kOuter; ++o) {
      sums.g[i * kOuter + o] += dy * h[o];
      dh[o] += dy * g[i * kOuter + o];
    }
  }
  for (size_t o = 0; o < kOuter; ++o) {
    const double da = dh[o] * (1 - h[o] * h[o]);
    for (size_t i = 0; i < kInner; ++i) {
      sums.f[o * kInner + i] += da * x1[i];
      sums.b[i] += da * f[o * kInner + i];
    }
  }
}

}  // namespace

std::vector<int64_t> CheckProgram::dimensions(size_t index) {
  const std::vector<int64_t> all[kParameters] = {{kInner}, {kOuter, kInner}, {kInner, kOuter}};
  return all[index % kParameters];
}

CheckProgram::State CheckProgram::first_state() {
  State state;
  for (size_t i = 0; i < state.size(); ++i) {
    const size_t count = i % kParameters == 0 ? kInner : kInner * kOuter;
    state[i] = i < kParameters ? random_values(count, static_cast<uint32_t>(i), 0.1f)
                               : std::vector<float>(count);
  }
  return state;
}

std::vector<float> CheckProgram::x() { return repeated_rows(10); }
std::vector<float> CheckProgram::t() { return repeated_rows(11); }

double CheckProgram::step(State& state, const std::vector<float>& x, const std::vector<float>& t) {
  Gradients sums;
  for (size_t row = 0; row < kDistinct; ++row) {
    add_row(state, &x[row * kInner], &t[row * kInner], sums);
  }
  double squares = 0;
  const std::vector<double>* const gradients[kParameters] = {&sums.b, &sums.f, &sums.g};
  for (const auto* of_parameter : gradients) {
    for (const double gradient : *of_parameter) squares += gradient * gradient;
  }
  for (size_t p = 0; p < kParameters; ++p) {
    std::vector<float>&values = state[p], &m = state[kParameters + p],
    &v = state[2 * kParameters + p];
    for (size_t i = 0; i < values.size(); ++i) {
      const double clipped = (*gradients[p])[i] / std::sqrt(squares);
      const double m_new = kBeta1 * m[i] + (1 - kBeta1) * clipped;
      const double v_new = kBeta2 * v[i] + (1 - kBeta2) * clipped * clipped;
      const double move = kRate * m_new / (std::sqrt(v_new) + kEpsilon);
      values[i] = static_cast<float>((1 - kRate * kDecay) * values[i] - move);
      m[i] = static_cast<float>(m_new);
      v[i] = static_cast<float>(v_new);
    }
  }
  return sums.loss;
}

}  // namespace berth
