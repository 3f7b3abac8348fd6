#pragma once

#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// What a rule sees: one argument, whose row has Fate::kRule, with its value, the whole command, and
// where the result goes.
struct ForeignRule {
  const TypedCommand& command;
  size_t index;
  Translation& translation;

  const TypedArgument& argument() const { return command.arguments()[index]; }
  const std::string& value() const { return argument().values[0]; }
};

// The rules, which rows of the table name. Flags that belong together, such as --do_train and
// --do_eval, become one flag of berth at the place of the last of them. They throw kUsage on a
// value that its program would refuse, too.
namespace rules {

void choose_mode(const ForeignRule& rule);
void multiply_batch(const ForeignRule& rule);
void choose_evaluations(const ForeignRule& rule);
void evaluate_at_logs(const ForeignRule& rule);
void choose_saves(const ForeignRule& rule);
void choose_logging(const ForeignRule& rule);
void resume(const ForeignRule& rule);
void name_sizes(const ForeignRule& rule);
void name_config_file(const ForeignRule& rule);
void name_tokenizer(const ForeignRule& rule);
void name_revision(const ForeignRule& rule);
void name_architecture(const ForeignRule& rule);
void name_tags(const ForeignRule& rule);
void name_columns(const ForeignRule& rule);
void split_percentage(const ForeignRule& rule);
void name_block(const ForeignRule& rule);
void leave_precision(const ForeignRule& rule);
void checkpoint_steps(const ForeignRule& rule);

}  // namespace rules
}  // namespace berth
