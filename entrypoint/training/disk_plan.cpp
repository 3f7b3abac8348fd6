#include "entrypoint/training/disk_plan.h"

#include <algorithm>
#include <utility>

#include "entrypoint/memory/engine_options.h"
#include "trainer/loop/checkpoint_folder.h"
#include "trainer/loop/job_directory.h"

namespace berth {
namespace {

constexpr uint64_t kParameterBytes = sizeof(float);

uint64_t bytes_of(int64_t elements, uint64_t of_one) {
  return static_cast<uint64_t>(elements) * of_one;
}

// The parameters, and two moments of the parameters that train.
uint64_t checkpoint_bytes(const EngineOptions& options) {
  const std::vector<ParameterSpec> specs =
      parameter_table(options.config, options.lora, options.optimizer.first_depth);
  return bytes_of(total_elements(specs), kParameterBytes) +
         2 * bytes_of(trained_elements(specs), kParameterBytes);
}

// The parameters in each format, and the tokenizer's files.
uint64_t model_bytes(const OutputOptions& output, const ModelDescription& model) {
  const int64_t elements = total_elements(parameter_table(model.config));
  const uint64_t weights = bytes_of(elements, size_of(output.export_dtype.value_or(DType::kF32)));
  uint64_t total = weights;
  if (output.export_format == ExportFormat::kOnnx) total += weights;
  if (output.export_format == ExportFormat::kTensorflow) {
    total += bytes_of(elements, kParameterBytes);
  }
  for (const Tokenizer::File& file : model.tokenizer->files()) total += file.content.size();
  return total;
}

// Counts checkpoints. Saves by the time alone (SavePace) are bounded where each replaces the one
// before it, and where somebody chose their interval by the updates alone.
void count_checkpoints(const TrainingOptions& options, const Plan& updates, bool evaluates,
                       bool is_done, DiskUse& use) {
  const int64_t total = std::max<int64_t>(updates.total_steps, 1);
  const int64_t by_steps = options.save_steps > 0 ? (total - 1) / options.save_steps : 0;
  const int64_t evaluations = evaluates ? evaluations_until(options, updates, total - 1) : 0;
  const bool is_timed = options.save_minutes.value_or(1) > 0;
  const bool keeps_timed = is_timed && options.save_minutes;
  const int64_t saves =
      keeps_timed ? total : std::min(total, by_steps + evaluations + 1 + (is_timed ? 1 : 0));
  const int64_t limit = options.save_total_limit;
  const int64_t best = evaluates ? 1 : 0;
  use.kept_checkpoints = limit == 0 ? saves : std::min(saves, limit + best);
  use.most_checkpoints = limit == 0 ? saves : std::min(saves, limit + best + 1);
  use.least_checkpoints = !is_done && by_steps + evaluations > 0 ? 2 : 1;
  use.gives_up = options.gives_up_checkpoints;
  if (use.gives_up) return;
  // An early stop may come before most of them.
  const int64_t certain = options.early_stopping_patience > 0 ? 1 : by_steps + 1;
  use.least_checkpoints = std::max(use.least_checkpoints, certain);
  use.kept_checkpoints = std::min(use.kept_checkpoints, certain);
}

// A directory of the job, with what it holds.
struct Place {
  Uri directory;
  DiskParts parts;
};

// Adds the need of the file system that holds `place`, or adds to it.
void add_need(const Place& place, std::vector<std::pair<DiskNeed, DiskParts>>& needs) {
  const std::optional<Volume> volume = volume_of(place.directory);
  const auto same = std::ranges::find_if(needs, [&](const auto& need) {
    const std::optional<Volume>& other = need.first.volume;
    return volume && other ? volume->id == other->id : !volume && !other;
  });
  auto& [need, parts] =
      same != needs.end()
          ? *same
          : needs.emplace_back(DiskNeed{.place = place.directory.to_string(), .volume = volume},
                               DiskParts());
  parts.checkpoints = parts.checkpoints || place.parts.checkpoints;
  parts.model = parts.model || place.parts.model;
  parts.teacher = parts.teacher || place.parts.teacher;
  need.own_bytes += bytes_below(place.directory);
}

}  // namespace

DiskBudget plan_disk(const Job& job, const TrainingInputs& inputs, TrainingData& data,
                     const Plan& updates, int64_t most_examples) {
  const Settings& settings = inputs.settings();
  const TrainingOptions& options = settings.training;
  if (!options.keeps_weights) return {};
  const JobDirectory directory(settings.output);
  DiskBudget budget;
  DiskUse& use = budget.use;
  use.checkpoint_bytes =
      checkpoint_bytes(training_engine(settings, inputs.model.config, most_examples));
  use.model_bytes = model_bytes(settings.output, inputs.model);
  use.teacher_bytes = data.target_bytes();
  use.other_seeds = static_cast<int64_t>(options.earlier_seeds.size()) + options.later_seeds;
  const auto found = find_checkpoints(job.storage, directory.checkpoints());
  const bool is_done = !found.empty() && found.rbegin()->first >= updates.total_steps;
  count_checkpoints(options, updates, data.eval().has_value(), is_done, use);

  std::vector<std::pair<DiskNeed, DiskParts>> needs;
  add_need({directory.checkpoints(), {.checkpoints = true}}, needs);
  add_need({directory.model(), {.model = true}}, needs);
  if (use.teacher_bytes > 0) add_need({directory.teacher(), {.teacher = true}}, needs);
  for (const SeedPlaces& seed : options.earlier_seeds) {
    add_need({Uri::parse(seed.checkpoints), {.checkpoints = true}}, needs);
    add_need({Uri::parse(seed.model), {.model = true}}, needs);
  }
  for (auto& [need, parts] : needs) {
    need.least_bytes = least_bytes(use, parts);
    need.most_bytes = most_bytes(use, parts);
    budget.needs.push_back(std::move(need));
  }
  return budget;
}

RoomOptions room_options(const JobDirectory& directory, const TrainingOptions& options) {
  RoomOptions room{.directory = directory.checkpoints(),
                   .gives_up = options.gives_up_checkpoints,
                   .needs_best = options.load_best_model_at_end};
  for (const SeedPlaces& seed : options.earlier_seeds) {
    room.finished.push_back(Uri::parse(seed.checkpoints));
  }
  return room;
}

}  // namespace berth
