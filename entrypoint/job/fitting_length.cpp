#include "entrypoint/job/fitting_length.h"

#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {

ModelDescription describe_fitting_model(ModelFolder& folder, const CommandLine& command_line,
                                        Settings& settings) {
  int32_t& length = settings.data.max_seq_length;
  const bool is_asked_for =
      command_line.gives("max-seq-length") || length != DataOptions().max_seq_length;
  if (is_asked_for) return describe_model(folder, settings.model, settings.data);
  DataOptions any_length = settings.data;
  any_length.max_seq_length = kShortestSequence;
  ModelDescription model = describe_model(folder, settings.model, any_length);
  const int64_t positions = model.config.max_sequence_length();
  if (positions < length) {
    length = static_cast<int32_t>(positions);
    log_info(cat("--max-seq-length ", positions, ", because the model has no more positions"));
  }
  return model;
}

}  // namespace berth
