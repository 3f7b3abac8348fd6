#include "trainer/data/prepared_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "storage/formats/tf_example.h"
#include "storage/formats/tfrecord.h"
#include "tests/support/letter_tokenizer.h"
#include "tests/support/throws_code.h"
#include "tests/support/token_shard_bytes.h"
#include "trainer/data/example_reader.h"
#include "trainer/data/example_table.h"
#include "trainer/data/table_loader.h"

namespace berth {
namespace {

using testing::ElementsAre;

using Numbers = std::vector<int64_t>;

const std::vector<std::string> kNames = {"bad", "fair", "good"};

class TokenRecords : public testing::Test {
 protected:
  Features features_{.input_ids = {1, 3, 4, 2}, .token_type_ids = {0, 0, 1, 1}};
  TokenRecordOptions options_{.max_seq_length = 6, .num_labels = 3};

  // The value of one feature of the record.
  template <typename Values>
  Values value(const std::string& name) {
    for (const TfFeature& each : token_record(features_, options_)) {
      if (each.name == name) return std::get<Values>(each.values);
    }
    ADD_FAILURE() << "no " << name;
    return {};
  }

  // The example that the program reads from a file of this one record. Its labels are names.
  Example read_back(std::optional<Task> task) {
    std::vector<std::byte> file;
    append_tfrecord(file, serialize_tf_example(token_record(features_, options_)));
    const RecordExamples records = make_record_examples(std::make_unique<MemorySource>(file),
                                                        {.task = task, .label_names = kNames});
    EXPECT_EQ(records.task, options_.task);
    Example example;
    EXPECT_TRUE(records.reader->next(example, labels_));
    return example;
  }

  std::string line() {
    const LetterTokenizer tokenizer;
    return token_line(features_, options_, kNames, &tokenizer);
  }

  LabelDictionary labels_;
};

TEST_F(TokenRecords, ArePaddedAsRunClassifierPadsThem) {
  features_.classes = {2};
  EXPECT_THAT(value<Numbers>("input_ids"), ElementsAre(1, 3, 4, 2, 0, 0));
  EXPECT_THAT(value<Numbers>("input_mask"), ElementsAre(1, 1, 1, 1, 0, 0));
  EXPECT_THAT(value<Numbers>("segment_ids"), ElementsAre(0, 0, 1, 1, 0, 0));
  EXPECT_THAT(value<Numbers>("is_real_example"), ElementsAre(1));
  EXPECT_THAT(value<Numbers>("label_ids"), ElementsAre(2));
  const auto record = token_record(features_, options_);
  EXPECT_TRUE(std::ranges::is_sorted(record, {}, &TfFeature::name));
  EXPECT_EQ(record.size(), 5u);  // no weight
}

// "[CLS] a [MASK] [SEP] [MASK] [SEP]" in records of 8 tokens, 3 of them masked.
TEST(PairRecords, HaveTheFeaturesOfCreatePretrainingData) {
  const Features features{.input_ids = {1, 3, 0, 2, 0, 2},
                          .token_type_ids = {0, 0, 0, 0, 1, 1},
                          .classes = {1},
                          .masked = {2, 9, 4, 8}};
  const TokenRecordOptions options{
      .task = Task::kNextSentence, .max_seq_length = 8, .most_masked = 3};
  const std::vector<TfFeature> record = pair_record(features, options);
  EXPECT_TRUE(std::ranges::is_sorted(record, {}, &TfFeature::name));
  std::map<std::string, Numbers> numbers;
  for (const TfFeature& each : record) {
    if (const auto* integers = std::get_if<Numbers>(&each.values)) numbers[each.name] = *integers;
    if (each.name != "masked_lm_weights") continue;
    EXPECT_THAT(std::get<std::vector<float>>(each.values), ElementsAre(1, 1, 0));
  }
  EXPECT_EQ(numbers, (std::map<std::string, Numbers>{{"input_ids", {1, 3, 0, 2, 0, 2, 0, 0}},
                                                     {"input_mask", {1, 1, 1, 1, 1, 1, 0, 0}},
                                                     {"masked_lm_ids", {9, 8, 0}},
                                                     {"masked_lm_positions", {2, 4, 0}},
                                                     {"next_sentence_labels", {1}},
                                                     {"segment_ids", {0, 0, 0, 0, 1, 1, 0, 0}}}));
  std::vector<std::byte> file;
  append_tfrecord(file, serialize_tf_example(record));
  const RecordExamples records =
      make_record_examples(std::make_unique<MemorySource>(file), {.task = Task::kNextSentence});
  Example example;
  LabelDictionary labels;
  ASSERT_TRUE(records.reader->next(example, labels));
  EXPECT_EQ(example.token_ids, features.input_ids);
  EXPECT_EQ(example.token_types, features.token_type_ids);
  EXPECT_EQ(example.masked, features.masked);
  EXPECT_EQ(example.labels, features.classes);
  EXPECT_EQ(pair_line(features, LetterTokenizer()),
            R"({"tokens":["","a","[MASK]","","[MASK]",""],"input_ids":[1,3,0,2,0,2],)"
            R"("segment_ids":[0,0,0,0,1,1],"masked_lm_positions":[2,4],"masked_lm_ids":[9,8],)"
            R"("next_sentence_label":1})"
            "\n");
}

void append(TableLoader& loader, const std::vector<TfFeature>& record) {
  std::vector<std::byte> file;
  append_tfrecord(file, serialize_tf_example(record));
  loader.append_records(std::make_unique<MemorySource>(file));
}

// A masked language model reads both kinds of records, and one kind in all files of a table.
TEST(PairRecords, AreNoTableTogetherWithRecordsOfTexts) {
  const Features pair{
      .input_ids = {1, 3, 0, 2}, .token_type_ids = {0, 0, 1, 1}, .classes = {1}, .masked = {2, 9}};
  const Features text{.input_ids = {1, 3, 4, 2}, .token_type_ids = {0, 0, 0, 0}, .classes = {2}};
  const TokenRecordOptions options{.max_seq_length = 6, .num_labels = 3, .most_masked = 2};
  const LoadRules rules{.task = Task::kMaskedLm};
  TableLoader of_texts(rules), of_pairs(rules);
  append(of_texts, token_record(text, options));
  append(of_pairs, pair_record(pair, options));
  EXPECT_THAT([&] { append(of_texts, pair_record(pair, options)); },
              ThrowsCode(Code::kBadData, "masked already, and the first file's are not"));
  EXPECT_THAT([&] { append(of_pairs, token_record(text, options)); },
              ThrowsCode(Code::kBadData, "not masked, and the first file's are"));
  // The class of a text is no end of a sequence.
  const std::unique_ptr<ExampleTable> table = of_texts.finish();
  EXPECT_TRUE(table->read(0).labels.empty());
  EXPECT_FALSE(table->labelled);
}

TEST_F(TokenRecords, AreReadBackWithTheLabelsNames) {
  features_.classes = {2};
  features_.weight = 0.5f;
  options_.with_weight = true;
  const Example example = read_back(std::nullopt);
  EXPECT_EQ(example.token_ids, features_.input_ids);
  EXPECT_EQ(example.token_types, features_.token_type_ids);
  EXPECT_EQ(example.weight, 0.5f);
  EXPECT_THAT(example.labels, ElementsAre(0));
  EXPECT_THAT(labels_.names(), ElementsAre("good"));
}

TEST_F(TokenRecords, OfScoresHoldFloats) {
  options_.task = Task::kRegression;
  features_.targets = {3.25f};
  EXPECT_EQ(read_back(std::nullopt).score, 3.25f);
}

TEST_F(TokenRecords, OfTagsHoldOneForEachToken) {
  options_.task = Task::kTokenClassification;
  features_.classes = {-1, 0, 2, -1};
  EXPECT_THAT(value<Numbers>("label_ids"), ElementsAre(-1, 0, 2, -1, -1, -1));
  EXPECT_THAT(read_back(std::nullopt).labels, ElementsAre(-1, 0, 1, -1));
  EXPECT_THAT(labels_.names(), ElementsAre("bad", "good"));
}

TEST_F(TokenRecords, OfSeveralLabelsHaveAMarkForEachLabel) {
  options_.task = Task::kMultiLabel;
  features_.targets = {1, 0, 1};
  EXPECT_THAT(value<Numbers>("label_ids"), ElementsAre(1, 0, 1));
  EXPECT_THAT(read_back(Task::kMultiLabel).labels, ElementsAre(0, 1));
  EXPECT_THAT(labels_.names(), ElementsAre("bad", "good"));
}

TEST_F(TokenRecords, UnlabelledOnesHaveTheLabelsThatReadersAskFor) {
  EXPECT_THAT(value<Numbers>("label_ids"), ElementsAre(0));
  options_.task = Task::kMultiLabel;
  EXPECT_THAT(value<Numbers>("label_ids"), ElementsAre(0, 0, 0));
  options_.task = Task::kTokenClassification;
  EXPECT_THAT(value<Numbers>("label_ids"), ElementsAre(-1, -1, -1, -1, -1, -1));
  options_.task = Task::kRegression;
  EXPECT_THAT(value<std::vector<float>>("label_ids"), ElementsAre(0));
}

TEST_F(TokenRecords, ALabelWithoutNameIsRefused) {
  features_.classes = {3};
  EXPECT_THAT([&] { read_back(std::nullopt); }, ThrowsCode(Code::kBadData, "label 3"));
  features_.classes.clear();
  features_.targets = {1};
  options_ = {.task = Task::kMultiLabel, .max_seq_length = 6, .num_labels = 2};
  EXPECT_THAT([&] { read_back(Task::kMultiLabel); },
              ThrowsCode(Code::kBadData, "2 marks for 3 labels"));
}

TEST_F(TokenRecords, AsJsonLinesNameTokensAndLabels) {
  features_.classes = {1};
  EXPECT_EQ(line(), R"({"tokens":["","a","b",""],"input_ids":[1,3,4,2],"segment_ids":[0,0,1,1],)"
                    R"("label":"fair"})"
                    "\n");
  features_.classes = {-1, 0, 2, -1};
  options_.task = Task::kTokenClassification;
  EXPECT_THAT(line(), testing::HasSubstr(R"("label":[null,"bad","good",null])"));
  features_.classes.clear();
  EXPECT_THAT(line(), testing::Not(testing::HasSubstr("label")));
  features_.targets = {1, 0, 1};
  options_ = {.task = Task::kMultiLabel, .with_weight = true};
  EXPECT_THAT(line(), testing::HasSubstr(R"("label":["bad","good"],"weight":1)"));
  options_.task = Task::kRegression;
  features_.targets = {3.8f};
  EXPECT_THAT(line(), testing::HasSubstr(R"("label":3.8,)"));
  EXPECT_THAT(token_line(features_, options_, {}, nullptr), testing::StartsWith(R"({"input_ids")"));
}

class ShardSet : public testing::Test {
 protected:
  // The set of these shards, by their numbers.
  TokenShardSet open(const std::vector<size_t>& shards,
                     std::optional<uint32_t> tokenizer = std::nullopt) {
    std::vector<TokenShardFile> files;
    for (const size_t shard : shards) {
      files.push_back(
          {.name = "shard " + std::to_string(shard), .mapped = {}, .read = files_[shard]});
    }
    return TokenShardSet(std::move(files), tokenizer);
  }
  void refuses(const std::vector<size_t>& shards, const std::string& says) {
    EXPECT_THAT([&] { open(shards); }, ThrowsCode(Code::kBadData, says));
  }

  std::vector<std::vector<std::byte>> files_ = three_token_shards();
};

TEST_F(ShardSet, RowsAreTheSequencesOfAllShards) {
  const TokenShardSet set = open({0, 1, 2}, 17);
  ASSERT_EQ(set.rows(), 5u);
  EXPECT_THAT(set.read(0).token_ids, ElementsAre(1, 2));
  EXPECT_THAT(set.read(1).token_ids, ElementsAre(3));
  EXPECT_THAT(set.read(2).token_ids, ElementsAre(4, 5, 6));
  EXPECT_THAT(set.read(4).token_ids, ElementsAre(8));
  EXPECT_THAT(set.read(2).token_types, ElementsAre(0, 0, 0));
  EXPECT_EQ(set.bytes(2).size(), 6u);
}

TEST_F(ShardSet, AMissingShardIsNamed) {
  refuses({1, 2}, "shard 1: is shard 2 of 3, where shard 1 is expected");
  refuses({0, 2}, "shard 2: is shard 3 of 3, where shard 2 is expected");
  refuses({0, 1}, "shard 1: is shard 2 of 3, and shard 3 is missing");
}

TEST_F(ShardSet, ShardsOutOfOrderAreNamed) {
  refuses({1, 0, 2}, "where shard 1 is expected");
  refuses({0, 1, 2, 2}, "shard 2: is shard 3 of 3, where shard 4 is expected");
}

TEST_F(ShardSet, AShardOfAnotherPreparationIsNamed) {
  files_[1] = three_token_shards(/*preparation=*/6)[1];
  refuses({0, 1, 2}, "shard 1: belongs to another preparation than shard 0");
}

TEST_F(ShardSet, AnotherTokenizerIsNamed) {
  EXPECT_THAT([&] { open({0, 1, 2}, 18); }, ThrowsCode(Code::kBadData, "another tokenizer"));
}

TEST_F(ShardSet, ADamagedShardIsNamed) {
  files_[1].back() ^= std::byte{1};
  EXPECT_THAT([&] { open({0, 1, 2}); }, ThrowsCode(Code::kCorrupt, "shard 1: byte "));
}

TEST_F(ShardSet, ATableAdoptsIt) {
  ExampleTable small, large(/*memory_bytes=*/100);
  for (ExampleTable* table : {&small, &large}) {
    table->adopt(std::make_unique<TokenShardSet>(open({0, 1, 2})));
    table->finish();
    EXPECT_EQ(table->rows(), 5u);
    EXPECT_THAT(table->read(3).token_ids, ElementsAre(7));
    EXPECT_EQ(table->source_row(3), 3u);
  }
  EXPECT_FALSE(small.spilled());
  EXPECT_TRUE(large.spilled());  // it is shuffled in blocks, as rows on disk are
}

}  // namespace
}  // namespace berth
