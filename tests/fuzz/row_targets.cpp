#include <limits>

#include "storage/formats/pickle.h"
#include "storage/formats/row_readers.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/bytes_in_memory.h"

namespace berth {
namespace {

// In these formats a small file may have any number of rows: nulls take no bytes, and deflated rows
// take few.
constexpr int kEnoughRows = 1000;

void read_rows(RowReader& reader, int most = std::numeric_limits<int>::max()) {
  Row row;
  for (int rows = 0; rows < most && reader.next(row); ++rows) {
  }
}

template <auto make_reader>
void read_file(Bytes input) {
  may_refuse([&] { read_rows(*make_reader(std::make_unique<BytesInMemory>(input)), kEnoughRows); });
}

void csv(Bytes input) {
  may_refuse([&] { read_rows(*make_csv_reader(std::make_unique<MemorySource>(input))); });
}

void json(Bytes input) {
  may_refuse([&] { read_rows(*make_json_reader(std::make_unique<MemorySource>(input))); });
}

void jsonl(Bytes input) {
  may_refuse([&] { read_rows(*make_jsonl_reader(std::make_unique<MemorySource>(input))); });
}

void pickle(Bytes input) {
  may_refuse([&] { read_rows(*read_pickle(input)); });
}

const FuzzTargets kRowTargets = {
    {"arrow", read_file<make_arrow_reader>},
    {"csv", csv},
    {"json", json},
    {"jsonl", jsonl},
    {"numpy", read_file<make_numpy_reader>},
    {"parquet", read_file<make_parquet_reader>},
    {"pickle", pickle},
};

}  // namespace
}  // namespace berth
