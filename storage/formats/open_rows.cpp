#include <string>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/spill_file.h"
#include "storage/base/text.h"
#include "storage/formats/pickle.h"
#include "storage/formats/row_reader.h"
#include "storage/formats/row_readers.h"
#include "storage/formats/utf8.h"

namespace berth {
namespace {

constexpr uint64_t kTextFactor = 128, kTextOfRow = 1024;

class BoundedRows final : public RowReader {
 public:
  BoundedRows(std::unique_ptr<RowReader> rows, uint64_t file_bytes)
      : rows_(std::move(rows)), left_(kTextFactor * file_bytes) {}

  std::span<const Column> columns() const override { return rows_->columns(); }
  void select(std::span<const size_t> columns) override { rows_->select(columns); }
  std::string position() const override { return rows_->position(); }
  bool is_of_texts() const override { return rows_->is_of_texts(); }
  std::optional<uint64_t> rows_left() const override { return rows_->rows_left(); }
  std::vector<Finding> findings() const override { return rows_->findings(); }

  bool next(Row& row) override {
    if (!rows_->next(row)) return false;
    left_ += kTextOfRow;
    for (const Cell& cell : row) {
      const auto* text = std::get_if<std::string>(&cell);
      if (text == nullptr) continue;
      if (text->size() > left_) {
        throw Error(Code::kBadData, "repeats its text to many times the file's size", position());
      }
      left_ -= text->size();
    }
    return true;
  }

 private:
  const std::unique_ptr<RowReader> rows_;
  uint64_t left_;  // bytes of text that the rows may still have
};

}  // namespace

std::unique_ptr<RowReader> with_bounded_text(std::unique_ptr<RowReader> rows, uint64_t file_bytes) {
  return std::make_unique<BoundedRows>(std::move(rows), file_bytes);
}

namespace {

// A row takes memory for each column, and so does a description of the table.
constexpr size_t kMostColumns = 100'000;

enum class TableFormat {
  kNone,
  kCsv,
  kTsv,
  kJson,
  kJsonl,
  kConll,
  kPickle,
  kParquet,
  kArrow,
  kNumpy,
  kLines
};

TableFormat format_of(std::string_view file_name) {
  const std::string name = lower_ascii(file_name);
  const auto ends = [&](std::string_view suffix) { return name.ends_with(suffix); };
  if (ends(".csv")) return TableFormat::kCsv;
  if (ends(".tsv")) return TableFormat::kTsv;
  if (ends(".jsonl") || ends(".ndjson")) return TableFormat::kJsonl;
  if (ends(".json")) return TableFormat::kJson;
  for (const char* suffix : {".conll", ".conllu", ".bio", ".iob"}) {
    if (ends(suffix)) return TableFormat::kConll;
  }
  if (ends(".pickle") || ends(".pkl")) return TableFormat::kPickle;
  if (ends(".parquet") || ends(".pq")) return TableFormat::kParquet;
  for (const char* suffix : {".arrow", ".arrows", ".feather", ".ipc"}) {
    if (ends(suffix)) return TableFormat::kArrow;
  }
  if (ends(".npz") || ends(".npy")) return TableFormat::kNumpy;
  if (ends(".txt")) return TableFormat::kLines;
  return TableFormat::kNone;
}

// The whole file: the file itself where it is on this machine, and else a copy in TMPDIR.
std::unique_ptr<RandomAccessSource> mapped(ByteSource& source) {
  auto file = source.map();
  return file ? std::move(file) : spill(source);
}

using MappedReader = std::unique_ptr<RowReader>(std::unique_ptr<RandomAccessSource> file);

// For formats that may repeat a text without repeating its bytes.
std::unique_ptr<RowReader> read_mapped(MappedReader* reader, ByteSource& source) {
  std::unique_ptr<RandomAccessSource> file = mapped(source);
  const uint64_t size = file->size();
  return with_bounded_text(reader(std::move(file)), size);
}

void refuse_spreadsheet(std::string_view file_name) {
  const std::string name = lower_ascii(file_name);
  for (const char* suffix : {".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"}) {
    if (!name.ends_with(suffix)) continue;
    const std::string given(file_name.substr(file_name.rfind('/') + 1));
    const std::string stem = given.substr(0, given.rfind('.'));
    throw Error(Code::kBadData, "is a spreadsheet, which berth does not read", "",
                cat("convert it: pandas.read_excel(\"", given, "\").to_csv(\"", stem,
                    ".csv\", index=False)"));
  }
}

[[noreturn]] void refuse_name(std::string_view file_name) {
  // What the names of other formats end in, and how to read such a file elsewhere.
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {".orc", "convert it: pandas.read_orc(...).to_parquet(...)"},
      {".avro", "convert it to Parquet, as with fastavro and pandas"},
      {".dta", "convert it: pandas.read_stata(...).to_parquet(...)"},
      {".sav", "convert it: pandas.read_spss(...).to_parquet(...)"},
      {".sas7bdat", "convert it: pandas.read_sas(...).to_parquet(...)"},
      {".rds", "write it as CSV: write.csv(readRDS(...), row.names = FALSE) of R"},
      {".h5", "convert it: pandas.read_hdf(...).to_parquet(...)"},
      {".hdf5", "convert it: pandas.read_hdf(...).to_parquet(...)"},
      {".db", "export the table: pandas.read_sql(...).to_parquet(...)"},
      {".sqlite", "export the table: pandas.read_sql(...).to_parquet(...)"},
      {".xml", "convert it: pandas.read_xml(...).to_csv(...)"},
      {".html", "convert its table: pandas.read_html(...)[0].to_csv(...)"},
      {".yaml", "write it as JSON: a list of objects, or one object a line"},
      {".yml", "write it as JSON: a list of objects, or one object a line"},
      {".psv", "call it .csv; the delimiter '|' is found by the header"},
      {".joblib", "write the table with to_pickle() or to_parquet() of pandas"},
      {".manifest", "call it .jsonl if it has an object in each line"},
      {".7z", "unpack it; .zip, .tar and .tar.gz are read as they are"},
      {".rar", "unpack it; .zip, .tar and .tar.gz are read as they are"},
      {".part", "the download of the file has not ended: fetch it again"},
      {".crdownload", "the download of the file has not ended: fetch it again"}};
  const std::string name = lower_ascii(file_name);
  for (const auto& [suffix, hint] : kOthers) {
    if (!name.ends_with(suffix)) continue;
    throw Error(Code::kBadData, cat("is a ", suffix, " file, which berth does not read"), "",
                std::string(hint));
  }
  throw Error(Code::kBadData, "is not a table, judging by its name", "",
              "a table ends in .csv, .tsv, .jsonl, .ndjson, .json, .conll, .parquet, .arrow, "
              ".feather, .npz, .npy, .pickle or .pkl, and plain text in .txt");
}

std::unique_ptr<RowReader> open_table(std::unique_ptr<ByteSource> source,
                                      std::string_view file_name, RowLayout layout, TextForm form) {
  if (layout == RowLayout::kByName && format_of(file_name) == TableFormat::kNone) {
    refuse_name(file_name);
  }
  if (form.encoding != TextEncoding::kUtf8 && holds_text(file_name)) {
    source = as_utf8(std::move(source), form.encoding);
  }
  if (layout == RowLayout::kDocuments) return make_documents_reader(std::move(source));
  if (layout == RowLayout::kHeadlessTsv) return make_headless_tsv_reader(std::move(source));
  if (layout == RowLayout::kWordLines || layout == RowLayout::kWordsAlone) {
    const bool are_alone = layout == RowLayout::kWordsAlone;
    return make_conll_reader(std::move(source),
                             are_alone ? WordTags::kIgnored : WordTags::kIfPresent, form);
  }
  switch (format_of(file_name)) {
    case TableFormat::kCsv:
      return make_csv_reader(std::move(source), form.delimiter, form.quoting != Quoting::kNone);
    case TableFormat::kTsv:
      return make_quoted_tsv_reader(std::move(source), form.delimiter != 0 ? form.delimiter : '\t',
                                    form.quoting);
    case TableFormat::kJson:
      return make_json_reader(std::move(source));
    case TableFormat::kJsonl:
      return make_jsonl_reader(std::move(source));
    case TableFormat::kConll:
      return make_conll_reader(std::move(source), WordTags::kIfPresent, form);
    case TableFormat::kPickle:
      return read_pickle(*source);
    case TableFormat::kParquet:
      return read_mapped(make_parquet_reader, *source);
    case TableFormat::kArrow:
      return read_mapped(make_arrow_reader, *source);
    case TableFormat::kNumpy:
      return read_mapped(make_numpy_reader, *source);
    case TableFormat::kLines:
      return make_lines_reader(std::move(source));
    case TableFormat::kNone:
      break;
  }
  refuse_name(file_name);
}

}  // namespace

std::unique_ptr<RowReader> open_rows(std::unique_ptr<ByteSource> source, std::string_view file_name,
                                     RowLayout layout, TextForm form) {
  refuse_spreadsheet(file_name);
  auto rows = open_table(std::move(source), file_name, layout, form);
  const size_t columns = rows->columns().size();
  if (columns > kMostColumns) {
    throw Error(Code::kBadData,
                cat("has ", columns, " columns, and berth reads tables of at most ", kMostColumns),
                "", "write the columns of texts and labels to a table of their own");
  }
  return rows;
}

std::string_view trimmed_text(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text == nullptr ? std::string_view() : trimmed(*text);
}

std::optional<size_t> find_column(std::span<const Column> columns, std::string_view name) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == name) return i;
  }
  return std::nullopt;
}

bool is_table(std::string_view file_name) { return format_of(file_name) != TableFormat::kNone; }

bool holds_text(std::string_view file_name) {
  const TableFormat format = format_of(file_name);
  return format != TableFormat::kPickle && format != TableFormat::kParquet &&
         format != TableFormat::kArrow && format != TableFormat::kNumpy;
}

bool is_plain_text(std::string_view file_name) {
  return format_of(file_name) == TableFormat::kLines;
}

bool names_word_lines(std::string_view file_name) {
  return format_of(file_name) == TableFormat::kConll;
}

}  // namespace berth
