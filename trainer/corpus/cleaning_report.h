#pragma once

#include <string>
#include <vector>

#include "trainer/corpus/corpus_cleaner.h"

namespace berth {

// The report as indented JSON: what was read and kept, the options, and for each rule its limit,
// the documents and bytes that it removed, and up to three examples of them.
std::string report_json(const CleaningReport& report, const CleaningOptions& options);

// The same in lines for the log: one for all, one for each rule that removed something.
std::vector<std::string> report_lines(const CleaningReport& report);

}  // namespace berth
