#pragma once

#include "trainer/loop/options.h"

namespace berth {

// Names the files that the data flags imply, without reading any: the files of the GLUE task in
// --data-dir. In prediction, also the rows to evaluate on, if --input-meta-data-path is given
// without rows to predict. Throws kUsage on an unknown task.
void complete_data_files(DataOptions& data, Mode mode);

// Whether the rows are to be prepared as texts to pre-train on: --mode prepare --task mlm.
bool prepares_corpus(const DataOptions& data, Mode mode);

}  // namespace berth
