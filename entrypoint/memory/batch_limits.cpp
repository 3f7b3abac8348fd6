#include "entrypoint/memory/batch_limits.h"

#include <algorithm>

namespace berth {
namespace {

// The limits of updates with a token budget. A single example may have more tokens than the budget,
// and an example that begins within a micro-batch's share of the tokens belongs to it as a whole.
BatchLimits limits_of_budget(const Settings& settings, int64_t most_examples, int64_t texts) {
  const TrainingOptions& options = settings.training;
  const int64_t parts = options.gradient_accumulation_steps,
                longest = settings.data.max_seq_length * texts;
  const int64_t update = std::max(options.token_budget, longest);
  int64_t tokens = parts == 1 ? update : std::min(update, (update + parts - 1) / parts + longest);
  if (most_examples <= tokens / longest) tokens = most_examples * longest;
  const int64_t evaluated = std::min(options.examples_per_evaluation_batch(), most_examples);
  return {.tokens = std::max(tokens, evaluated * longest),
          .sequences =
              texts * std::max(evaluated, std::min({options.batch_size, tokens, most_examples})),
          .recomputes = options.recompute};
}

}  // namespace

BatchLimits batch_limits(const Settings& settings, bool training, int64_t most_examples,
                         int64_t texts) {
  const TrainingOptions& options = settings.training;
  if (training && options.token_budget > 0) return limits_of_budget(settings, most_examples, texts);
  int64_t sequences = options.examples_per_evaluation_batch();
  if (training) sequences = std::max(sequences, options.examples_per_micro_batch());
  sequences = std::min(sequences, most_examples) * texts;
  return {
      .tokens = sequences * settings.data.max_seq_length,
      .sequences = sequences,
      .recomputes = options.recompute || !training};  // inference keeps no activations for backward
}

int64_t update_tokens(const Settings& settings, int64_t texts) {
  const int64_t longest = settings.data.max_seq_length * texts,
                budget = settings.training.token_budget;
  return budget > 0 ? std::max(budget, longest) : settings.training.batch_size * longest;
}

}  // namespace berth
