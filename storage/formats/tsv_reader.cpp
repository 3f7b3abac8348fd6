#include "storage/formats/delimited_reader.h"
#include "storage/formats/row_readers.h"

namespace berth {
namespace {

class TsvReader final : public DelimitedReader {
 public:
  explicit TsvReader(std::unique_ptr<ByteSource> source) : DelimitedReader(std::move(source)) {
    read_header();
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
  return std::make_unique<TsvReader>(std::move(source));
}

}  // namespace berth
