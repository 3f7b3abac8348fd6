#include "entrypoint/modes/benchmark.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "entrypoint/modes/modes.h"
#include "entrypoint/platform/this_process.h"
#include "entrypoint/report/progress_lines.h"
#include "entrypoint/report/standard_streams.h"
#include "storage/base/clock.h"
#include "storage/base/text.h"
#include "trainer/model/benchmark_step.h"
#include "trainer/model/training_flops.h"
#include "trainer/weights/initial_values.h"

namespace berth {
namespace {

// Rows of two minutes: base and large, each with the batch of tutorials and with the batch of news.
const std::vector<BenchmarkWork> kWork = {{.size = "base", .length = "128"},
                                          {.size = "base", .length = "news"},
                                          {.size = "base", .length = "128", .trains = false},
                                          {.size = "large", .length = "128"},
                                          {.size = "large", .length = "128", .trains = false}};
constexpr int kLeastBatches = 3;
constexpr int64_t kEpochExamples = 100'000;

// The forward pass is a third of a training step: each product has two more in the backward pass.
constexpr double kForwardShare = 1.0 / 3;

struct Speed {
  double batches_per_second = 0;
  UsageMeter::Reading usage{};
};

std::string name_of(const BenchmarkWork& work) {
  return cat("BERT-", work.size, work.trains ? " training" : " prediction");
}

EngineOptions engine_options(const BenchmarkWork& work, const ModelConfig& config,
                             const PackedBatch& batch) {
  EngineOptions options;
  options.config = config;
  options.trains = work.trains;
  options.limits = {.tokens = batch.num_tokens(), .sequences = batch.num_sequences()};
  options.update_tokens = batch.num_tokens();
  options.longest = batch.longest_sequence();
  return options;
}

PackedBatch batch_of(const BenchmarkWork& work, const ModelConfig& config, int64_t examples) {
  return make_random_batch({.sequences = examples, .length = work.length}, config);
}

// `examples`, halved until that many fit into the memory; 0: not even one does.
int64_t fitting(const BenchmarkWork& work, const ModelConfig& config, int64_t examples,
                Device& device, const MemoryLimits& limits) {
  for (; examples > 0; examples /= 2) {
    const EngineMemory memory =
        device.memory_of(engine_options(work, config, batch_of(work, config, examples)));
    const bool fits_host = !limits.host || memory.on_host() <= limits.host->size_bytes;
    const bool fits_device = !limits.device || memory.on_device() <= limits.device->size_bytes;
    if (fits_host && fits_device) break;
  }
  return examples;
}

// Computes one batch first, which warms up the memory and may compile, and then measures.
Speed measure(Engine& engine, const BenchmarkWork& work, const PackedBatch& batch,
              const BenchmarkOptions& options) {
  const std::atomic<bool> never = false;
  uint64_t step = 0;
  const auto compute = [&] {
    if (options.stop_point) options.stop_point();
    if (!work.trains) {
      LossSum loss;
      engine.infer(batch, loss);
      return;
    }
    engine.start_update(std::span(&batch, 1), {.seed = 1, .step = step++, .learning_rate = 1e-5f},
                        never);
    engine.collect_update();
  };
  compute();
  UsageMeter usage(usage_of_this_process());
  const double began_s = steady_clock_s();
  int batches = 0;
  double took_s = 0;
  while (batches < kLeastBatches || took_s < options.least_of_a_row_s) {
    compute();
    ++batches;
    took_s = steady_clock_s() - began_s;
  }
  return {.batches_per_second = batches / took_s, .usage = usage.read().value_or(Speed{}.usage)};
}

// A line a level: "L2       2 MiB   150 GB/s read    80 GB/s written".
std::string memory_text(const std::vector<MemoryLevel>& levels) {
  std::string text;
  for (const MemoryLevel& level : levels) {
    std::string row = level.name;
    row.resize(6, ' ');
    std::string size = level.size_bytes == UINT64_MAX ? "" : human_bytes(level.size_bytes);
    size.insert(0, std::max<size_t>(size.size(), 10) - size.size(), ' ');
    text += cat(row, size, number_text("%8.0f GB/s read", 1e-9 * level.read_bytes_per_s),
                number_text("%8.0f GB/s written\n", 1e-9 * level.written_bytes_per_s));
  }
  return text;
}

}  // namespace

std::optional<MachineRow> measure_work(const BenchmarkWork& work, Device& device,
                                       const BenchmarkOptions& options) {
  const ModelConfig config = bert_of_size(work.size);
  const TrainingFlops flops = training_flops(config);
  const double share = work.trains ? 1 : kForwardShare;
  const double peak = device.peak_flops();
  const double of_example = share * flops.of(batch_of(work, config, 1));
  const int64_t examples =
      fitting(work, config, benchmark_batch(of_example, peak, options.most_of_a_batch_s), device,
              options.limits);
  if (examples == 0) return std::nullopt;
  const PackedBatch batch = batch_of(work, config, examples);
  const std::unique_ptr<Engine> engine = device.make_engine(engine_options(work, config, batch));
  initialize(engine->tensors(StateTensors::kValues), config.initializer_range, 1, options.threads);
  engine->tensors_written();
  const Speed speed = measure(*engine, work, batch, options);
  return MachineRow{
      .machine = processor_name(),
      .work = cat(name_of(work), ", ", examples,
                  work.length == "news" ? " news texts" : cat(" x ", work.length, " tokens")),
      .kernels = device.info().description,
      .examples_per_second = static_cast<double>(examples) * speed.batches_per_second,
      .tokens_per_second = static_cast<double>(batch.num_tokens()) * speed.batches_per_second,
      .flops_per_second = share * flops.of(batch) * speed.batches_per_second,
      .peak_flops_per_second = peak,
      .cpu_share = speed.usage.cpu_share,
      .memory_bytes = speed.usage.resident_bytes,
      .epoch_examples = kEpochExamples};
}

int64_t benchmark_batch(double flops_per_example, double peak_flops, double most_s) {
  constexpr double kUsualShare = 0.7;
  if (peak_flops <= 0) return 8;
  int64_t examples = 32;
  while (examples > 1 &&
         static_cast<double>(examples) * flops_per_example > most_s * kUsualShare * peak_flops) {
    examples /= 2;
  }
  return examples;
}

void run_benchmark(Job& job) {
  const std::unique_ptr<Device> device = make_device(job);
  const BenchmarkOptions options{.threads = compute_threads(job.command_line.settings),
                                 .limits = memory_limits(*device),
                                 .stop_point = [&job] { job.stop_point(); }};
  StandardOutput output;
  const auto print = [&](const std::string& lines) {
    output.write(as_bytes(printable_lines(lines + "\n")));
  };
  print(machine_table_head());
  std::string left_out;
  for (const BenchmarkWork& work : kWork) {
    std::optional<MachineRow> row = measure_work(work, *device, options);
    if (row) {
      row->price_per_hour = job.command_line.price_per_hour;
      print(to_text(*row));
    } else {
      left_out += cat(name_of(work), " is left out: it needs more memory than there is.\n");
    }
  }
  print(
      cat("\n", left_out, "An epoch is ", kEpochExamples,
          " examples. The peak is the rate of multiply-add instructions on this machine, measured "
          "just now."));
  const std::string memory = memory_text(device->memory_levels());
  if (!memory.empty())
    print(cat("\nMemory of all threads together, also measured just now:\n", memory));
  output.close();
}

}  // namespace berth
