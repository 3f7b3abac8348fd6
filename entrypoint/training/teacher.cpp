#include "entrypoint/training/teacher.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <span>

#include "entrypoint/job/finished_model.h"
#include "entrypoint/job/labelled_data.h"
#include "entrypoint/job/training_memory.h"
#include "entrypoint/memory/engine_options.h"
#include "storage/base/counted.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/loop/evaluate.h"

namespace berth {
namespace {

constexpr int64_t kTextsAtOnce = 64;

// The settings by which the teacher's model is read and its batches are cut.
Settings settings_of_teacher(const Settings& job) {
  Settings settings = job;
  settings.model = {.model = job.distillation.teacher};
  settings.precision = Precision::kAuto;
  settings.training.eval_batch_size = kTextsAtOnce;
  return settings;
}

// The longest texts that both the student and the teacher can take.
Settings with_positions(Settings settings, const ModelConfig& config) {
  const auto most = static_cast<int32_t>(config.max_sequence_length());
  settings.data.max_seq_length = std::min(settings.data.max_seq_length, most);
  return settings;
}

ModelDescription describe(ModelFolder& folder, const Settings& settings) {
  DataOptions any_length = settings.data;
  any_length.max_seq_length = kShortestSequence;
  ModelDescription model = describe_model(folder, settings.model, any_length);
  model.config.task = Task::kTextEmbedding;
  return model;
}

std::vector<float> of_length_one(std::span<const float> vector) {
  const double squares =
      std::inner_product(vector.begin(), vector.end(), vector.begin(), 0.0, std::plus<>(),
                         [](float a, float b) { return double{a} * double{b}; });
  const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
  std::vector<float> scaled;
  for (const float value : vector) scaled.push_back(static_cast<float>(scale * double{value}));
  return scaled;
}

// Logs now and then how far the teacher is.
class Progress {
 public:
  explicit Progress(int64_t texts) : texts_(texts) {}

  void on_text(int64_t done) {
    const Clock::time_point now = Clock::now();
    if (now - last_ < std::chrono::seconds(30)) return;
    last_ = now;
    const std::chrono::duration<double> elapsed = now - start_;
    log_info(cat("teacher: ", done, " of ", counted(texts_, "text"), ", ",
                 static_cast<int64_t>(static_cast<double>(done) / elapsed.count()), " a second"));
  }

 private:
  using Clock = std::chrono::steady_clock;
  const int64_t texts_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

}  // namespace

Teacher::Teacher(const Job& job, const Settings& settings)
    : job_(job),
      settings_(settings_of_teacher(settings)),
      folder_(job.storage, settings_.model),
      model_(describe(folder_, settings_)) {}

std::unique_ptr<Engine> Teacher::make_engine(Device& device, int64_t most_examples) {
  const Settings settings = with_positions(settings_, model_.config);
  std::unique_ptr<Engine> engine =
      device.make_engine(inference_engine(settings, model_.config, most_examples));
  fill_parameters(folder_, settings.model, model_.config, /*seed=*/0, compute_threads(settings),
                  engine->tensors(StateTensors::kValues));
  engine->tensors_written();
  return engine;
}

RowTargets Teacher::embeddings(const LoadedTable& loaded, std::vector<uint32_t> rows) {
  const Settings settings = with_positions(settings_, model_.config);
  const LabelledData examples(loaded, model_.config.task, /*labels=*/{}, /*wants_labels=*/false,
                              settings, *model_.tokenizer);
  RowTargets targets(loaded.table->rows(), static_cast<size_t>(vector_size()));
  Dataset data = examples.rows(std::move(rows));
  const std::unique_ptr<Device> device = make_host_device(job_, settings.precision);
  const DataMemory memory{
      .program = program_bytes(), .tables = targets.memory_bytes(), .most_examples = data.size()};
  require_inference_memory(settings, model_.config, memory, *device);
  const std::unique_ptr<Engine> engine = make_engine(*device, data.size());
  Progress progress(data.size());
  const std::optional<double> done =
      run_forward(*engine, data, settings.training.eval_batch_size, job_.stop,
                  [&](int64_t index, std::span<const float> vector) {
                    targets.set(data.row(index), of_length_one(vector));
                    progress.on_text(index + 1);
                  });
  if (!done) throw_stopped();
  return targets;
}

}  // namespace berth
