#include "entrypoint/training/teacher.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "entrypoint/job/finished_model.h"
#include "entrypoint/job/labelled_data.h"
#include "entrypoint/job/training_memory.h"
#include "entrypoint/memory/engine_options.h"
#include "entrypoint/report/log_pace.h"
#include "storage/base/counted.h"
#include "storage/base/error.h"
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

// What the teacher computes for a student of `task`.
Task task_of_teacher(Task task) {
  if (task == Task::kEmbeddingDistillation) return Task::kTextEmbedding;
  if (traits(task).rows == HeadRows::kSequences) return task;
  throw Error(Code::kUsage, cat("there is no distillation for ", task_name(task)), "--teacher",
              "leave it out; teachers help where each text has a class, a set of classes or a "
              "score, and with --task mlm");
}

ModelDescription describe(ModelFolder& folder, const Settings& settings, Task task) {
  DataOptions any_length = settings.data;
  any_length.max_seq_length = kShortestSequence;
  ModelDescription model = describe_model(folder, settings.model, any_length);
  model.config.task = task_of_teacher(task);
  if (!traits(task).has_classes) model.config.labels = output_labels(task);
  return model;
}

// For each label of the student its place among those of the teacher.
std::vector<size_t> order_of(const std::vector<std::string>& labels, const ModelConfig& teacher,
                             const std::string& name) {
  if (!traits(teacher.task).has_classes) return std::vector<size_t>(labels.size(), 0);
  const std::vector<std::string> own = evaluation_labels(teacher);
  if (!in_order_of(own, labels)) {
    std::string names;
    for (const std::string& label : own) names += (names.empty() ? "" : ", ") + quoted(label);
    throw Error(Code::kUsage, "the teacher's labels are not those of the rows: " + names, name,
                "give a teacher that was fine-tuned for the same labels");
  }
  std::vector<size_t> order;
  for (const std::string& label : labels) {
    const auto same = [&](const std::string& other) {
      return lower_ascii(other) == lower_ascii(label);
    };
    order.push_back(static_cast<size_t>(std::ranges::find_if(own, same) - own.begin()));
  }
  return order;
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

// Logs how far the teacher is, where that is due.
void log_progress(LogPace& pace, int64_t done, int64_t texts) {
  if (!pace.is_due()) return;
  const auto rate = static_cast<int64_t>(pace.rate(static_cast<double>(done)));
  log_info(cat("teacher: ", done, " of ", counted(texts, "text"), ", ", rate, " a second"));
}

}  // namespace

Teacher::Teacher(const Job& job, const Settings& settings, Task task,
                 const std::vector<std::string>& labels)
    : job_(job),
      settings_(settings_of_teacher(settings)),
      folder_(job.storage, settings_.model),
      model_(describe(folder_, settings_, task)),
      order_(order_of(labels, model_.config, folder_.name())) {
  if (const auto file = folder_.parameters()) file->verify();  // the job's record has its checksum
  if (job.device.kind == DeviceKind::kCpu || is_of_embeddings()) return;
  throw Error(Code::kUsage, "a classifier learns from a teacher on CPUs only", "--teacher",
              "give --device cpu");
}

size_t Teacher::memory_bytes(size_t rows) const {
  return rows * static_cast<size_t>(num_outputs()) * size_of(dtype());
}

std::vector<float> Teacher::target_of(std::span<const float> logits) const {
  if (is_of_embeddings()) return of_length_one(logits);
  std::vector<float> ordered;
  for (const size_t place : order_) ordered.push_back(logits[place]);
  return ordered;
}

std::unique_ptr<Engine> Teacher::make_engine(Device& device, int64_t most_examples) {
  const Settings settings = with_positions(settings_, model_.config);
  std::unique_ptr<Engine> engine =
      device.make_engine(inference_engine(settings, model_.config, most_examples));
  fill_parameters(folder_, settings.model, model_.config, /*seed=*/0, compute_threads(settings),
                  engine->tensors(StateTensors::kValues), HeadNeed::kRequired);
  engine->tensors_written();
  return engine;
}

RowTargets Teacher::outputs(const LoadedTable& loaded, const std::vector<uint32_t>& rows,
                            SavedTargets& saved) {
  RowTargets targets(loaded.table->rows(), static_cast<size_t>(num_outputs()), dtype());
  const size_t done = saved.restore(rows, targets);
  if (done > 0) {
    log_info(cat("teacher: the outputs of ", done, " of ", counted(rows.size(), "text"),
                 " are taken from an earlier run"));
  }
  if (done < rows.size()) run(loaded, rows, done, targets, saved);
  return targets;
}

void Teacher::run(const LoadedTable& loaded, const std::vector<uint32_t>& rows, size_t done,
                  RowTargets& targets, SavedTargets& saved) {
  const Settings settings = with_positions(settings_, model_.config);
  const LabelledData examples(loaded, model_.config.task, /*labels=*/{}, /*wants_labels=*/false,
                              settings, *model_.tokenizer);
  Dataset data = examples.rows({rows.begin() + static_cast<std::ptrdiff_t>(done), rows.end()});
  const std::unique_ptr<Device> device = make_host_device(job_, settings.precision);
  require_inference_memory(settings, model_.config,
                           {.program = program_bytes(), .tables = 0, .most_examples = data.size()},
                           *device);
  const std::unique_ptr<Engine> engine = make_engine(*device, data.size());
  LogPace pace;
  const std::optional<double> finished =
      run_forward(*engine, data, settings.training.eval_batch_size, job_.stop,
                  [&](int64_t index, std::span<const float> logits) {
                    targets.set(data.row(index), target_of(logits));
                    saved.save(rows, done + static_cast<size_t>(index) + 1, targets);
                    log_progress(pace, index + 1, data.size());
                  });
  if (!finished) throw_stopped();
}

}  // namespace berth
