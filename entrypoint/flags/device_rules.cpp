#include "entrypoint/flags/device_rules.h"

#include <string_view>

#include "entrypoint/flags/flag_role.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

using MaybeTask = std::optional<Task>;

// What a job may ask of its device.
bool compares_texts(const CommandLine&, MaybeTask task) {
  return task && tasks_that::compare(traits(*task));
}
bool replaces_tokens(const CommandLine&, MaybeTask task) {
  return task && tasks_that::replace_tokens(traits(*task));
}
bool is_of_a_cpu_mode(const CommandLine& line, MaybeTask) {
  return traits(line.settings.mode).computes == ComputesOn::kCpu;
}
bool teaches_a_classifier(const CommandLine& line, MaybeTask task) {
  return !line.settings.distillation.teacher.empty() && task &&
         tasks_that::mix_labels(traits(*task));
}
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
bool divides_the_optimizer(const CommandLine& line, MaybeTask) {
  return has_workers(line) && line.settings.training.shard_optimizer;
}

// One thing that a job may ask for.
struct DeviceRule {
  std::string_view what;                    // as docs/devices.md names it; empty: not there
  std::string_view on_cpu, on_accelerator;  // as it says what is computed; empty: refused
  bool (*is_asked)(const CommandLine&, MaybeTask) = nullptr;  // nullptr: nothing is refused
  std::string_view problem{}, where{}, hint{};                // of the refusal
  std::string_view makes_auto_take_cpu{};                     // where it does: what asks for it
};

constexpr std::string_view kYes = "yes", kRefused = "";

constexpr DeviceRule kRules[] = {
    {"`sequence_classification`, `regression`, `multi_label`, `token_classification`, "
     "`question_answering`: train, evaluate, predict",
     kYes, kYes},
    {"`masked_lm` (`--task mlm`): train, evaluate", kYes, kYes},
    {"`similarity`: train, evaluate, predict", kYes, kRefused, compares_texts,
     "text embeddings are computed on CPUs only", "--device", "give --device cpu",
     "--task similarity"},
    {"`replaced_token_detection` (`--task electra`): train, evaluate", kYes, kRefused,
     replaces_tokens, "replaced-token detection is computed on CPUs only", "--task electra",
     "give --device cpu", "--task electra"},
    {"`--mode embed`", kYes, kRefused, is_of_a_cpu_mode,
     "text embeddings are computed on CPUs only", "--device", "leave it out, or give --device cpu"},
    {"distillation of an encoder (`--task mlm --teacher`)", kYes,
     "the student; the teacher's vectors are computed on the CPU"},
    {"distillation of a classifier (`--teacher` with labels)", kYes, kRefused, teaches_a_classifier,
     "a classifier learns from a teacher on CPUs only", "--teacher", "give --device cpu"},
    {"probes of a pre-training (`--probe`)", kYes, "on the CPU, beside the training"},
    {"LoRA, `--recompute`, `--token-budget`", kYes, kYes},
    {"`--precision auto`, the default",
     "bf16 where the CPU multiplies it (AMX, AVX512_BF16), else fp32", "bf16; fp32 on `xla-cpu`"},
    {"`--precision fp32`", kYes, kYes},
    {"`--precision bf16`", "where the CPU multiplies it; elsewhere exit code 2", kYes},
    {"`--precision int8` in `--mode predict`, `eval`, `embed`", kYes, kRefused, multiplies_int8,
     "products in int8 are made on CPUs only", "--precision int8",
     "give --device cpu, or --precision auto for this device", "--precision int8"},
    {"`--dropout-generator philox`", kYes, kYes},
    {"`--dropout-generator threefry`", kRefused, kYes, draws_by_threefry,
     "the CPU draws dropout by Philox only", "--dropout-generator threefry",
     "leave it out, or train on a TPU or GPU"},
    {"`--pjrt-plugin`", kRefused, kYes, names_a_plugin, "the CPU's own kernels need no plugin",
     "--pjrt-plugin", "leave it out, or use --device xla-cpu, tpu or gpu"},
    {"several devices (`--devices`)", kRefused, "all that the machine has, or fewer",
     names_several_devices, "the CPU's own kernels are one device", "--devices",
     "leave it out, and use --threads to say how many CPUs compute"},
    {"", kYes, kRefused, counts_devices_of_workers,
     "several workers compute on all of their devices", "--devices", "leave it out"},
    {"`--shard-optimizer` of several workers", kYes, kRefused, divides_the_optimizer,
     "workers with TPUs or GPUs cannot divide the optimizer", "--shard-optimizer",
     "leave it out, or give --device cpu"},
};

std::string cell(std::string_view answer, const DeviceRule& rule) {
  if (answer != kRefused) return std::string(answer);
  return cat("no: exit code 2",
             rule.makes_auto_take_cpu.empty() ? "" : "; with `--device auto` the CPU computes");
}

}  // namespace

void require_device(const CommandLine& command_line, DeviceKind kind, std::optional<Task> task) {
  if (kind == DeviceKind::kAuto) return;
  if (!task) task = find_task(command_line.settings.data.task);
  for (const DeviceRule& rule : kRules) {
    const bool is_refused =
        (kind == DeviceKind::kCpu ? rule.on_cpu : rule.on_accelerator) == kRefused;
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

}  // namespace berth
