#include "entrypoint/flags/flag_table.h"

#include <algorithm>
#include <array>

namespace berth {

std::string_view heading(FlagGroup group) {
  constexpr std::string_view kHeadings[] = {"Data",
                                            "Model",
                                            "Training",
                                            "Optimization",
                                            "Evaluation and saving",
                                            "Output",
                                            "Storage",
                                            "Tokenizing, inspecting, converting",
                                            "Machine",
                                            "Hidden"};
  return kHeadings[static_cast<size_t>(group)];
}

std::span<const Flag> flag_table() {
  // job.json lists the settings in this order.
  static const std::vector<Flag> table = [] {
    std::vector<Flag> flags;
    for (std::vector<Flag>& group : std::array{
             data_flags(), model_flags(), embedding_flags(), training_flags(), evaluation_flags(),
             probe_flags(), output_flags(), storage_flags(), device_flags(), cluster_flags(),
             machine_flags(), optimization_flags(), tool_flags(), corpus_flags()}) {
      for (Flag& flag : group) flags.push_back(std::move(flag));
    }
    return flags;
  }();
  return table;
}

const Flag* find_flag(std::string_view name) {
  const auto row = std::ranges::find(flag_table(), name, &Flag::name);
  return row == flag_table().end() ? nullptr : &*row;
}

}  // namespace berth
