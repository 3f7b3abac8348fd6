#include "trainer/data/token_rows.h"

#include <gtest/gtest.h>

#include "storage/formats/protobuf_wire.h"
#include "storage/formats/tfrecord.h"
#include "tests/support/throws_code.h"
#include "trainer/data/text_table.h"

namespace berth {
namespace {

using Numbers = std::vector<int64_t>;

// A tf.Example of integer features.
std::vector<std::byte> example(const std::vector<std::pair<std::string, Numbers>>& integers) {
  ProtoWriter features, made;
  for (const auto& [name, numbers] : integers) {
    ProtoWriter list, feature, entry;
    for (const int64_t number : numbers) list.int64(1, number);
    feature.message(3, list);
    entry.text(1, name);
    entry.message(2, feature);
    features.message(1, entry);
  }
  made.message(1, features);
  return made.take();
}

class TokenRows : public testing::Test {
 protected:
  void add(const std::vector<std::pair<std::string, Numbers>>& integers) {
    append_tfrecord(file_, example(integers));
  }
  std::unique_ptr<RowReader> reader() const {
    return make_token_row_reader(std::make_unique<MemorySource>(file_));
  }
  TextTable table() const {
    return read_text_table(*reader(), ColumnChoice(), LabelNeed::kIfPresent);
  }

  std::vector<std::byte> file_;
};

TEST_F(TokenRows, HoldWhatIsNotMasked) {
  add({{"input_ids", {101, 7, 102, 0, 0}},
       {"input_mask", {1, 1, 1, 0, 0}},
       {"segment_ids", {0, 0, 1, 0, 0}},
       {"label_ids", {1}}});
  add({{"input_ids", {101, 102, 0, 0, 0}},
       {"input_mask", {1, 1, 0, 0, 0}},
       {"segment_ids", {0, 0, 0, 0, 0}},
       {"label_ids", {0}}});
  const TextTable rows = table();
  EXPECT_EQ(rows.texts, (std::vector<std::string>{"101 7 102|0 0 1", "101 102|0 0"}));
  EXPECT_EQ(rows.labels, (std::vector<std::string>{"1", "0"}));
  const Encoding first = parse_token_row(rows.texts[0], 3);
  EXPECT_EQ(first.input_ids, (std::vector<int32_t>{101, 7, 102}));
  EXPECT_EQ(first.token_type_ids, (std::vector<int32_t>{0, 0, 1}));
}

TEST_F(TokenRows, KnowModelGardensNames) {
  add({{"input_word_ids", {5, 6}}, {"input_type_ids", {0, 1}}, {"input_mask", {1, 1}}});
  const TextTable rows = table();
  EXPECT_EQ(rows.texts, std::vector<std::string>{"5 6|0 1"});
  EXPECT_TRUE(rows.labels.empty());
}

TEST_F(TokenRows, LeaveOutWhatOnlyFillsABatch) {
  add({{"input_ids", {0, 0}}, {"input_mask", {0, 0}}, {"is_real_example", {0}}});
  add({{"input_ids", {5, 6}}, {"input_mask", {1, 1}}, {"is_real_example", {1}}});
  EXPECT_EQ(table().texts, std::vector<std::string>{"5 6|0 0"});
}

TEST_F(TokenRows, NameTheRecordThatIsNone) {
  add({{"input_ids", {5, 6}}, {"input_mask", {1}}});
  EXPECT_THAT([&] { table(); }, ThrowsCode(Code::kBadData, "record at byte 0"));
  file_.clear();
  add({{"something", {5}}});
  EXPECT_THAT([&] { table(); }, ThrowsCode(Code::kBadData, "no input_ids"));
  file_.clear();
  add({{"input_ids", {5, -6}}});
  EXPECT_THAT([&] { table(); }, ThrowsCode(Code::kBadData, "-6 is no id"));
  file_.clear();
  add({{"input_ids", {5}}, {"label_ids", {1, 2}}});
  EXPECT_THAT([&] { table(); }, ThrowsCode(Code::kBadData, "2 labels"));
}

TEST_F(TokenRows, AreNotCut) {
  EXPECT_THAT([] { parse_token_row("1 2 3|0 0 0", 2); },
              ThrowsCode(Code::kUsage, "--max-seq-length"));
  EXPECT_THAT([] { parse_token_row("a text", 9); }, ThrowsCode(Code::kBadData, "a text"));
  EXPECT_THAT([] { parse_token_row("1 2|0", 9); }, ThrowsCode(Code::kBadData));
  EXPECT_THAT([] { parse_token_row("1 99999999999|0 0", 9); }, ThrowsCode(Code::kBadData));
}

}  // namespace
}  // namespace berth
