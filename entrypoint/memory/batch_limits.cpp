#include "entrypoint/memory/batch_limits.h"

#include <algorithm>

namespace berth {
namespace {

// The limits of updates that are cut by tokens: into the shares of ranks, and these into
// micro-batches if there is a token budget or if there are ranks. A single example may have more
// tokens than the budget. An example belongs to one part as a whole, so a part may have more than
// an equal share.
BatchLimits limits_of_tokens(const Settings& settings, int64_t most_examples, int64_t texts) {
  const TrainingOptions& options = settings.training;
  const int64_t longest = settings.data.max_seq_length * texts;
  const int64_t update = update_tokens(settings, texts);
  int64_t tokens = update;
  for (const int64_t parts : {options.place.size, options.gradient_accumulation_steps}) {
    if (parts > 1) tokens = std::min(tokens, (tokens + parts - 1) / parts + longest);
  }
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
  if (training && (options.token_budget > 0 || options.place.size > 1)) {
    return limits_of_tokens(settings, most_examples, texts);
  }
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
