#include "entrypoint/job/prompts.h"

#include <optional>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr const char* kFlagsGiveThem = "--query-prompt and --passage-prompt put prompts there";

std::string name_of_prompt(const std::string& prompt) {
  return prompt.empty() ? "nothing" : quoted(prompt);
}

void say_given_prompts(const EmbeddingOptions& options) {
  log_info(cat("prompts: ", name_of_prompt(options.query_prompt),
               " stands before the first text of each row, and ",
               name_of_prompt(options.passage_prompt), " before the others"));
}

void say_default_prompt(const SentenceFiles& files, const char* texts) {
  log_info(cat("prompts: the model's default prompt ", quoted(files.default_prompt_name), " (",
               quoted(files.default_prompt), ") stands before ", texts));
}

}  // namespace

bool gives_prompts(const EmbeddingOptions& options) {
  return !options.query_prompt.empty() || !options.passage_prompt.empty();
}

void require_pooled(const SentenceFiles& files, const std::string& prompt) {
  if (files.pools_prompts || prompt.empty()) return;
  throw Error(Code::kUsage,
              cat("\"include_prompt\" is false, and berth cannot leave the prompt ", quoted(prompt),
                  " out of the pooling"),
              "the config.json of the model's Pooling",
              "use a model that pools its prompts, or leave the prompt out");
}

SentenceFiles with_prompts(SentenceFiles files, const EmbeddingOptions& options) {
  if (!gives_prompts(options)) return files;
  require_pooled(files, options.query_prompt);
  require_pooled(files, options.passage_prompt);
  set_search_prompts({.query = options.query_prompt, .passage = options.passage_prompt}, files);
  return files;
}

void take_default_prompt(const SentenceFiles& files, EmbeddingOptions& options) {
  if (gives_prompts(options)) return say_given_prompts(options);
  require_pooled(files, files.default_prompt);
  options.default_prompt = files.default_prompt;
  if (!files.default_prompt.empty()) return say_default_prompt(files, "each text of a row");
  const std::vector<std::string> names = prompt_names(files);
  if (names.empty()) return;
  log_info(cat("prompts: none of the model's prompts (", quoted_list(names),
               ") stands before the texts of a row; ", kFlagsGiveThem));
}

void settle_training_prompts(const SentenceFiles& files, EmbeddingOptions& options) {
  if (gives_prompts(options)) return say_given_prompts(options);
  const std::vector<std::string> names = prompt_names(files);
  if (names.empty()) return;
  require_pooled(files, files.default_prompt);
  options.default_prompt = files.default_prompt;
  log_warning(cat("none of the model's prompts (", quoted_list(names),
                  ") stands before the texts to train on; ", kFlagsGiveThem));
  if (!files.default_prompt.empty()) say_default_prompt(files, "the texts to evaluate on");
}

void settle_prompt_to_embed(const SentenceFiles& files, EmbeddingOptions& options) {
  if (!options.prompt.empty()) {
    options.default_prompt = options.prompt;
    log_info(cat("prompts: ", quoted(options.prompt), " stands before each text"));
  } else if (!options.prompt_name.empty()) {
    const std::optional<std::string> prompt = prompt_named(files, options.prompt_name);
    if (!prompt) {
      const std::vector<std::string> names = prompt_names(files);
      throw Error(Code::kUsage,
                  cat("the model has no prompt of the name ", quoted(options.prompt_name)),
                  "--prompt-name",
                  names.empty() ? "it has no prompts; --prompt gives the text of one"
                                : cat("its prompts are ", quoted_list(names)));
    }
    options.default_prompt = *prompt;
    log_info(cat("prompts: ", name_of_prompt(*prompt), " stands before each text"));
  } else {
    options.default_prompt = files.default_prompt;
    const std::vector<std::string> names = prompt_names(files);
    if (!files.default_prompt.empty()) {
      say_default_prompt(files, "each text");
    } else if (!names.empty()) {
      log_warning(cat("none of the model's prompts (", quoted_list(names),
                      ") stands before the texts; --prompt-name chooses one"));
    }
  }
  require_pooled(files, options.default_prompt);
}

}  // namespace berth
