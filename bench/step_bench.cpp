// Measures training steps of BERT models with random weights on random tokens: forward, backward,
// clipping and AdamW. Each shape runs in its own process, so that its peak memory is known.
//
//   step_bench [THREADS [PRECISION [MODEL [BATCH [LENGTH [PLUGIN]]]]]]
//
// MODEL is tiny, mini-lm, base or large, and the same with "-mlm" behind it is a masked language
// model: 15 % of the tokens are masked, and no classifier is trained. LENGTH is a number of tokens,
// "news" for the lengths of AG News' texts, or "documents" for the lengths of mixed documents. With
// "drawn", each of 16 batches draws other lengths of AG News' texts, and the rate is their mean.
// Without MODEL, BATCH and LENGTH a grid of them is measured. With PLUGIN, the file of a PJRT
// plugin, the XLA engine computes on its first device. The first update, which compiles the
// program, is printed separately. The printed share is the rate of the step divided by the peak
// rate of the machine (trainer/cpu/kernels/peak_rate.h). The work of a step is counted as
// trainer/model/training_flops.h says.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <span>

#include "bench/bench_table.h"
#include "storage/base/text.h"
#include "storage/base/thread_pool.h"
#include "trainer/cpu/cpu_device.h"
#include "trainer/cpu/kernels/peak_rate.h"
#include "trainer/model/benchmark_step.h"
#include "trainer/model/training_flops.h"
#include "trainer/weights/initial_values.h"
#include "trainer/xla/xla_device.h"

namespace berth {
namespace {

struct Shape {
  std::string model;
  int64_t batch_size = 0;
  std::string length;
  std::string plugin{};  // empty: the CPU engine
};

struct StepTiming {
  double first_s = 0;  // the first update, which is not one of the others
  Timing others;
};

bool is_mlm(const Shape& shape) { return shape.model.ends_with("-mlm"); }

// The batches that a step takes in turn.
std::vector<PackedBatch> batches_of(const Shape& shape, const ModelConfig& config) {
  std::vector<PackedBatch> batches;
  const uint64_t count = shape.length == "drawn" ? 16 : 1;
  for (uint64_t number = 0; number < count; ++number) {
    batches.push_back(make_random_batch(
        {.sequences = shape.batch_size, .length = shape.length, .number = number}, config));
  }
  return batches;
}

// Runs each batch at least once and three steps at least, for at least five seconds. A series of
// batches counts as one measurement.
StepTiming time_steps(const ModelConfig& config, const std::vector<PackedBatch>& batches,
                      Device& device) {
  BatchLimits limits;
  int64_t longest = 0;
  for (const PackedBatch& batch : batches) {
    const auto* const masked = std::get_if<PackedBatch::MaskedTokens>(&batch.labels);
    limits.tokens = std::max(limits.tokens, batch.num_tokens());
    limits.sequences = std::max(limits.sequences, batch.num_sequences());
    if (masked != nullptr)
      limits.masked = std::max(limits.masked, static_cast<int64_t>(masked->tokens.size()));
    longest = std::max(longest, batch.longest_sequence());
  }
  const auto engine = device.make_engine(
      {.config = config, .limits = limits, .update_tokens = limits.tokens, .longest = longest});
  initialize(engine->tensors(StateTensors::kValues), config.initializer_range, 1,
             available_threads());
  engine->tensors_written();
  const std::atomic<bool> stop = false;
  uint64_t step = 0;
  const auto take_step = [&] {
    engine->start_update(std::span(&batches[step % batches.size()], 1),
                         {.seed = 1, .step = step, .learning_rate = 1e-5f}, stop);
    engine->collect_update();
    ++step;
  };
  const double first_s = seconds_of(take_step);
  const auto series = static_cast<double>(batches.size());
  const auto take_series = [&] {
    for (size_t i = 0; i < batches.size(); ++i) take_step();
  };
  std::vector<double> seconds;
  for (double total = 0; static_cast<double>(seconds.size()) * series < 3 || total < 5;) {
    const double series_s = seconds_of(take_series);
    total += series_s;
    seconds.push_back(series_s / series);
  }
  return {first_s, timing_of(std::move(seconds))};
}

std::unique_ptr<Device> make_device(const Shape& shape, int threads, Precision precision) {
  if (shape.plugin.empty()) return make_cpu_device(threads, "", precision);
  return make_xla_device(
      {.plugin_path = shape.plugin,
       .product_dtype = precision == Precision::kBf16 ? DType::kBF16 : DType::kF32,
       .devices = 1});
}

void measure_shape(const Shape& shape, int threads, Precision precision) {
  const std::unique_ptr<Device> device = make_device(shape, threads, precision);
  ThreadPool pool(threads);
  ModelConfig config = bert_of_size(shape.model.substr(0, shape.model.find("-mlm")));
  if (is_mlm(shape)) config.task = Task::kMaskedLm;
  const std::vector<PackedBatch> batches = batches_of(shape, config);
  const double peak = peak_rate(pool, device->info().precision == Precision::kBf16);
  const auto [first_s, timing] = time_steps(config, batches, *device);
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  double flops = 0, tokens = 0;
  for (const PackedBatch& batch : batches) {
    flops += training_flops(config).of(batch) / static_cast<double>(batches.size());
    tokens += static_cast<double>(batch.num_tokens()) / static_cast<double>(batches.size());
  }
  const double rate = flops / timing.median_s;
  std::printf("%-8s %5lld x %-5s %9.2f examples/s %9.0f tokens/s %8.1f GFLOP/s",
              shape.model.c_str(), static_cast<long long>(shape.batch_size), shape.length.c_str(),
              static_cast<double>(shape.batch_size) / timing.median_s, tokens / timing.median_s,
              rate * 1e-9);
  if (peak > 0) std::printf(" %5.1f %% of %.0f", 100 * rate / peak, peak * 1e-9);
  std::printf("  +-%.0f%%  %s", timing.spread * 100,
              human_bytes(static_cast<uint64_t>(used.ru_maxrss) << 10).c_str());
  if (!shape.plugin.empty()) std::printf("  first update %.1f s", first_s);
  std::printf("\n");
  std::fflush(stdout);
}

// False: the measurement failed and printed why.
bool measure_apart(const Shape& shape, int threads, Precision precision) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      measure_shape(shape, threads, precision);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "step_bench: %s\n", error.what());
      std::_Exit(1);
    }
    std::_Exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0;
}

std::vector<Shape> shapes_to_measure(int argc, char** argv) {
  if (argc > 3) {
    return {{.model = argv[3],
             .batch_size = argc > 4 ? std::stoll(argv[4]) : 32,
             .length = argc > 5 ? argv[5] : "128",
             .plugin = argc > 6 ? argv[6] : ""}};
  }
  std::vector<Shape> shapes;
  for (const char* model : {"tiny", "base", "large"}) {
    for (const char* length : {"128", "512", "news"}) {
      for (const int64_t batch : {1, 8, 32})
        shapes.push_back({.model = model, .batch_size = batch, .length = length});
    }
  }
  return shapes;
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  using namespace berth;
  const int threads =
      threads_asked(argc, argv, available_threads(),
                    "step_bench [THREADS [PRECISION [MODEL [BATCH [LENGTH [PLUGIN]]]]]]");
  const bool bf16 = argc > 2 && argv[2] == std::string_view("bf16");
  print_head(cat("training steps, ", bf16 ? "bf16" : "fp32", ", threads: ", threads));
  std::fflush(stdout);
  bool is_whole = true;
  for (const Shape& shape : shapes_to_measure(argc, argv)) {
    is_whole &= measure_apart(shape, threads, bf16 ? Precision::kBf16 : Precision::kFp32);
  }
  return is_whole ? 0 : 1;
}
