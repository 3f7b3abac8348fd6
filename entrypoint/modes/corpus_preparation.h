#pragma once

#include "entrypoint/job/job.h"

namespace berth {

// --mode prepare --task mlm: cleans a corpus and writes what is left of it, one {"text": ...} a
// line, with the report cleaning_report.json. The report is written last. Texts wait on the local
// disk until all are cleaned. Throws kBadData if no document is left, and what run() promises.
void run_corpus_preparation(Job& job);

}  // namespace berth
