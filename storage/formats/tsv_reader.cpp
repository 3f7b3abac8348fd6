#include "storage/formats/delimited_reader.h"
#include "storage/formats/row_readers.h"

namespace berth {
namespace {

class TsvReader final : public DelimitedReader {
 public:
  TsvReader(std::unique_ptr<ByteSource> source, bool has_header)
      : DelimitedReader(std::move(source)) {
    has_header ? read_header() : number_columns();
  }

 private:
  void split(std::string_view line, Row& fields) override {
    size_t tab;
    while ((tab = line.find('\t')) != std::string_view::npos) {
      append_field(line.substr(0, tab), fields);
      line.remove_prefix(tab + 1);
    }
    append_field(line, fields);
  }
};

}  // namespace

std::unique_ptr<RowReader> make_tsv_reader(std::unique_ptr<ByteSource> source) {
  return std::make_unique<TsvReader>(std::move(source), /*has_header=*/true);
}

std::unique_ptr<RowReader> make_headless_tsv_reader(std::unique_ptr<ByteSource> source) {
  return std::make_unique<TsvReader>(std::move(source), /*has_header=*/false);
}

}  // namespace berth
