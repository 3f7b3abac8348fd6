#pragma once

#include "entrypoint/explain/own_command.h"
#include "entrypoint/explain/script_defaults.h"
#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// Names the metric by which Trainer chooses its best model, in `own`: the loss where no flag says
// so, and else berth's name for it. One that berth does not have is refused.
void name_best_metric(const TrainingScript& script, const TypedCommand& typed, OwnCommand& own,
                      Remarks& remarks);

}  // namespace berth
