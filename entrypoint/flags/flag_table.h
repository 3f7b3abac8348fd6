#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/flags/flag_value.h"
#include "trainer/inputs/options.h"
#include "trainer/inputs/setting.h"
#include "trainer/model/task.h"

namespace berth {

// What else holds for a flag, as bits beside the bits of setting.h.
//
// Where the flag is not given, a mode that runs the finished model of a job takes the value from
// job.json. A model must read rows as it did when it was trained.
inline constexpr unsigned kAsTrained = 1u << 8;
// Only --mode eval takes the value, because losses compare only where rows have the same weights.
inline constexpr unsigned kAsScored = 1u << 9;
// Only --mode eval takes the value, and only where a text is compared with the others of its batch.
inline constexpr unsigned kAsBatched = 1u << 10;
// A mode that does not use the flag refuses it.
inline constexpr unsigned kRefusedElsewhere = 1u << 11;
// The value is a place that the job writes to.
inline constexpr unsigned kWrittenTo = 1u << 13;
// The flag may be given several times. Each value is a line of its text.
inline constexpr unsigned kMayRepeat = 1u << 14;
// Later code refuses a task that does not heed the flag, because its error can say more.
inline constexpr unsigned kTaskIsRefusedLater = 1u << 12;
// The value names a column, and no other flag with this mark may name the same column.
inline constexpr unsigned kNamesColumn = 1u << 15;
// The value says how labels are written. It outranks what a job found out about its own labels.
inline constexpr unsigned kSaysLabelForm = 1u << 16;
// --mode prepare has no use for the flag where it writes shards of tokens.
inline constexpr unsigned kNotForTokens = 1u << 17;

using TaskRule = bool (*)(const TaskTraits&);
using SettingsRule = bool (*)(const Settings&);

// What a flag is to a job. Code that needs some of the flags asks the roles, and has no list of
// names. A row of the flag table without a role does not compile.
struct FlagRole {
  FlagRole(Effect effect_of_value, ModeSet used_in, unsigned with_marks = 0)
      : effect(effect_of_value), modes(used_in), marks(with_marks) {}

  // Only these tasks heed it in a training. By default all tasks do.
  FlagRole heeded_by(TaskRule rule) const { return with(&FlagRole::tasks, rule); }
  // The flag changes nothing without the flag `name`, which asks for `what`: "there is no <what>".
  // The check of the command line refuses it alone, unless a mode that trains nothing uses it.
  FlagRole only_with(const char* name, const char* what) const {
    return with(&FlagRole::companion, name).with(&FlagRole::thing, what);
  }
  // The flag changes something only where `rule` holds. A training refuses it elsewhere, and says
  // what else the user may do: "give --x y".
  FlagRole heeded_where(SettingsRule rule, const char* else_do) const {
    return with(&FlagRole::heeds, rule).with(&FlagRole::heeds_if, else_do);
  }
  // A mode whose row has this need (mode.h) cannot do without the flag.
  FlagRole needed_as(unsigned what) const { return with(&FlagRole::need, what); }
  // The value decides (Effect::kDecides) where `rule` holds.
  FlagRole decides_where(SettingsRule rule) const { return with(&FlagRole::decides, rule); }
  // Where `rule` holds, the flag asks for something that a job without evaluations does not have.
  FlagRole about_evaluations_where(SettingsRule rule) const {
    return with(&FlagRole::needs_evaluations, rule);
  }
  // A mode uses it too where `rule` holds.
  FlagRole used_where(SettingsRule rule) const { return with(&FlagRole::uses, rule); }

  bool has(unsigned mark) const { return (marks & mark) != 0; }
  bool is_recorded() const { return effect != Effect::kUnrecorded; }
  bool names_rows() const {
    return (need & (kNeedsTrainData | kNeedsEvalData | kNeedsPredictData)) != 0;
  }
  bool is_used(const Settings& settings) const {
    return (modes & set_of({settings.mode})) != 0 || (uses != nullptr && uses(settings));
  }
  bool is_heeded_by(Task task) const { return tasks == nullptr || tasks(traits(task)); }
  Effect effect_in(const Settings& settings) const {
    return decides != nullptr && decides(settings) ? Effect::kDecides : effect;
  }

  Effect effect;
  ModeSet modes;
  unsigned marks;
  TaskRule tasks = nullptr;
  SettingsRule decides = nullptr, uses = nullptr, needs_evaluations = nullptr, heeds = nullptr;
  const char *companion = nullptr, *thing = nullptr, *heeds_if = nullptr;
  unsigned need = 0;

 private:
  template <typename Value>
  FlagRole with(Value FlagRole::*member, Value value) const {
    FlagRole role = *this;
    role.*member = value;
    return role;
  }
};

// The tasks that a flag may be for.
namespace tasks_that {

inline bool have_classes(const TaskTraits& task) { return task.has_classes; }
inline bool have_one_class(const TaskTraits& task) { return task.labels == LabelKind::kClass; }
inline bool have_cross_entropy(const TaskTraits& task) {
  return task.loss == LossKind::kCrossEntropy || task.labels == LabelKind::kMaskedId;
}
inline bool choose_classes(const TaskTraits& task) {
  return task.labels == LabelKind::kClass || task.labels == LabelKind::kTagPerWord ||
         task.labels == LabelKind::kSet;
}
inline bool have_sets(const TaskTraits& task) { return task.labels == LabelKind::kSet; }
inline bool choose(const TaskTraits& task) { return task.labels == LabelKind::kChoice; }
inline bool compare(const TaskTraits& task) { return task.rows == HeadRows::kGroups; }
inline bool have_labels(const TaskTraits& task) { return task.has_label_column; }
inline bool read_groups(const TaskTraits& task) { return task.inputs == InputKind::kTextGroup; }
inline bool may_have_labels(const TaskTraits& task) {
  return have_labels(task) || read_groups(task);
}
inline bool read_negatives(const TaskTraits& task) {
  return read_groups(task) && !have_labels(task);
}
inline bool rank_passages(const TaskTraits& task) { return task.loss == LossKind::kReranking; }
inline bool find_partners(const TaskTraits& task) { return compare(task) && !have_labels(task); }
inline bool compare_with_labels(const TaskTraits& task) {
  return compare(task) && have_labels(task);
}
inline bool read_pairs(const TaskTraits& task) {
  return task.inputs == InputKind::kTexts || task.inputs == InputKind::kTextGroup ||
         task.inputs == InputKind::kQuestion;
}
inline bool mix_labels(const TaskTraits& task) {
  return task.rows == HeadRows::kSequences && have_labels(task) && !read_groups(task);
}
inline bool join_rows(const TaskTraits& task) { return task.rows == HeadRows::kMasked; }
inline bool learn_vectors(const TaskTraits& task) {
  return are_vectors(task.labels) || join_rows(task);
}
inline bool have_a_teacher(const TaskTraits& task) {
  return mix_labels(task) || learn_vectors(task) || compare(task);
}
inline bool mask(const TaskTraits& task) { return task.labels == LabelKind::kMaskedId; }
inline bool replace_tokens(const TaskTraits& task) { return task.rows == HeadRows::kReplaced; }
inline bool train_one_network(const TaskTraits& task) { return !replace_tokens(task); }
// PEFT loads a head as whole modules. The module that predicts masked tokens holds the word
// embeddings, too, which an adapter's file does not have.
inline bool export_adapters(const TaskTraits& task) {
  return train_one_network(task) && task.labels != LabelKind::kMaskedId;
}
inline bool find_answers(const TaskTraits& task) { return task.labels == LabelKind::kSpan; }

}  // namespace tasks_that

// The headings of --help.
enum class FlagGroup {
  kData,
  kModel,
  kTraining,
  kOptimization,
  kSaving,
  kOutput,
  kStorage,
  kTools,
  kMachine,
  kHidden  // not shown in help
};
std::string_view heading(FlagGroup group);

// One flag: THE row of all that the program knows of it. Names are kebab-case; `_` may stand for
// `-` wherever a user types one.
struct Flag {
  // `names`: "task, task-name", the name and other programs' spellings with the same meaning.
  Flag(std::string_view names, std::string help_text, FlagValue value_of_flag,
       FlagRole role_of_flag, std::string default_words = {});

  std::string name;
  std::vector<std::string> aliases;
  FlagGroup group{};
  std::string help;  // one or more sentences
  FlagValue value;
  FlagRole role;             // has no default
  std::string default_text;  // the default in words, where the value would not say it
};

// THE flag table. Parsing, --help, the tables of docs/flags.md and docs/tasks.md, and the settings
// in job.json come from it. So do the parts of these settings that make a job's identity, that its
// workers share, and that the runs of its model take over. Flags of other programs are translated
// into these before: see foreign/translation.h.
std::span<const Flag> flag_table();
// The row of this canonical name. nullptr: there is none.
const Flag* find_flag(std::string_view name);

// Its rows. flag_table() says to which group they belong.
std::vector<Flag> data_flags();
std::vector<Flag> model_flags();
std::vector<Flag> embedding_flags();
std::vector<Flag> reranking_flags();
std::vector<Flag> mining_flags();
std::vector<Flag> training_flags();
std::vector<Flag> optimization_flags();
std::vector<Flag> evaluation_flags();
std::vector<Flag> probe_flags();
std::vector<Flag> output_flags();
std::vector<Flag> storage_flags();
std::vector<Flag> tool_flags();
std::vector<Flag> corpus_flags();  // the cleaning of a corpus
std::vector<Flag> device_flags();
std::vector<Flag> cluster_flags();
std::vector<Flag> machine_flags();
std::vector<Flag> hidden_flags();

// A flag as someone typed it, without its dashes and value.
struct FlagSpelling {
  const Flag* flag;
  bool negated;  // --no-x or --nox
};

// Finds the row of the flag table that `typed` names, by its name or one of its aliases, as below.
// nullopt: there is none.
std::optional<FlagSpelling> find_flag_spelling(std::string_view typed);

// Finds the row of the flag table that `typed` names, by its name or one of its aliases. `_` may
// stand for `-`. Throws kUsage on an unknown name, with the nearest known one if it is near, and on
// --no-x where x is not a switch.
FlagSpelling look_up_flag(std::string_view typed);

// `word` as a shell takes it for one word. With `expands`, $NAME and a leading ~/ keep their
// meaning.
std::string shell_quoted(const std::string& word, bool expands);

// A flag with its value, as someone types it: "--batch-size 32", "--recompute",
// "--no-do-lower-case". A flag with several values stands there for each. `expands` as in
// shell_quoted().
std::string typed_flag(const Flag& flag, const std::string& value, bool expands);

}  // namespace berth
