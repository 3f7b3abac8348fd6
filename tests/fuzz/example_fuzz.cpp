#include "storage/base/error.h"
#include "storage/formats/row_readers.h"
#include "storage/formats/tfrecord.h"
#include "trainer/data/table_loader.h"

namespace {

using namespace berth;

// The first byte chooses how the rest is read: 0 as lines of words, 1 as SQuAD's JSON, 2 as a
// tf.Example, 3 as JSON lines of any task, 4 as a tf.Example of TensorFlow Datasets.
void load(uint8_t kind, Bytes bytes) {
  TableLoader loader({.need = LabelNeed::kIfPresent, .skip_bad_rows = 3});
  auto source = std::make_unique<MemorySource>(bytes);
  std::vector<std::byte> records;
  switch (kind) {
    case 0:
      loader.append_rows(make_conll_reader(std::move(source)));
      break;
    case 1:
      loader.append_squad(std::move(source));
      break;
    case 2:
      append_tfrecord(records, bytes);
      loader.append_records(std::make_unique<MemorySource>(records));
      break;
    case 4:
      append_tfrecord(records, bytes);
      loader.append_rows(make_tf_example_rows(std::make_unique<MemorySource>(records),
                                              {{"label_ids", {"a", "b"}}}));
      break;
    default:
      loader.append_rows(make_jsonl_reader(std::move(source)));
  }
  const auto table = loader.finish();
  for (uint32_t row = 0; row < table->rows(); ++row) table->read(row);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    load(data[0], std::as_bytes(std::span(data + 1, size - 1)));
  } catch (const Error&) {
  }
  return 0;
}
