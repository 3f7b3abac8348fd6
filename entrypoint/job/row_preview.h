#pragma once

#include <string>
#include <vector>

#include "entrypoint/job/labelled_data.h"
#include "trainer/data/dataset.h"
#include "trainer/loop/observer.h"
#include "trainer/loop/options.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// The first three rows of `train`, a part of the table, as the model takes them: a wrong column, a
// wrong vocabulary, labels in another order and texts that are cut are seen at a glance. `labels`
// are the names of the classes. Throws what making features throws.
std::vector<ShownRow> preview_rows(const LoadedTable& loaded, Dataset& train,
                                   const std::vector<std::string>& labels, const Settings& settings,
                                   const Tokenizer& tokenizer);

// One line for the log: `row 0: "A goal" becomes [CLS] a goal [SEP] (4 tokens); label "sport",
// class 3`.
std::string row_text(const ShownRow& row);

}  // namespace berth
