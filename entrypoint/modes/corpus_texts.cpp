#include "entrypoint/modes/corpus_texts.h"

#include "entrypoint/job/text_files.h"
#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/expand.h"
#include "storage/formats/tfrecord.h"
#include "storage/formats/utf8_source.h"
#include "trainer/data/cell_text.h"
#include "trainer/data/find_columns.h"
#include "trainer/loop/split_folder.h"

namespace berth {
namespace {

// Whether a directory's file of this name belongs to the corpus.
bool holds_texts(std::string_view file_name) {
  const std::string_view name = without_compression_suffix(file_name);
  return is_table(name) || names_text_lines(name);
}

std::vector<Uri> corpus_files(Storage& storage, const Uri& uri) {
  const auto folder = find_split_folder(storage, uri);
  return folder ? files_for(folder->splits, "train") : expand(storage, uri, holds_texts);
}

// Moves the text out of a cell. Returns false if it is missing.
bool take_text(Cell& cell, std::string& text) {
  if (auto* held = std::get_if<std::string>(&cell)) {
    text.swap(*held);
    return true;
  }
  const std::optional<std::string> written = plain_text(cell);
  if (written) text = *written;
  return written.has_value();
}

}  // namespace

CorpusTexts::CorpusTexts(Storage& storage, const DataOptions& data)
    : storage_(storage),
      data_(data),
      files_(corpus_files(storage, Uri::parse(data.train_data_file))) {
  for (const Uri& file : files_) {
    if (!names_records(without_compression_suffix(file.file_name()))) continue;
    throw Error(Code::kBadData, "holds TFRecords, and a corpus is made of texts", file.to_string(),
                "name the files of texts");
  }
}

void CorpusTexts::open(const Uri& file) {
  const std::string file_name = file.file_name();
  const std::string name(without_compression_suffix(file_name));
  auto content = decompress(storage_.open(file), compression_of(file_name));
  row_number_ = 0;
  rows_.reset();
  lines_ = nullptr;
  ColumnChoice choice;
  if (!is_table(name) || is_plain_text(name)) {
    auto lines =
        std::make_unique<LinesReader>(as_utf8(std::move(content), data_.text_form.encoding));
    lines_ = lines.get();
    rows_ = std::move(lines);
  } else {
    choice = {.text = data_.text_column,
              .text_pair = data_.text_pair_column,
              .label = data_.label_column};
    TextForm form = data_.text_form;
    form.tags = "any";
    rows_ = open_rows(std::move(content), name, RowLayout::kByName, form);
  }
  const FoundColumns found = find_columns(rows_->columns(), choice, LabelNeed::kIgnored);
  text_ = found.text;
  second_text_ = found.text_pair;
}

bool CorpusTexts::text_of_row(std::string& text) {
  std::string second;
  const bool has_text = take_text(row_[text_], text);
  if (!second_text_ || !take_text(row_[*second_text_], second)) return has_text;
  if (!has_text) {
    text = std::move(second);
  } else {
    text.append("\n").append(second);
  }
  return true;
}

// Reads the next document of the open file. Returns false at its end.
bool CorpusTexts::next_of_file(std::string& text) {
  while (true) {
    try {
      if (!rows_->next(row_)) return false;
      row_number_ = lines_ != nullptr ? lines_->line() : row_number_ + 1;
      if (text_of_row(text)) return true;
    } catch (const Error& error) {
      if (error.code() != Code::kBadData || skipped_ >= data_.skip_bad_rows) throw;
      ++skipped_;
      ++row_number_;
    }
  }
}

bool CorpusTexts::next_text(std::string& text) {
  while (true) {
    const bool is_open = rows_ != nullptr;
    if (!is_open && next_file_ == files_.size()) return false;
    const Uri& file = files_[is_open ? next_file_ - 1 : next_file_];
    try {
      if (!is_open) {
        open(file);
        ++next_file_;
      }
      if (next_of_file(text)) return true;
    } catch (const Error& error) {
      if (error.where().starts_with(file.to_string())) throw;  // storage's errors name the file
      throw error.at(file.to_string());
    }
    rows_.reset();
  }
}

bool CorpusTexts::read(DocumentBatch& batch) {
  batch.size = batch.bytes = 0;
  while (batch.bytes < kBatchBytes && batch.size < kBatchDocuments) {
    if (batch.texts.size() == batch.size) {
      batch.texts.emplace_back();
      batch.places.emplace_back();
    }
    std::string& text = batch.texts[batch.size];
    if (!next_text(text)) break;
    batch.places[batch.size] = {next_file_ - 1, row_number_};
    batch.bytes += text.size();
    ++batch.size;
  }
  return batch.size > 0;
}

std::string CorpusTexts::where(const DocumentBatch::Place& place) const {
  return cat(files_[place.file].to_string(), ", row ", place.row);
}

}  // namespace berth
