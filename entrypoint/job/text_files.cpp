#include "entrypoint/job/text_files.h"

#include <utility>

#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/expand.h"
#include "storage/formats/lines_reader.h"
#include "storage/formats/row_readers.h"
#include "storage/formats/tfrecord.h"
#include "storage/formats/utf8.h"
#include "trainer/data/cell_text.h"
#include "trainer/data/find_columns.h"
#include "trainer/loop/peeked_source.h"
#include "trainer/loop/split_folder.h"
#include "trainer/loop/table_files.h"

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

[[noreturn]] void refuse_file(const std::string& name) {
  throw Error(Code::kBadData, "is neither a text file nor a table, judging by its name", name,
              "a text file ends in .txt, and a table in .csv, .tsv, .jsonl, .ndjson, .json, "
              ".parquet, .arrow, .feather, .npz, .npy, .pickle or .pkl");
}

}  // namespace

bool names_text_lines(std::string_view file_name) {
  return lower_ascii(file_name).ends_with(".txt") || file_name.find('.') == std::string_view::npos;
}

TextFiles::TextFiles(Storage& storage, const std::string& path, std::string text_column,
                     std::string text_pair_column, TextForm form)
    : storage_(storage),
      text_column_(std::move(text_column)),
      text_pair_column_(std::move(text_pair_column)),
      form_(form) {
  form_.tags = "any";
  const Uri uri = Uri::parse(path);
  if (const auto folder = find_split_folder(storage, uri)) {
    files_ = files_for(folder->splits, "train");
    return;
  }
  files_ = expand(storage, uri, [](std::string_view name) {
    const std::string_view plain = without_compression_suffix(name);
    return names_text_lines(plain) || is_table(plain) || names_records(plain);
  });
  for (const Uri& file : files_) {
    const std::string name = file.file_name();
    const std::string_view plain = without_compression_suffix(name);
    if (!names_text_lines(plain) && !is_table(plain) && !names_records(plain)) {
      refuse_file(file.to_string());
    }
  }
}

void TextFiles::open(const Uri& file) {
  const std::string name = file.file_name();
  const std::string plain(without_compression_suffix(name));
  std::unique_ptr<ByteSource> content = decompress(storage_.open(file), compression_of(name));
  if (names_text_lines(plain)) {
    rows_ = std::make_unique<LinesReader>(as_utf8(std::move(content), form_.encoding),
                                          Malformed::kKept);
  } else if (!names_records(plain)) {
    rows_ = open_rows(std::move(content), plain, RowLayout::kByName, form_);
  } else if (find_tfds_folder(storage_, file)) {
    rows_ = make_tf_example_rows(plain_records(std::move(content)), ClassNames());
  } else {
    throw Error(Code::kBadData, "holds token ids, not texts", "", "give the texts themselves");
  }
  const bool is_lines = names_text_lines(plain);
  columns_ =
      find_columns(rows_->columns(),
                   is_lines ? ColumnChoice()
                            : ColumnChoice{.text = text_column_, .text_pair = text_pair_column_},
                   LabelNeed::kIgnored);
}

// Appends rows of the open file to `block`, about kTextBlockBytes. Returns false if there are none
// left.
bool TextFiles::append_rows(TextBlock& block) {
  const size_t before = block.rows();
  while (block.bytes.size() < kTextBlockBytes && rows_->next(row_)) {
    append(row_[columns_.text], block);
    if (columns_.text_pair) append(row_[*columns_.text_pair], block);
  }
  return block.rows() > before;
}

bool TextFiles::next(TextBlock& block) {
  block.clear();
  while (rows_ || next_file_ < files_.size()) {
    const Uri& file = files_[rows_ ? next_file_ - 1 : next_file_];
    try {
      if (!rows_) {
        ++next_file_;
        open(file);
      }
      if (append_rows(block)) return true;
    } catch (const Error& error) {
      if (error.where().starts_with(file.to_string())) throw;  // storage has named the file
      throw error.at(file.to_string());
    }
    rows_.reset();
  }
  return false;
}

}  // namespace berth
