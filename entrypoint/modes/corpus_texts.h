#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/formats/lines_reader.h"
#include "storage/formats/row_reader.h"
#include "storage/storage.h"
#include "trainer/loop/options.h"

namespace berth {

// Documents of a corpus that follow each other. The vectors may be longer than `size`, so that
// their strings can be used again.
struct DocumentBatch {
  struct Place {
    size_t file;   // index into CorpusTexts::files()
    uint64_t row;  // of that file, counted from 1
  };
  std::vector<std::string> texts{};
  std::vector<Place> places{};
  size_t size = 0;
  size_t bytes = 0;
};

// Reads the documents of a corpus, file by file in the order of the names. A file may be compressed
// (storage/archive.h). In a table (open_rows()) a row is a document. Its text is the text column.
// If there is a second text, a line feed and that text follow. In any other file a line is a
// document; see LinesReader. Missing texts and blank lines are no documents. Not thread-safe.
class CorpusTexts {
 public:
  static constexpr size_t kBatchBytes = size_t{8} << 20, kBatchDocuments = 16'384;

  // Finds the files of --train-data-file. Throws what expand() throws, and kBadData where one holds
  // token ids in place of texts.
  CorpusTexts(Storage& storage, const DataOptions& data);

  // Reads documents until the batch holds kBatchBytes of text or kBatchDocuments. Returns false if
  // there was none left. Throws kBadData where a table has no column of texts, and for malformed
  // rows after --skip-bad-rows of them were left out. Errors name the file.
  bool read(DocumentBatch& batch);

  const std::vector<Uri>& files() const { return files_; }
  int64_t skipped_rows() const { return skipped_; }
  // "texts.jsonl, row 7", for people.
  std::string where(const DocumentBatch::Place& place) const;

 private:
  void open(const Uri& file);
  bool next_text(std::string& text);
  bool next_of_file(std::string& text);
  bool text_of_row(std::string& text);

  Storage& storage_;
  const DataOptions data_;
  std::vector<Uri> files_;
  size_t next_file_ = 0;
  // The open file; null: none is open.
  std::unique_ptr<RowReader> rows_;
  const LinesReader* lines_ = nullptr;  // the same where it is no table
  size_t text_ = 0;                     // the table's columns
  std::optional<size_t> second_text_{};
  Row row_;
  uint64_t row_number_ = 0;
  int64_t skipped_ = 0;
};

}  // namespace berth
