#include "storage/formats/delimited_reader.h"
#include "storage/formats/joined_source.h"
#include "storage/formats/row_readers.h"
#include "storage/formats/tsv_quotes.h"

namespace berth {
namespace {

class TsvReader final : public DelimitedReader {
 public:
  TsvReader(std::unique_ptr<ByteSource> source, bool has_header, char delimiter)
      : DelimitedReader(std::move(source)), delimiter_(delimiter) {
    has_header ? read_header() : number_columns();
  }

 private:
  void split(std::string_view line, Row& fields) override {
    size_t end;
    while ((end = line.find(delimiter_)) != std::string_view::npos) {
      append_field(line.substr(0, end), fields);
      line.remove_prefix(end + 1);
    }
    append_field(line, fields);
  }

  const char delimiter_;
};

}  // namespace

std::unique_ptr<RowReader> make_tsv_reader(std::unique_ptr<ByteSource> source, char delimiter) {
  return std::make_unique<TsvReader>(std::move(source), /*has_header=*/true, delimiter);
}

std::unique_ptr<RowReader> make_quoted_tsv_reader(std::unique_ptr<ByteSource> source,
                                                  char delimiter, Quoting quoting) {
  if (quoting == Quoting::kNone) return make_tsv_reader(std::move(source), delimiter);
  if (quoting == Quoting::kCsv) return make_csv_reader(std::move(source), delimiter);
  constexpr size_t kPeeked = size_t{1} << 20;
  std::string beginning;
  bool is_all = false;
  while (beginning.size() < kPeeked && !is_all) is_all = !read_more(*source, beginning);
  const TsvQuotes quotes = find_tsv_quotes(beginning, delimiter, is_all);
  source = std::make_unique<JoinedSource>(std::move(beginning), std::move(source));
  const bool is_csv = quotes == TsvQuotes::kCsv;
  auto rows = is_csv ? make_csv_reader(std::move(source), delimiter)
                     : make_tsv_reader(std::move(source), delimiter);
  if (quotes != TsvQuotes::kNone) {
    static_cast<DelimitedReader&>(*rows).add_finding(
        is_csv ? Finding{"quotes of CSV in TSV",
                         "fields are quoted as pandas quotes them; --quoting none reads quotes as "
                         "text"}
               : Finding{"",
                         "quotes are a part of the texts, as in GLUE's files; --quoting csv reads "
                         "them as pandas writes them"});
  }
  return rows;
}

std::unique_ptr<RowReader> make_headless_tsv_reader(std::unique_ptr<ByteSource> source) {
  return std::make_unique<TsvReader>(std::move(source), /*has_header=*/false, '\t');
}

}  // namespace berth
