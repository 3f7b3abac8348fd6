#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/thread_pool.h"
#include "trainer/corpus/cleaning_rules.h"
#include "trainer/corpus/document_judge.h"
#include "trainer/corpus/duplicates.h"

namespace berth {

// How many documents, and how many bytes of text.
struct DocumentCount {
  uint64_t documents = 0, bytes = 0;
  void add(std::string_view text) {
    ++documents;
    bytes += text.size();
  }
};

// One document that the report describes.
struct CleaningExample {
  std::string where;    // "a.jsonl, document 7"
  std::string excerpt;  // the beginning of its text
  std::string because;  // what was measured; for changed documents, what the excerpt became
};

// What cleaning did.
struct CleaningReport {
  static constexpr size_t kExamples = 3;

  DocumentCount read, kept;
  DocumentCount changed;  // documents, kept or not, whose text normalization changed
  std::vector<CleaningExample> changes;
  std::array<DocumentCount, kCleaningRules> removed{};  // by CleaningRule; bytes as read
  std::array<std::vector<CleaningExample>, kCleaningRules> examples{};
  uint64_t memory_bytes = 0;  // what finding duplicates takes
};

// Cleans a corpus. Documents come in batches, in the order of the corpus, and the remaining
// documents come out in the same order. The first of equal or similar documents remains. A document
// is compared only with remaining documents, so the similarity does not spread from one to the
// next. The result does not depend on the number of threads or on the size of batches.
//
// Memory: hashes of the remaining documents, no text. Finding equal documents takes 16 bytes for
// each document, and finding similar ones 192 bytes. With the free slots of the tables, it is 30
// and 300 bytes. Not thread-safe; uses all threads of the pool, which must outlive it.
class CorpusCleaner {
 public:
  CorpusCleaner(const CleaningOptions& options, ThreadPool& threads);

  // `where(i)` says where document i of the batch stands. It is called for examples only. `keep` is
  // called for each remaining document, with its text after cleaning.
  void clean(std::span<const std::string> texts,
             const std::function<std::string(size_t index)>& where,
             const std::function<void(std::string_view text)>& keep);

  const CleaningReport& report() const { return report_; }

 private:
  void compare(JudgedDocument& judged);
  void count(std::string_view text, JudgedDocument& judged,
             const std::function<std::string()>& where);

  const CleaningOptions options_;
  ThreadPool& threads_;
  std::vector<DocumentJudge> judges_;   // one for each thread
  std::vector<JudgedDocument> judged_;  // of the batch
  TextHashSet hashes_;
  NearDuplicateIndex sketches_;
  CleaningReport report_;
};

// The report as indented JSON: the documents that were read and the ones that remain, and the
// options. For each rule it has the limit, the removed documents and bytes, and up to three
// examples of them.
std::string report_json(const CleaningReport& report, const CleaningOptions& options);

// The same in lines for the log: one for all, one for each rule that removed something.
std::vector<std::string> report_lines(const CleaningReport& report);

}  // namespace berth
