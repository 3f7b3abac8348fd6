#include "storage/formats/delimited_reader.h"
#include "storage/formats/row_readers.h"

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

std::unique_ptr<RowReader> make_headless_tsv_reader(std::unique_ptr<ByteSource> source) {
  return std::make_unique<TsvReader>(std::move(source), /*has_header=*/false, '\t');
}

}  // namespace berth
