#include "entrypoint/inspect/model_lines.h"

#include <algorithm>

#include "entrypoint/inspect/column_summary.h"
#include "storage/base/counted.h"
#include "storage/base/text.h"

namespace berth {
namespace {

std::string with_commas(int64_t number) { return grouped(static_cast<uint64_t>(number)); }

std::string labels_text(const ModelConfig& config) {
  if (config.labels.empty()) return "none";
  std::string names;
  for (const std::string& label : config.labels) names += (names.empty() ? "" : ", ") + label;
  return cat(config.labels.size(), ": ", cut_text(names, 200));
}

}  // namespace

std::string summary_line(const std::string& name, const std::string& text) {
  constexpr size_t kWidth = 14;
  return cat("  ", name, std::string(kWidth - std::min(name.size(), kWidth - 1), ' '), text, "\n");
}

std::string model_lines(const ModelConfig& config) {
  const std::string task = config.saved_task ? std::string(traits(*config.saved_task).names[0])
                                             : "an encoder without a head";
  return summary_line("architecture", std::string(model_type_name(config.type))) +
         summary_line("task", task) + summary_line("labels", labels_text(config)) +
         summary_line("size", cat(counted(config.num_hidden_layers, "layer"), ", hidden size ",
                                  with_commas(config.hidden_size), ", ",
                                  counted(config.num_attention_heads, "head"),
                                  ", intermediate size ", with_commas(config.intermediate_size))) +
         summary_line("positions", with_commas(config.max_sequence_length())) +
         summary_line("vocabulary", with_commas(config.vocab_size));
}

}  // namespace berth
