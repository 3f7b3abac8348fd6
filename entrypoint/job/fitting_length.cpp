#include "entrypoint/job/fitting_length.h"

#include <algorithm>

#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr const char* kTokenizerRule = "model_max_length counts";

}  // namespace

bool asks_for_length(const CommandLine& command_line, const Settings& settings) {
  return command_line.gives("max-seq-length") ||
         settings.data.max_seq_length != DataOptions().max_seq_length;
}

ModelDescription describe_fitting_model(ModelFolder& folder, const CommandLine& command_line,
                                        Settings& settings, bool is_of_job) {
  int32_t& length = settings.data.max_seq_length;
  if (asks_for_length(command_line, settings)) {
    return describe_model(folder, settings.model, settings.data);
  }
  DataOptions any_length = settings.data;
  any_length.max_seq_length = kShortestSequence;
  ModelDescription model = describe_model(folder, settings.model, any_length);
  const int64_t positions = model.config.max_sequence_length();
  if (positions < length) {
    length = static_cast<int32_t>(positions);
    log_info(cat("--max-seq-length ", positions, ", because the model has no more positions"));
  }
  const std::optional<int64_t> most = is_of_job ? std::nullopt : tokenizer_length(folder);
  if (most && *most < length) {
    length = static_cast<int32_t>(*most);
    model.tokenizer_rules.emplace_back(kTokenizerRule);
    log_info(cat("--max-seq-length ", *most,
                 ", because tokenizer_config.json says so (model_max_length)"));
  }
  return model;
}

void use_length_of(const SentenceFiles& files, Settings& settings, ModelDescription& model) {
  if (!files.is_there) return;
  int32_t& length = settings.data.max_seq_length;
  const int64_t positions = model.config.max_sequence_length();
  const int64_t own = std::min(files.max_seq_length.value_or(positions), positions);
  std::erase(model.tokenizer_rules, kTokenizerRule);
  const int64_t before = std::min<int64_t>(DataOptions().max_seq_length, positions);
  if (own != before) model.tokenizer_rules.emplace_back("max_seq_length of the folder counts");
  if (own == length) return;
  length = static_cast<int32_t>(own);
  log_info(cat("--max-seq-length ", own,
               ", as the model's files of sentence-transformers say (max_seq_length)"));
}

}  // namespace berth
