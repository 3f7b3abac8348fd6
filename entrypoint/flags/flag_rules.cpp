#include "entrypoint/flags/flag_rules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/similarity_rules.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/storage.h"
#include "trainer/inputs/load_model.h"
#include "trainer/model/task.h"
#include "trainer/tasks/glue.h"

namespace berth {

std::string unused_flags(const CommandLine& command_line) {
  const Settings& settings = command_line.settings;
  if ((kEverywhere & set_of({settings.mode})) == 0) return "";
  std::string names;
  for (const Flag& flag : flag_table()) {
    if (!command_line.gives(flag.name)) continue;
    if (flag.role.is_used(settings)) continue;
    names += cat(names.empty() ? "" : ", ", "--", flag.name);
  }
  if (names.empty()) return "";
  return cat("--mode ", traits(settings.mode).name, " does not use ", names);
}

std::string mode_of_word(std::string_view word) {
  if (word.starts_with('-')) return "";
  CommandLine named;
  try {
    find_flag("mode")->value.set(named, word);
  } catch (const Error&) {
    return "";
  }
  return std::string(traits(named.settings.mode).name);
}

namespace {

// The names of some modes: "predict and embed".
std::string mode_names(ModeSet modes) {
  std::vector<std::string> names;
  for (const ModeTraits& row : mode_table()) {
    if ((modes & set_of({row.mode})) != 0) names.emplace_back(row.name);
  }
  return enumerated(names);
}

// The tasks that a job can train, in the order of their table. Tasks that users ask for in the same
// way are one.
std::vector<Task> trained_tasks() {
  std::vector<Task> tasks;
  for (const TaskTraits& row : task_table()) {
    if (!row.is_offered && row.asked_as.empty()) continue;
    const bool is_new = tasks.empty() || asked_name(tasks.back()) != asked_name(row.task);
    if (is_new) tasks.push_back(row.task);
  }
  return tasks;
}

// How users ask for the task, as Markdown: "`similarity` without labels".
std::string marked_name(Task task) {
  std::string text;
  for (const std::string& word : parted(asked_name(task), " ")) {
    const bool is_typed = text.empty() || word.starts_with("--");
    text += cat(text.empty() ? "" : " ", is_typed ? cat("`", word, "`") : word);
  }
  return text;
}

std::string tasks_that_heed(const Flag& flag) {
  std::vector<std::string> heeding;
  for (const Task task : trained_tasks()) {
    if (flag.role.is_heeded_by(task)) heeding.emplace_back(asked_name(task));
  }
  return enumerated(heeding);
}

}  // namespace

std::string task_flags_markdown() {
  std::string header = "| flag |", line = "\n| --- |", rows;
  const std::vector<Task> tasks = trained_tasks();
  for (const Task task : tasks) {
    header += cat(" ", marked_name(task), " |");
    line += " --- |";
  }
  for (const Flag& flag : flag_table()) {
    if (flag.role.tasks == nullptr) continue;
    rows += cat("\n| `--", flag.name, "` |");
    for (const Task task : tasks) {
      rows += flag.role.is_heeded_by(task) ? " does |" : " refused |";
    }
  }
  return header + line + rows + "\n";
}

namespace {

// Calls `use` with each flag that was given and has another value than its default.
template <typename Use>
void for_each_wish(const CommandLine& command_line, const Use& use) {
  const CommandLine defaults;
  for (const Flag& flag : flag_table()) {
    const bool is_wish =
        command_line.gives(flag.name) && flag.value.get(command_line) != flag.value.get(defaults);
    if (is_wish) use(flag);
  }
}

// Throws kUsage, or warns where the job was begun with the flag.
void refuse(const CommandLine& command_line, const Flag& flag, const WasAccepted& was_accepted,
            const std::string& what, const std::string& hint) {
  const std::string typed = cat("--", flag.name);
  if (!was_accepted(flag.name, flag.value.get(command_line))) {
    throw Error(Code::kUsage, what, typed, hint);
  }
  log_warning(cat(typed, ": ", what));
}

}  // namespace

void require_heeded(const CommandLine& command_line, Task task, const WasAccepted& was_accepted,
                    std::optional<Task> evaluated) {
  for_each_wish(command_line, [&](const Flag& flag) {
    if (flag.role.is_heeded_by(task) || flag.role.has(kTaskIsRefusedLater)) return;
    if (evaluated && flag.role.is_heeded_by(*evaluated)) return;
    refuse(command_line, flag, was_accepted,
           cat("the flag changes nothing in a training of ", asked_name(task)),
           cat("leave it out; it is for ", tasks_that_heed(flag)));
  });
}

void require_used(const CommandLine& command_line, std::optional<double> peak,
                  const WasAccepted& was_accepted) {
  const Settings& settings = command_line.settings;
  for_each_wish(command_line, [&](const Flag& flag) {
    const FlagRole& role = flag.role;
    if (role.heeds != nullptr && !role.heeds(settings)) {
      refuse(command_line, flag, was_accepted, "the flag changes nothing with the other flags",
             cat("leave it out, or ", role.heeds_if));
    }
  });
  const double end = settings.training.optimization.lr_end;
  const Flag& flag = *find_flag("lr-end");
  if (!peak || end <= *peak || !flag.role.heeds(settings)) return;
  refuse(command_line, flag, was_accepted,
         cat("the learning rate would end at ", real_text(end), ", above its peak of ",
             real_text(*peak)),
         "give a lower end, or a higher --learning-rate");
}

void require_no_masking(const CommandLine& command_line, const WasAccepted& was_accepted) {
  for_each_wish(command_line, [&](const Flag& flag) {
    if (flag.role.tasks != tasks_that::mask) return;
    refuse(command_line, flag, was_accepted,
           "the flag changes nothing, because the rows are masked already",
           "leave it out, or give texts");
  });
}

void heed_flags_of_model(const CommandLine& command_line, Task task) {
  const ModeTraits& mode = traits(command_line.settings.mode);
  // Embeddings heed what the texts of a comparison do.
  const TaskTraits& row = traits(mode.makes_vectors ? Task::kSimilarity : task);
  const std::string what =
      cat("--mode ", mode.name, mode.makes_vectors ? "" : cat(" of ", asked_name(task)));
  std::string names;
  for_each_wish(command_line, [&](const Flag& flag) {
    const FlagRole& role = flag.role;
    if (!role.is_used(command_line.settings)) return;  // unused_flags() says it
    if (role.is_heeded_by(row.task)) return;
    if (row.unlabelled && role.is_heeded_by(*row.unlabelled)) return;
    if (role.has(kRefusedElsewhere)) {
      throw Error(Code::kUsage, cat("the flag changes nothing in ", what), cat("--", flag.name),
                  cat("leave it out; it is for ", tasks_that_heed(flag)));
    }
    names += cat(names.empty() ? "" : ", ", "--", flag.name);
  });
  if (!names.empty()) log_warning(cat(what, " does not use ", names));
}

namespace {

using MaybeTask = std::optional<Task>;

// What a job may ask of its device.
bool multiplies_int8(const CommandLine& line, MaybeTask) {
  return line.settings.precision == Precision::kInt8;
}
bool draws_by_threefry(const CommandLine& line, MaybeTask) {
  return line.device.generator != DropoutGenerator::kPhilox;
}
bool names_a_plugin(const CommandLine& line, MaybeTask) {
  return line.settings.device == DeviceKind::kCpu && !line.device.plugin.empty();
}
bool names_several_devices(const CommandLine& line, MaybeTask) {
  return line.settings.device == DeviceKind::kCpu && line.device.devices > 1;
}
bool has_workers(const CommandLine& line) { return line.cluster.size.value_or(1) > 1; }
bool counts_devices_of_workers(const CommandLine& line, MaybeTask) {
  return has_workers(line) && line.device.devices != 0;
}
// The generator's ids are known on the host that drew them.
bool replaces_tokens_on_hosts(const CommandLine& line, MaybeTask task) {
  return has_workers(line) && task && tasks_that::replace_tokens(traits(*task));
}
// So are the embeddings that are kept.
bool caches_gradients_on_hosts(const CommandLine& line, MaybeTask) {
  return has_workers(line) && line.settings.training.embedding_mini_batch_size > 0;
}
bool divides_the_optimizer(const CommandLine& line, MaybeTask) {
  return has_workers(line) && line.settings.training.shard_optimizer;
}

// What the loss of texts that are compared needs beside their embeddings is known on the host.
bool asks_another_model(const CommandLine& line, MaybeTask) {
  return traits(line.settings.mode).trains() && line.settings.embedding.has_other_guide();
}
bool learns_from_teacher(const CommandLine& line, MaybeTask) {
  const auto& loss = line.settings.embedding.loss;
  return traits(line.settings.mode).trains() && loss &&
         (learns_scores(*loss) || learns_embeddings(*loss));
}
bool learns_embeddings_of_texts(const CommandLine& line, MaybeTask task) {
  return traits(line.settings.mode).trains() && !line.settings.distillation.teacher.empty() &&
         task && traits(*task).rows == HeadRows::kGroups;
}
bool mixes_sources(const CommandLine& line, MaybeTask) {
  return !line.settings.data.train_sources.empty();
}

// One thing that a job may ask for.
struct DeviceRule {
  std::string_view what;                    // as docs/devices.md names it; empty: not there
  std::string_view on_cpu, on_accelerator;  // as it says what is computed; empty: refused
  bool (*is_asked)(const CommandLine&, MaybeTask) = nullptr;  // nullptr: nothing is refused
  std::string_view problem{}, where{}, hint{};                // of the refusal
  std::string_view makes_auto_take_cpu{};                     // where it does: what asks for it
};

constexpr std::string_view kYes = "yes", kNo = "";

constexpr DeviceRule kRules[] = {
    {"`sequence_classification`, `regression`, `multi_label`, `token_classification`, "
     "`question_answering`, `multiple_choice`, `similarity`, `reranking`: train, evaluate, predict",
     kYes, kYes},
    {"`masked_lm` (`--task mlm`), `mlm_nsp`, `mlm_sop` (masked tokens and pairs of texts): train, "
     "evaluate",
     kYes, kYes},
    {"`replaced_token_detection` (`--task electra`): train, evaluate", kYes, kYes},
    {"`--mode embed`, `--mode mine`", kYes, kYes},
    {"distillation of an encoder (`--task mlm --teacher`)", kYes,
     "the student; the teacher's vectors are computed on the CPU"},
    {"distillation of a classifier (`--teacher` with labels)", kYes,
     "the student; the teacher's logits are computed on the CPU"},
    {"`--similarity-loss margin_mse`, `distill_kl`, `embedding_mse`, `embedding_cosine`", kYes, kNo,
     learns_from_teacher, "TPUs and GPUs learn nothing from a teacher of texts",
     "--similarity-loss", "give another loss, or --device cpu", "--similarity-loss"},
    {"`--task similarity --teacher`", kYes, kNo, learns_embeddings_of_texts,
     "TPUs and GPUs learn nothing from a teacher of texts", "--teacher",
     "leave it out, or give --device cpu", "--teacher"},
    {"`--guide self`", kYes, kYes},
    {"`--guide MODEL` in a training", kYes, kNo, asks_another_model,
     "TPUs and GPUs have no other model as a guide", "--guide",
     "give --guide self, or --device cpu", "--guide"},
    {"`--train-source`", kYes, kNo, mixes_sources,
     "TPUs and GPUs do not train on several sources of rows", "--train-source",
     "leave it out, or give --device cpu", "--train-source"},
    {"probes of a pre-training (`--probe`)", kYes, "on the CPU, beside the training"},
    {"LoRA, `--recompute`, `--token-budget`, `--embedding-mini-batch-size`", kYes, kYes},
    {"`--precision auto`, the default",
     "bf16 where the CPU multiplies it (AMX, AVX512_BF16), else fp32", "bf16; fp32 on `xla-cpu`"},
    {"`--precision fp32`", kYes, kYes},
    {"`--precision bf16`", "where the CPU multiplies it; elsewhere exit code 2", kYes},
    {"`--precision int8` in `--mode predict`, `eval`, `embed`", kYes, kNo, multiplies_int8,
     "products in int8 are made on CPUs only", "--precision int8",
     "give --device cpu, or --precision auto for this device", "--precision int8"},
    {"`--dropout-generator philox`", kYes, kYes},
    {"`--dropout-generator threefry`", kNo, kYes, draws_by_threefry,
     "the CPU draws dropout by Philox only", "--dropout-generator threefry",
     "leave it out, or train on a TPU or GPU"},
    {"`--pjrt-plugin`", kNo, kYes, names_a_plugin, "the CPU's own kernels need no plugin",
     "--pjrt-plugin", "leave it out, or use --device xla-cpu, tpu or gpu"},
    {"several devices (`--devices`)", kNo, "all that the machine has, or fewer",
     names_several_devices, "the CPU's own kernels are one device", "--devices",
     "leave it out, and use --threads to say how many CPUs compute"},
    {"", kYes, kNo, counts_devices_of_workers, "several workers compute on all of their devices",
     "--devices", "leave it out"},
    {"`--task electra` of several workers", kYes, kNo, replaces_tokens_on_hosts,
     "workers with TPUs or GPUs cannot train a generator", "--task electra",
     "use one worker, or give --device cpu"},
    {"`--embedding-mini-batch-size` of several workers", kYes, kNo, caches_gradients_on_hosts,
     "workers with TPUs or GPUs cannot cache gradients", "--embedding-mini-batch-size",
     "leave it out, use one worker, or give --device cpu"},
    {"`--shard-optimizer` of several workers", kYes, kNo, divides_the_optimizer,
     "workers with TPUs or GPUs cannot divide the optimizer", "--shard-optimizer",
     "leave it out, or give --device cpu"},
};

std::string cell(std::string_view answer, const DeviceRule& rule) {
  if (answer != kNo) return std::string(answer);
  return cat("no: exit code 2",
             rule.makes_auto_take_cpu.empty() ? "" : "; with `--device auto` the CPU computes");
}

}  // namespace

void require_device(const CommandLine& command_line, DeviceKind kind, std::optional<Task> task) {
  if (kind == DeviceKind::kAuto) return;
  if (!task) task = find_task(command_line.settings.data.task);
  for (const DeviceRule& rule : kRules) {
    const bool is_refused = (kind == DeviceKind::kCpu ? rule.on_cpu : rule.on_accelerator) == kNo;
    if (!is_refused || !rule.is_asked(command_line, task)) continue;
    throw Error(Code::kUsage, std::string(rule.problem), std::string(rule.where),
                std::string(rule.hint));
  }
}

std::string needs_cpu(const CommandLine& command_line) {
  const MaybeTask task = find_task(command_line.settings.data.task);
  for (const DeviceRule& rule : kRules) {
    if (rule.makes_auto_take_cpu.empty() || !rule.is_asked(command_line, task)) continue;
    return std::string(rule.makes_auto_take_cpu);
  }
  return "";
}

std::string devices_markdown() {
  std::string rows = "| what | `cpu` | `tpu`, `gpu`, `xla-cpu` |\n| --- | --- | --- |\n";
  for (const DeviceRule& rule : kRules) {
    if (rule.what.empty()) continue;
    rows += cat("| ", rule.what, " | ", cell(rule.on_cpu, rule), " | ",
                cell(rule.on_accelerator, rule), " |\n");
  }
  return rows;
}

namespace {

[[noreturn]] void unknown_task(const std::string& name) {
  throw Error(Code::kUsage, cat(quoted(name), " is not a task"), "--task",
              cat("the tasks are ", known_tasks(), ", ", known_glue_tasks()));
}

}  // namespace

bool prepares_corpus(const DataOptions& data, Mode mode) {
  const std::optional<Task> task = find_task(data.task);
  return traits(mode).prepares_rows() && task && traits(*task).labels == LabelKind::kMaskedId &&
         traits(*task).inputs == InputKind::kDocument;
}

void complete_data_files(DataOptions& data, Mode mode) {
  const bool as_tutorial = !data.input_meta_data_path.empty();
  if (traits(mode).predicts() && as_tutorial && data.predict_data_file.empty()) {
    data.predict_data_file = data.eval_data_file;
  }
  if (data.task.empty()) {
    if (data.data_dir.empty()) return;
    throw Error(Code::kUsage, "--data-dir needs a GLUE task", "", "name it with --task");
  }
  const GlueTask* glue = find_glue_task(data.task);
  if (glue == nullptr && !find_task(data.task)) unknown_task(data.task);
  if (data.data_dir.empty()) return;
  if (glue == nullptr) {
    throw Error(
        Code::kUsage,
        cat(quoted(data.task), " is not a GLUE task, so the names of its files are unknown"),
        "--data-dir", "name the files with --train-data-file and the other data flags");
  }
  const Uri directory = Uri::parse(data.data_dir);
  const auto complete = [&](std::string& file, std::string_view name) {
    if (file.empty() && !name.empty()) file = (directory / std::string(name)).to_string();
  };
  complete(data.train_data_file, glue->train);
  complete(data.eval_data_file, glue->eval);
  complete(data.predict_data_file, glue->test);
}

namespace {

void need(std::string_view value, std::string_view flag, const ModeTraits& mode) {
  if (!value.empty()) return;
  throw Error(Code::kUsage, cat(flag, " is missing"), "",
              cat(mode.evaluates_training() ? "a training" : cat("--mode ", mode.name),
                  " needs it, as in: ", mode.example));
}

// Throws kUsage if a GLUE task has no files, because other programs download them by its name.
void need_data_dir(const DataOptions& data) {
  const GlueTask* glue = find_glue_task(data.task);
  if (glue != nullptr && glue->train.empty()) {
    throw Error(Code::kUsage, cat(glue->name, " has no rows to train on"), "--task",
                "train a model with --task mnli, and score it with --mode eval --task ax");
  }
  if (glue == nullptr || !data.train_data_file.empty()) return;
  throw Error(
      Code::kUsage, cat("the files of ", glue->name, " are missing"), "",
      "name GLUE's own by --data-dir, or a folder of `datasets` by --train-data-file; `berth "
      "explain` shows how to make one");
}

void check_files(const CommandLine& command_line) {
  const Settings& settings = command_line.settings;
  for (const Flag& flag : flag_table()) {
    if (!flag.role.has(kRefusedElsewhere) || flag.role.is_used(settings)) continue;
    if (!command_line.gives(flag.name)) continue;
    const bool is_prompt = flag.name == "query-prompt" || flag.name == "passage-prompt";
    throw Error(Code::kUsage, cat("the flag is only for --mode ", mode_names(flag.role.modes)),
                cat("--", flag.name),
                is_prompt && settings.mode == Mode::kEmbed
                    ? "--prompt gives the text of a prompt, and --prompt-name names one of the "
                      "model's"
                    : "");
  }
  const bool is_corpus = prepares_corpus(settings.data, settings.mode);
  CommandLine completed = command_line;
  const DataOptions& data = completed.settings.data;
  complete_data_files(completed.settings.data, settings.mode);
  const ModeTraits& mode = traits(settings.mode);
  const OutputOptions& output = settings.output;
  const ModelOptions& model = settings.model;
  const std::string& input = command_line.tool.input;
  if (mode.trains()) need_data_dir(data);
  if (mode.takes_inputs) need(input, mode.input, mode);
  for (const Flag& flag : flag_table()) {
    const std::string value = flag.value.get(completed);
    // A search can be evaluated alone.
    const bool may_lack = flag.role.need == kNeedsEvalData && !data.eval_retrieval.empty();
    if (mode.needs_any(flag.role.need) && !may_lack) need(value, cat("--", flag.name), mode);
    const bool is_other_file = (flag.role.need & (kNeedsEvalData | kNeedsPredictData)) != 0;
    if (!is_corpus || !is_other_file || value.empty()) continue;
    throw Error(Code::kUsage, "a corpus is prepared from --train-data-file alone",
                cat("--", flag.name), "prepare the other file by another run");
  }
  if (mode.needs_any(kNeedsTokenizer) && !is_corpus && model.vocab_file.empty() &&
      needs_tokenizer(data)) {
    need(model.model, "--model (or --vocab-file), for its tokenizer,", mode);
  }
  if (mode.needs_any(kNeedsInput) && !command_line.tool.text) need(input, mode.input, mode);
  if (mode.needs_any(kNeedsPlace) && output.job_dir.empty()) {
    need(output.export_dir, "--export-dir", mode);
  }
  if (mode.needs_any(kNeedsModelOrJob) && output.job_dir.empty() && model.model.empty()) {
    throw Error(Code::kUsage, "no model is given", "",
                "give the --job-dir of a finished job, or --model");
  }
}

void check_places(const CommandLine& command_line) {
  for (const Flag& flag : flag_table()) {
    if (!flag.role.has(kWrittenTo)) continue;
    const std::string place = flag.value.get(command_line);
    if (place.empty() || !Uri::parse(place).scheme().starts_with("http")) continue;
    throw Error(Code::kUsage, "berth cannot write to http(s)://, which can only be read",
                cat("--", flag.name), "give a local directory or gs://bucket/directory");
  }
}

// Throws kUsage if a flag is about evaluations and the job has none.
void check_evaluations(const Settings& settings) {
  const DataOptions& data = settings.data;
  const bool has_rows = !data.eval_data_file.empty() || !data.data_dir.empty() ||
                        data.validation_split > 0 || !data.eval_retrieval.empty();
  const ModeTraits& mode = traits(settings.mode);
  if (!mode.trains() || (mode.evaluates_training() && has_rows)) return;
  for (const Flag& flag : flag_table()) {
    const SettingsRule asks = flag.role.needs_evaluations;
    if (asks == nullptr || !asks(settings)) continue;
    if (has_rows) {
      throw Error(Code::kUsage, "--mode train never evaluates", "--" + flag.name,
                  "use --mode train_and_eval");
    }
    throw Error(Code::kUsage, "there are no rows to evaluate on", "--" + flag.name,
                "give --eval-data-file, or a --validation-split above 0");
  }
}

// Throws kUsage if a flag changes nothing without another one, which is at its default.
void check_companions(const CommandLine& command_line) {
  const CommandLine defaults;
  const auto is_asked = [&](const Flag& flag) {
    return flag.value.get(command_line) != flag.value.get(defaults);
  };
  const Settings& settings = command_line.settings;
  for (const Flag& flag : flag_table()) {
    const FlagRole& role = flag.role;
    if (role.companion == nullptr || !is_asked(flag)) continue;
    if (is_asked(*find_flag(role.companion))) continue;
    if (!traits(settings.mode).trains() && role.is_used(settings)) continue;
    throw Error(Code::kUsage, cat("there is no ", role.thing, " without --", role.companion),
                cat("--", flag.name), cat("give --", role.companion, ", or leave this flag out"));
  }
}

void check_lora(const Settings& settings) {
  const bool adapts = static_cast<bool>(settings.training.optimization.lora);
  if (adapts && settings.model.init == Init::kRandom) {
    throw Error(Code::kUsage,
                "LoRA leaves the encoder as it is, and --init random makes that noise",
                "--lora-rank", "use LoRA with a pretrained model");
  }
}

void check_distillation(const Settings& settings) {
  const bool trains = traits(settings.mode).trains();
  const DistillationOptions& options = settings.distillation;
  if (!trains || options.target != DistillationTarget::kHiddenStates) return;
  constexpr const char* kFlag = "--distillation-target hidden_states";
  if (options.teacher.empty()) {
    throw Error(Code::kUsage, "there is no teacher", kFlag,
                "name one with --teacher, or leave this flag out");
  }
  if (find_task(settings.data.task) == Task::kMaskedLm) return;
  throw Error(Code::kUsage, "hidden states are learnt from texts without labels", kFlag,
              "give --task mlm, or leave this flag out");
}

// A threshold is chosen by the evaluations of a training alone.
void check_threshold(const Settings& settings) {
  const std::string& asked = settings.data.label_threshold;
  const bool is_chosen = asked == kBestThreshold || asked == kBestThresholds;
  if (!is_chosen || traits(settings.mode).trains()) return;
  throw Error(Code::kUsage, "a threshold is chosen by the evaluations of a training",
              cat("--label-threshold ", asked),
              "leave the flag out for the model's own threshold, or give a number");
}

void check_focal_loss(const Settings& settings) {
  const OptimizationOptions& options = settings.training.optimization;
  if (options.focal_gamma == 0 || !traits(settings.mode).trains()) return;
  if (options.label_smoothing > 0) {
    throw Error(Code::kUsage, "a focal loss has no form for smoothed labels", "--focal-gamma",
                "leave out one of --focal-gamma and --label-smoothing");
  }
  if (!settings.distillation.teacher.empty()) {
    throw Error(Code::kUsage, "a focal loss has no form for a teacher's outputs", "--focal-gamma",
                "leave out one of --focal-gamma and --teacher");
  }
}

void check_reranking(const Settings& settings) {
  const RerankingOptions& options = settings.reranking;
  const RerankingLoss loss = options.loss.value_or(RerankingObjective().loss);
  const bool is_used =
      loss == RerankingLoss::kBinaryCrossEntropy || !traits(settings.mode).trains();
  if (options.positive_weight == 1 || is_used) return;
  throw Error(Code::kUsage, "the flag changes nothing in this loss", "--positive-weight",
              "leave it out, or give --reranking-loss bce");
}

void check_generator(const Settings& settings) {
  const bool trains = traits(settings.mode).trains();
  if (!trains || settings.electra.generator.empty() || settings.model.init != Init::kRandom) return;
  throw Error(Code::kUsage,
              "the generator uses the model's embeddings, and --init random makes them noise",
              "--generator", "leave one of the two out");
}

void check_seeds(const CommandLine& command_line) {
  const Settings& settings = command_line.settings;
  if (settings.training.seeds == 1) return;
  if (command_line.is_tuned()) {
    throw Error(Code::kUsage, "hyperparameter tuning expects one run for each trial", "--seeds",
                "leave this flag out, or make --seed a parameter of the study");
  }
}

void check_dry_run(const CommandLine& command_line) {
  if (!command_line.dry_run || traits(command_line.settings.mode).trains()) return;
  throw Error(Code::kUsage, "the flag is for training only", "--dry-run",
              "leave it out, or use --mode train_and_eval");
}

void check_probes(const Settings& settings) {
  if (settings.probes.files.empty()) return;
  const bool trains = traits(settings.mode).trains();
  const std::optional<Task> task = find_task(settings.data.task);
  if (trains && task && !traits(*task).has_label_column) return;
  throw Error(Code::kUsage,
              "a probe shows what pre-training brings, and this job does not pre-train", "--probe",
              "leave it out, or give a task that needs no labels, such as --task mlm");
}

// Throws kUsage where embeddings cannot be made, or have no place.
void check_embedding(const CommandLine& command_line) {
  const Settings& settings = command_line.settings;
  const bool trains = traits(settings.mode).trains();
  const bool embeds = find_task(settings.data.task) == Task::kSimilarity;
  const CommandLine defaults;
  for (const Flag& flag : flag_table()) {
    const TaskRule rule = flag.role.tasks;
    const bool is_of_embeddings = rule == tasks_that::compare ||
                                  rule == tasks_that::compare_with_labels ||
                                  rule == tasks_that::find_partners;
    if (!trains || embeds || !is_of_embeddings) continue;
    if (flag.value.get(command_line) == flag.value.get(defaults)) continue;
    throw Error(Code::kUsage, "only --task similarity trains embeddings", cat("--", flag.name),
                "give that task, or leave this flag out");
  }
  if (settings.mode != Mode::kEmbed) return;
  const std::string& file = command_line.tool.predictions_file;
  const bool goes_to_output = file == "-" || (file.empty() && settings.output.job_dir.empty());
  const EmbeddingOptions& embedding = settings.embedding;
  if (embedding.format == EmbeddingsFormat::kParquet &&
      embedding.type != EmbeddingsType::kFloat32) {
    throw Error(Code::kUsage, "Parquet stores a whole number of eight bits in four bytes",
                "--embeddings-type", "give --embeddings-format npy or jsonl");
  }
  if (!goes_to_output) return;
  const char* const place = "give --job-dir or --predictions-file";
  if (embedding.file_rows > 0) {
    throw Error(Code::kUsage, "several files do not go to standard output",
                "--embeddings-file-rows", place);
  }
  if (embedding.type == EmbeddingsType::kInt8 || embedding.type == EmbeddingsType::kUint8) {
    throw Error(Code::kUsage, "the ranges of the numbers need a file beside the embeddings",
                "--embeddings-type", place);
  }
  if (embedding.format == EmbeddingsFormat::kJsonl) return;
  throw Error(Code::kUsage, "binary embeddings do not go to standard output", "",
              cat(place, ", or --embeddings-format jsonl"));
}

// Throws kUsage where a file of results would not be what its name says.
void check_results_name(const CommandLine& command_line) {
  const std::string name = lower_ascii(command_line.tool.predictions_file);
  const Mode mode = command_line.settings.mode;
  const auto ends_with = [&](std::string_view suffix) { return name.ends_with(suffix); };
  if (mode == Mode::kPredict) {
    constexpr std::string_view kOtherEndings[] = {".gz",   ".bz2",     ".xz",  ".zst",
                                                  ".json", ".parquet", ".npy", ".jsonl"};
    if (std::ranges::none_of(kOtherEndings, ends_with)) return;
    throw Error(Code::kUsage,
                cat("predictions are a table with tabs, and ",
                    quoted(command_line.tool.predictions_file), " names another format"),
                "--predictions-file", "give a name that ends with .tsv");
  }
  constexpr std::string_view kPacked[] = {".gz", ".bz2", ".xz", ".zst"};
  if (mode != Mode::kEmbed || std::ranges::none_of(kPacked, ends_with)) return;
  throw Error(Code::kUsage, "embeddings are not compressed", "--predictions-file",
              "give a name that ends with .npy, .parquet or .jsonl");
}

void check_precision(const Settings& settings) {
  if (settings.precision != Precision::kInt8) return;
  if (traits(settings.mode).runs_finished_model()) return;
  throw Error(Code::kUsage, "a model is not trained in int8", "--precision int8",
              "train with fp32, bf16 or auto, and use int8 in --mode predict, eval or embed");
}

// Throws kUsage where rows are to be joined and not.
void check_joining(const DataOptions& data) {
  if (!data.line_by_line || !data.attends_across_documents) return;
  throw Error(Code::kUsage, "with --line-by-line a sequence holds one document",
              "--attend-across-documents", "leave one of the two out");
}

// Throws kUsage where windows have a step and an overlap.
void check_windows(const DataOptions& data) {
  if (!data.doc_stride || !data.doc_step) return;
  throw Error(Code::kUsage, "the windows of a context have one distance", "--doc-step",
              "give --doc-step or --doc-stride");
}

// Throws kUsage if two flags name the same column for different parts of a row.
void check_columns(const CommandLine& command_line) {
  std::map<std::string, std::string> columns;  // with the flags that name them
  for (const Flag& flag : flag_table()) {
    if (!flag.role.has(kNamesColumn)) continue;
    const std::string column = flag.value.get(command_line);
    if (column.empty()) continue;
    const auto [earlier, is_new] = columns.emplace(column, flag.name);
    if (is_new) continue;
    throw Error(Code::kUsage, cat("--", earlier->second, " and --", flag.name, " both name column ",
                                  quoted(column)));
  }
}

}  // namespace

void check_settings(const CommandLine& command_line) {
  const Settings& settings = command_line.settings;
  check_columns(command_line);
  check_joining(settings.data);
  check_windows(settings.data);
  check_places(command_line);
  check_evaluations(settings);
  check_companions(command_line);
  check_lora(settings);
  check_distillation(settings);
  check_threshold(settings);
  check_focal_loss(settings);
  check_reranking(settings);
  check_generator(settings);
  check_seeds(command_line);
  check_probes(settings);
  check_dry_run(command_line);
  check_results_name(command_line);
  check_embedding(command_line);
  check_similarity(settings);
  check_precision(settings);
  if (traits(settings.mode).computes) {
    require_device(command_line, settings.device);
  }
  const TrainingOptions& training = settings.training;
  if (training.gradient_accumulation_steps > training.batch_size) {
    throw Error(Code::kUsage,
                cat(training.gradient_accumulation_steps, " is more than the ", training.batch_size,
                    " examples of --batch-size"),
                "--gradient-accumulation-steps",
                "give at most one micro-batch for each example of an update");
  }
  check_files(command_line);
}

}  // namespace berth
