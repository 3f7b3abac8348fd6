#include "entrypoint/flags/foreign/foreign_rules.h"

#include "storage/base/text.h"

namespace berth {
namespace {

// Trainer's strategy that one of two names gives.
std::string eval_strategy(const TypedCommand& command) {
  for (const std::string_view name : {"eval_strategy", "evaluation_strategy"}) {
    if (const auto value = command.value(name)) return lower_ascii(*value);
  }
  return "";
}

}  // namespace

namespace rules {

void choose_mode(const ForeignRule& rule) {
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
void multiply_batch(const ForeignRule& rule) {
  constexpr IntegerRange kBatch{1, 1'000'000};
  const TypedCommand& command = rule.command;
  const bool gives_way = rule.argument().foreign->name == "per_device_train_batch_size" &&
                         command.value("per_gpu_train_batch_size").has_value();
  if (gives_way) {
    return rule.translation.ignore(rule.argument(),
                                   "--per_gpu_train_batch_size counts instead, as in Trainer");
  }
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

void choose_evaluations(const ForeignRule& rule) {
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
void evaluate_at_logs(const ForeignRule& rule) {
  const TypedCommand& command = rule.command;
  const bool is_on = parse_switch(rule.value()) && command.is_on("do_train");
  if (!is_on || command.value("eval-steps") || !eval_strategy(command).empty()) return;
  rule.translation.add("--eval-steps=" + command.value("logging-steps").value_or("500"));
}

void choose_saves(const ForeignRule& rule) {
  const std::vector<std::string> strategies = {"no", "steps", "epoch", "best"};
  const std::string& strategy = strategies[parse_choice(rule.value(), strategies)];
  if (strategy == "no" || strategy == "best") rule.translation.add("--save-steps=0");
  if (strategy != "epoch") return;
  rule.translation.ignore(rule.argument(),
                          "berth saves every --save-steps updates, after each evaluation that is "
                          "the best so far, and at the end");
}

void choose_logging(const ForeignRule& rule) {
  const std::vector<std::string> strategies = {"no", "steps", "epoch"};
  if (strategies[parse_choice(rule.value(), strategies)] == "steps") return;
  rule.translation.ignore(rule.argument(), "berth logs every --logging-steps updates");
}

void resume(const ForeignRule& rule) {
  std::string job_dir = rule.command.value("job-dir").value_or("");
  while (job_dir.ends_with('/')) job_dir.pop_back();
  const bool is_own =
      !job_dir.empty() && (rule.value() == job_dir || rule.value().starts_with(job_dir + "/"));
  if (is_own || is_switch_word(rule.value()) || lower_ascii(rule.value()) == "none") {
    return rule.translation.ignore(rule.argument(),
                                   "the job in --job-dir always goes on from its last checkpoint");
  }
  rule.translation.refuse(rule.argument(),
                          "berth resumes the job in --job-dir, from its last checkpoint; a job "
                          "that begins with another one's model names it with --model");
}

// The sizes of a model, and its parameters too unless a checkpoint has these.
void name_sizes(const ForeignRule& rule) {
  if (!rule.command.value("model")) return rule.translation.add("--model=" + rule.value());
  if (rule.command.value("config_file") || rule.command.value("model-config")) {
    return rule.translation.ignore(rule.argument(),
                                   "a file of sizes and the checkpoint are in the line");
  }
  rule.translation.refuse(rule.argument(),
                          "the model of --init_checkpoint has its own sizes and vocabulary: leave "
                          "this flag out where they are the same");
}

// NVIDIA's scripts beside --bert_model name the file of sizes so, and Model Garden an experiment's.
void name_config_file(const ForeignRule& rule) {
  if (rule.command.value("bert_model")) {
    return rule.translation.add("--model-config=" + rule.value());
  }
  rule.translation.refuse(rule.argument(),
                          "every option is a flag: berth explain 'python train.py "
                          "--experiment=...' turns the configuration of an experiment into flags");
}

void name_tokenizer(const ForeignRule& rule) {
  if (rule.command.value("model") == rule.value()) {
    return rule.translation.ignore(rule.argument(), "the tokenizer is always the model's");
  }
  rule.translation.refuse(rule.argument(),
                          "the tokenizer is always the model's; put its files into the model's "
                          "folder, or name a vocab.txt with --vocab-file");
}

// A model's name takes the revision to itself; see translate_own().
void name_revision(const ForeignRule&) {}

void name_architecture(const ForeignRule& rule) {
  if (rule.command.value("model")) {
    return rule.translation.ignore(rule.argument(), "the model's config.json says what it is");
  }
  rule.translation.refuse(rule.argument(),
                          "without a model give --init random, --model-config config.json and "
                          "--vocab-file vocab.txt");
}

// A file of early transformers, with a tag on each line.
void name_tags(const ForeignRule& rule) {
  const std::string& value = rule.value();
  if (value.ends_with(".txt") || value.find('/') != std::string::npos) {
    return rule.translation.ignore(rule.argument(), "the rows say which tags there are");
  }
  rule.translation.refuse(rule.argument(), "--label-names lists the classes");
}

void name_columns(const ForeignRule& rule) {
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

void split_percentage(const ForeignRule& rule) {
  const double percent = parse_real(rule.value(), {0, 100, true, false, "a number from 0 to 100"});
  rule.translation.add("--validation-split=" + real_text(percent / 100));
}

// The length of joined blocks; -1 means the longest input of the model.
void name_block(const ForeignRule& rule) {
  if (!rule.value().starts_with('-')) rule.translation.add("--max-seq-length=" + rule.value());
}

// fp16 and tf32 are types that berth does not compute in.
void leave_precision(const ForeignRule& rule) {
  if (!parse_switch(rule.value())) return;
  rule.translation.note(rule.argument(),
                        "counts as --precision auto, the default: berth multiplies in bf16 where "
                        "the device can, and else in fp32");
}

void checkpoint_steps(const ForeignRule& rule) {
  if (lower_ascii(rule.value()) == "epoch") return choose_saves(rule);
  rule.translation.add("--save-steps=" + rule.value());
}

}  // namespace rules
}  // namespace berth
