#pragma once

#include "entrypoint/explain/explain.h"
#include "entrypoint/explain/own_command.h"
#include "entrypoint/explain/script_defaults.h"
#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// The bytes of a data file that are read for the names of its columns.
inline constexpr size_t kHeadBytes = size_t{64} << 10;

// Without a task of GLUE, run_glue.py pairs the columns sentence1 and sentence2. Where these are
// absent, it takes the first two columns besides label. Names them in `own`. Refuses rows whose
// columns are not known: of a file that `read_head` does not find, or of an unknown data set.
void name_text_columns(const TrainingScript& script, const TypedCommand& typed,
                       const ReadFile& read_head, OwnCommand& own, Remarks& remarks);

}  // namespace berth
