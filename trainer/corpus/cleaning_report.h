#pragma once

#include <string>
#include <vector>

#include "trainer/corpus/corpus_cleaner.h"

namespace berth {

// The report as indented JSON: the documents that were read and the ones that remain, and the
// options. For each rule it has the limit, the removed documents and bytes, and up to three
// examples of them.
std::string report_json(const CleaningReport& report, const CleaningOptions& options);

// The same in lines for the log: one for all, one for each rule that removed something.
std::vector<std::string> report_lines(const CleaningReport& report);

}  // namespace berth
