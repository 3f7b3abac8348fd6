#pragma once

#include "entrypoint/job/job.h"

namespace berth {

// --mode prepare --task mlm: cleans a corpus and writes the remaining documents, with the report
// cleaning_report.json. With a tokenizer it writes shards of tokens, unless --record-format jsonl
// is given; otherwise it writes texts, one {"text": ...} a line. The report is written last. The
// remaining documents wait on the local disk until all are cleaned. Throws kBadData if no document
// is left, and what run() promises.
void run_corpus_preparation(Job& job);

}  // namespace berth
