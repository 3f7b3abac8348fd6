#include <string>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/pickle.h"
#include "storage/formats/row_reader.h"
#include "storage/formats/row_readers.h"

namespace berth {
namespace {

constexpr uint64_t kPickleLimitBytes = uint64_t{16} << 30;

}  // namespace

std::unique_ptr<RowReader> open_rows(std::unique_ptr<ByteSource> source,
                                     std::string_view file_name) {
  const std::string name = lower_ascii(file_name);
  const auto ends = [&](std::string_view suffix) { return name.ends_with(suffix); };
  if (ends(".csv")) return make_csv_reader(std::move(source));
  if (ends(".tsv")) return make_tsv_reader(std::move(source));
  if (ends(".jsonl") || ends(".ndjson") || ends(".json")) {
    return make_jsonl_reader(std::move(source));
  }
  if (ends(".pickle") || ends(".pkl")) {
    return read_pickle(read_all(*source, kPickleLimitBytes, "the pickle"));
  }
  throw Error(Code::kBadData, "is not a table by its name", "",
              "a table ends in .csv, .tsv, .jsonl, .ndjson, .json, .pickle or .pkl");
}

}  // namespace berth
