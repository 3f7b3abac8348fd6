#include "entrypoint/flags/foreign/foreign_rules.h"

#include <map>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// What a rule sees: the argument and its value, the other arguments, and where the result goes.
struct Rule {
  const TypedCommand& command;
  size_t index;
  Translation& translation;

  const TypedArgument& argument() const { return command.arguments()[index]; }
  const std::string& value() const { return argument().values[0]; }
};

// Trainer's strategy that one of two names gives.
std::string eval_strategy(const TypedCommand& command) {
  for (const std::string_view name : {"eval_strategy", "evaluation_strategy"}) {
    if (const auto value = command.value(name)) return lower_ascii(*value);
  }
  return "";
}

void choose_mode(const Rule& rule) {
  const TypedCommand& command = rule.command;
  const bool predicts = command.is_on("do_predict");
  if (rule.argument().foreign->name == "do_predict" && predicts &&
      (command.is_on("do_train") || command.is_on("do_eval"))) {
    rule.translation.predicts_afterwards = true;
    rule.translation.note(rule.argument(),
                          "is a second run here: --mode predict with the same --job-dir");
  }
  if (!command.is_last_of(rule.index, {"do_train", "do_eval", "do_predict"})) return;
  const std::string strategy = eval_strategy(command);
  const bool evaluates = command.is_on("do_eval") || command.is_on("evaluate_during_training") ||
                         (!strategy.empty() && strategy != "no");
  if (command.is_on("do_train")) {
    rule.translation.add(evaluates ? "--mode=train_and_eval" : "--mode=train");
  } else if (command.is_on("do_eval")) {
    rule.translation.add("--mode=eval");
  } else if (predicts) {
    rule.translation.add("--mode=predict");
  }
}

// Trainer's batch counts the examples of one device and one micro-batch; berth's counts the
// examples of an update.
void multiply_batch(const Rule& rule) {
  constexpr IntegerRange kBatch{1, 1'000'000};
  const TypedCommand& command = rule.command;
  const int64_t processes = command.processes();
  const int64_t micro_batches =
      parse_integer(command.value("gradient-accumulation-steps").value_or("1"), kBatch);
  if (processes * micro_batches == 1) return rule.translation.add("--batch-size=" + rule.value());
  const int64_t examples = parse_integer(rule.value(), kBatch);
  const int64_t product = examples * processes * micro_batches;
  rule.translation.add(cat("--batch-size=", product));
  rule.translation.note(rule.argument(),
                        cat("counts the examples of one micro-batch of one process: ", examples,
                            " x ", micro_batches, " x ", processes, " = --batch-size ", product));
}

void choose_evaluations(const Rule& rule) {
  const TypedCommand& command = rule.command;
  const std::vector<std::string> strategies = {"no", "steps", "epoch"};
  const size_t strategy = parse_choice(rule.value(), strategies);
  if (strategies[strategy] == "steps" && !command.value("eval-steps")) {
    rule.translation.add("--eval-steps=" + command.value("logging-steps").value_or("500"));
  }
  const bool never = command.is_on("do_train") && !command.is_on("do_eval");
  if (strategies[strategy] == "no" && !never) {
    rule.translation.ignore(
        rule.argument(),
        "--mode train_and_eval evaluates at the end of every epoch, --mode train never");
  }
}

// Early transformers evaluated at every log.
void evaluate_at_logs(const Rule& rule) {
  const TypedCommand& command = rule.command;
  const bool is_on = parse_switch(rule.value()) && command.is_on("do_train");
  if (!is_on || command.value("eval-steps") || !eval_strategy(command).empty()) return;
  rule.translation.add("--eval-steps=" + command.value("logging-steps").value_or("500"));
}

void choose_saves(const Rule& rule) {
  const std::vector<std::string> strategies = {"no", "steps", "epoch", "best"};
  const std::string& strategy = strategies[parse_choice(rule.value(), strategies)];
  if (strategy == "no" || strategy == "best") rule.translation.add("--save-steps=0");
  if (strategy != "epoch") return;
  rule.translation.ignore(rule.argument(),
                          "berth saves every --save-steps updates, after each evaluation that is "
                          "the best so far, and at the end");
}

void choose_logging(const Rule& rule) {
  const std::vector<std::string> strategies = {"no", "steps", "epoch"};
  if (strategies[parse_choice(rule.value(), strategies)] == "steps") return;
  rule.translation.ignore(rule.argument(), "berth logs every --logging-steps updates");
}

void resume(const Rule& rule) {
  const std::string job_dir = rule.command.value("job-dir").value_or("");
  const bool is_own = !job_dir.empty() && rule.value().starts_with(job_dir);
  if (is_own || is_switch_word(rule.value()) || lower_ascii(rule.value()) == "none") {
    return rule.translation.ignore(rule.argument(),
                                   "the job in --job-dir always goes on from its last checkpoint");
  }
  rule.translation.refuse(rule.argument(),
                          "berth resumes the job in --job-dir, from its last checkpoint; a job "
                          "that begins with another one's model names it with --model");
}

// The sizes of a model, and its parameters too unless a checkpoint has these.
void name_sizes(const Rule& rule) {
  if (!rule.command.value("model")) return rule.translation.add("--model=" + rule.value());
  rule.translation.refuse(rule.argument(),
                          "the model of --init_checkpoint has its own sizes and vocabulary: leave "
                          "this flag out where they are the same");
}

void name_tokenizer(const Rule& rule) {
  if (rule.command.value("model") == rule.value()) {
    return rule.translation.ignore(rule.argument(), "the tokenizer is always the model's");
  }
  rule.translation.refuse(rule.argument(),
                          "the tokenizer is always the model's; put its files into the model's "
                          "folder, or name a vocab.txt with --vocab-file");
}

// A model's name takes the revision to itself; see translate_own().
void name_revision(const Rule&) {}

void name_architecture(const Rule& rule) {
  if (rule.command.value("model")) {
    return rule.translation.ignore(rule.argument(), "the model's config.json says what it is");
  }
  rule.translation.refuse(rule.argument(),
                          "without a model give --init random, --model-config config.json and "
                          "--vocab-file vocab.txt");
}

// A file of early transformers, with a tag on each line.
void name_tags(const Rule& rule) {
  const std::string& value = rule.value();
  if (value.ends_with(".txt") || value.find('/') != std::string::npos) {
    return rule.translation.ignore(rule.argument(), "the rows say which tags there are");
  }
  rule.translation.refuse(rule.argument(), "--label-names lists the classes");
}

void name_columns(const Rule& rule) {
  const std::vector<std::string> names = parted(rule.value(), ",");
  if (names.empty() || names.size() > 2) {
    return rule.translation.refuse(
        rule.argument(),
        "berth reads one text or two, so join the columns before: --text-column "
        "and --text-pair-column");
  }
  rule.translation.add("--text-column=" + names[0]);
  if (names.size() == 2) rule.translation.add("--text-pair-column=" + names[1]);
}

void split_percentage(const Rule& rule) {
  const double percent = parse_real(rule.value(), {0, 100, true, false, "a number from 0 to 100"});
  rule.translation.add("--validation-split=" + real_text(percent / 100));
}

// The length of joined blocks; -1 means the longest input of the model.
void name_block(const Rule& rule) {
  if (!rule.value().starts_with('-')) rule.translation.add("--max-seq-length=" + rule.value());
}

// fp16 and tf32 are types that berth does not compute in.
void leave_precision(const Rule& rule) {
  if (!parse_switch(rule.value())) return;
  rule.translation.note(rule.argument(),
                        "counts as --precision auto, the default: berth multiplies in bf16 where "
                        "the device can, and else in fp32");
}

void checkpoint_steps(const Rule& rule) {
  if (lower_ascii(rule.value()) == "epoch") return choose_saves(rule);
  rule.translation.add("--save-steps=" + rule.value());
}

using Apply = void (*)(const Rule&);
const std::map<std::string_view, Apply>& rules() {
  static const std::map<std::string_view, Apply> all = {
      {"do_train", choose_mode},
      {"do_eval", choose_mode},
      {"do_predict", choose_mode},
      {"per_device_train_batch_size", multiply_batch},
      {"per_gpu_train_batch_size", multiply_batch},
      {"eval_strategy", choose_evaluations},
      {"evaluation_strategy", choose_evaluations},
      {"save_strategy", choose_saves},
      {"logging_strategy", choose_logging},
      {"resume_from_checkpoint", resume},
      {"evaluate_during_training", evaluate_at_logs},
      {"bert_model", name_sizes},
      {"tokenizer_name", name_tokenizer},
      {"model_revision", name_revision},
      {"model_type", name_architecture},
      {"labels", name_tags},
      {"text_column_names", name_columns},
      {"validation_split_percentage", split_percentage},
      {"checkpointing_steps", checkpoint_steps},
      {"block_size", name_block},
      {"fp16", leave_precision},
      {"fp16_full_eval", leave_precision},
      {"tf32", leave_precision},
  };
  return all;
}

}  // namespace

void apply_rule(const TypedCommand& command, size_t index, Translation& translation) {
  rules().at(command.arguments()[index].foreign->name)({command, index, translation});
}

bool has_rule(std::string_view name) { return rules().contains(name); }

}  // namespace berth
