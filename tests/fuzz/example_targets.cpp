#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/utf8.h"
#include "storage/formats/row_readers.h"
#include "storage/formats/tfrecord.h"
#include "tests/fuzz/fuzz_target.h"
#include "trainer/data/span_rows.h"
#include "trainer/data/table_loader.h"
#include "trainer/data/text_list.h"

namespace berth {
namespace {

// The input is a line of text, followed by its annotations.
void read_annotated_words(Bytes bytes) {
  const std::string_view input = as_text(bytes);
  const size_t end = std::min(input.find('\n'), input.size());
  const std::string_view text = input.substr(0, end);
  if (find_invalid_utf8(text)) return;
  may_refuse([&] {
    const AnnotatedWords result = annotated_words(text, input.substr(end));
    size_t kept = 0;
    for (const std::string& word : result.words) kept += word.size();
    require(kept <= text.size() && result.words.size() == result.tags.size());
  });
}

// The first byte chooses how the rest is read: 0 as lines of words, 1 as SQuAD's JSON, 2 as a
// tf.Example, 3 as JSON lines of any task, 4 as a tf.Example of TensorFlow Datasets.
void load_examples(uint8_t kind, Bytes bytes) {
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

void example(Bytes input) {
  may_refuse([&] { read_chosen(input, load_examples); });
}

void text_list(Bytes input) {
  const std::string_view text = as_text(input);
  require(!parse_text_list(text) || begins_list(text));
}

const FuzzTargets kExampleTargets = {
    {"annotated_words", read_annotated_words}, {"example", example}, {"text_list", text_list}};

}  // namespace
}  // namespace berth
