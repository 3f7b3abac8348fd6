#include <gtest/gtest.h>

#include "storage/base/protobuf_wire.h"
#include "storage/formats/tfrecord.h"
#include "tests/support/throws_code.h"
#include "trainer/data/example_reader.h"

namespace berth {
namespace {

using Numbers = std::vector<int64_t>;

// A serialized tf.Example of integer features.
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
  // Reads all examples. Their labels are texts.
  std::vector<Example> read(std::optional<Task> task = std::nullopt, TokenLimits limits = {}) {
    const RecordExamples records = make_record_examples(std::make_unique<MemorySource>(file_),
                                                        {.task = task, .limits = limits});
    task_ = records.task;
    labelled_ = records.reader->labelled();
    std::vector<Example> examples;
    labels_ = LabelDictionary();
    for (Example each; records.reader->next(each, labels_);) examples.push_back(each);
    return examples;
  }

  std::optional<Task> task_{};
  bool labelled_ = false;
  LabelDictionary labels_;
  std::vector<std::byte> file_;
};

TEST(EmptyRecords, AreAFileWithoutRows) {
  EXPECT_EQ(make_record_examples(std::make_unique<MemorySource>(Bytes()), {}).reader, nullptr);
}

TEST_F(TokenRows, HoldTheTokensThatAreNotMasked) {
  add({{"input_ids", {101, 7, 102, 0, 0}},
       {"input_mask", {1, 1, 1, 0, 0}},
       {"segment_ids", {0, 0, 1, 0, 0}},
       {"label_ids", {1}}});
  add({{"input_ids", {101, 102, 0, 0, 0}},
       {"input_mask", {1, 1, 0, 0, 0}},
       {"segment_ids", {0, 0, 0, 0, 0}},
       {"label_ids", {0}}});
  const std::vector<Example> rows = read();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(task_, Task::kSequenceClassification);
  EXPECT_EQ(rows[0].token_ids, (std::vector<int32_t>{101, 7, 102}));
  EXPECT_EQ(rows[0].token_types, (std::vector<int32_t>{0, 0, 1}));
  EXPECT_EQ(rows[1].token_ids, (std::vector<int32_t>{101, 102}));
  EXPECT_EQ(labels_.names(), (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(rows[0].labels, (std::vector<int32_t>{0}));
}

TEST_F(TokenRows, KnowModelGardensNames) {
  add({{"input_word_ids", {5, 6}}, {"input_type_ids", {0, 1}}, {"input_mask", {1, 1}}});
  const std::vector<Example> rows = read();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].token_ids, (std::vector<int32_t>{5, 6}));
  EXPECT_EQ(rows[0].token_types, (std::vector<int32_t>{0, 1}));
  EXPECT_FALSE(labelled_);
}

TEST_F(TokenRows, LeaveOutRowsThatOnlyFillABatch) {
  add({{"input_ids", {0, 0}}, {"input_mask", {0, 0}}, {"is_real_example", {0}}});
  add({{"input_ids", {5, 6}}, {"input_mask", {1, 1}}, {"is_real_example", {1}}});
  const std::vector<Example> rows = read();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].token_ids, (std::vector<int32_t>{5, 6}));
}

TEST_F(TokenRows, NameAMalformedRecord) {
  add({{"input_ids", {5, 6}}, {"input_mask", {1}}});
  EXPECT_THAT([&] { read(Task::kSequenceClassification); },
              ThrowsCode(Code::kBadData, "record at byte 0"));
  file_.clear();
  add({{"something", {5}}});
  EXPECT_THAT([&] { read(Task::kSequenceClassification); },
              ThrowsCode(Code::kBadData, "no input_ids"));
  file_.clear();
  add({{"input_ids", {5, -6}}});
  EXPECT_THAT([&] { read(Task::kSequenceClassification); },
              ThrowsCode(Code::kBadData, "-6 is not a token id"));
  file_.clear();
  add({{"input_ids", {5}}, {"label_ids", {1, 2}}});
  EXPECT_THAT([&] { read(Task::kSequenceClassification); }, ThrowsCode(Code::kBadData, "2 labels"));
}

TEST_F(TokenRows, RefuseIdsThatTheModelLacks) {
  add({{"input_ids", {5, 9, 12}}, {"input_mask", {1, 1, 0}}, {"segment_ids", {0, 1, 4}}});
  EXPECT_EQ(read({}, {.vocab_size = 10, .type_vocab_size = 2}).size(), 1u);
  EXPECT_THAT(
      [&] { read({}, {.vocab_size = 9}); },
      ThrowsCode(Code::kBadData, "record at byte 0: token id 9 is too large: the model has 9"));
  EXPECT_THAT([&] { read({}, {.type_vocab_size = 1}); },
              ThrowsCode(Code::kBadData, "token type 1 is too large: the model has 1"));
}

TEST_F(TokenRows, TagsBelongToTheTokensThatAreNotMasked) {
  add({{"input_ids", {101, 7, 8, 102, 0}},
       {"input_mask", {1, 1, 1, 1, 0}},
       {"label_ids", {-1, 3, -100, -1, 5}}});
  const std::vector<Example> rows = read();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(task_, Task::kTokenClassification);
  EXPECT_EQ(rows[0].labels, (std::vector<int32_t>{-1, 0, -1, -1}));
  EXPECT_EQ(labels_.names(), std::vector<std::string>{"3"});
}

}  // namespace
}  // namespace berth
