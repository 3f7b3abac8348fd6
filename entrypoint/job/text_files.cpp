#include "entrypoint/job/text_files.h"

#include <utility>

#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/formats/tfrecord.h"
#include "trainer/data/cell_text.h"

namespace berth {
namespace {

void append(const Cell& cell, TextBlock& block) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    if (!text->empty()) block.append(*text);
    return;
  }
  const std::optional<std::string> text = plain_text(cell);
  if (text && !text->empty()) block.append(*text);
}

bool may_hold_texts(std::string_view file_name) {
  const std::string_view plain = without_compression_suffix(file_name);
  return names_text_lines(plain) || is_table(plain) || names_records(plain);
}

std::vector<Uri> checked_files(const DataSource& source) {
  // The files of a split are not judged by their names.
  if (source.splits() != nullptr) return source.text_files(may_hold_texts);
  std::vector<Uri> files = source.text_files(may_hold_texts);
  for (const Uri& file : files) {
    if (may_hold_texts(file.file_name())) continue;
    throw Error(Code::kBadData, "is neither a text file nor a table, judging by its name",
                file.to_string(),
                "a text file ends in .txt, and a table in .csv, .tsv, .jsonl, .ndjson, .json, "
                ".parquet, .arrow, .feather, .npz, .npy, .pickle or .pkl");
  }
  return files;
}

}  // namespace

TextFiles::TextFiles(Storage& storage, const std::string& path, std::string text_column,
                     std::string text_pair_column, const TextForm& form)
    : source_(storage, path),
      rows_(source_, checked_files(source_),
            {.columns = {.text = std::move(text_column), .text_pair = std::move(text_pair_column)},
             .form = form,
             .malformed = Malformed::kKept}) {}

bool TextFiles::next(TextBlock& block) {
  block.clear();
  while (block.bytes.size() < kTextBlockBytes && (is_ahead_ || rows_.next())) {
    is_ahead_ = block.rows() > 0 && rows_.file() != file_;
    if (is_ahead_) break;
    file_ = rows_.file();
    append(rows_.text(), block);
    if (const Cell* const second = rows_.second_text()) append(*second, block);
  }
  return block.rows() > 0;
}

}  // namespace berth
