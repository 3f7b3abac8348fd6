#pragma once

#include "entrypoint/job/labelled_data.h"
#include "entrypoint/job/resolve_settings.h"
#include "trainer/inputs/load_data.h"

namespace berth {

// Adds the rows of all --train-source behind the rows to train on. All rows become rows of
// Task::kInBatchNegatives, and their labels become scores of texts. Fills TrainingRows::sources,
// also of the first source. Throws what the readers throw.
void add_source_rows(const DataPaths& paths, const Settings& settings, const DataSources& sources,
                     TrainingRows& rows);

}  // namespace berth
