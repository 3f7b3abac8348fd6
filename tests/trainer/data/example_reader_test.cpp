#include "trainer/data/example_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/base/protobuf_wire.h"
#include "storage/base/text.h"
#include "storage/formats/tfrecord.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Numbers = std::vector<int64_t>;

using Reals = std::vector<std::pair<std::string, std::vector<float>>>;

// A serialized tf.Example of features of integers and of floats.
std::vector<std::byte> example(const std::vector<std::pair<std::string, Numbers>>& integers,
                               const Reals& reals = {}) {
  ProtoWriter features, made;
  for (const auto& [name, numbers] : reals) {
    ProtoWriter list, feature, entry;
    for (const float number : numbers) list.float32(1, number);
    feature.message(2, list);
    entry.text(1, name);
    entry.message(2, feature);
    features.message(1, entry);
  }
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
  // A record as create_pretraining_data.py writes it: "[CLS] a [MASK] [SEP] [MASK] [SEP]".
  void add_masked(const Numbers& positions, const Numbers& ids, const std::vector<float>& weights,
                  const std::vector<std::pair<std::string, Numbers>>& more) {
    std::vector<std::pair<std::string, Numbers>> integers = {
        {"input_ids", {101, 7, 103, 102, 103, 102, 0, 0}},
        {"input_mask", {1, 1, 1, 1, 1, 1, 0, 0}},
        {"segment_ids", {0, 0, 0, 0, 1, 1, 0, 0}},
        {"masked_lm_positions", positions},
        {"masked_lm_ids", ids}};
    integers.insert(integers.end(), more.begin(), more.end());
    append_tfrecord(file_, example(integers, {{"masked_lm_weights", weights}}));
  }
  std::string problem(Task task = Task::kNextSentence) {
    try {
      read(task);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kBadData);
      return error.what();
    }
    return "";
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

const std::vector<std::pair<std::string, Numbers>> kElsewhere = {{"next_sentence_labels", {1}}};

TEST_F(TokenRows, MayBeMaskedForPreTraining) {
  add_masked({4, 2, 0}, {8, 9, 0}, {1, 1, 0}, kElsewhere);
  add_masked({2, 0, 0}, {9, 0, 0}, {1, 0, 0}, {{"next_sentence_labels", {0}}});
  std::vector<Example> rows = read(Task::kNextSentence);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_THAT(rows[0].token_ids, ElementsAre(101, 7, 103, 102, 103, 102));
  EXPECT_THAT(rows[0].token_types, ElementsAre(0, 0, 0, 0, 1, 1));
  EXPECT_THAT(rows[0].masked, ElementsAre(2, 9, 4, 8));
  EXPECT_THAT(rows[0].labels, ElementsAre(1));
  EXPECT_THAT(rows[1].masked, ElementsAre(2, 9));
  EXPECT_THAT(rows[1].labels, ElementsAre(0));
  EXPECT_FALSE(labelled_);
  // Masked tokens alone.
  rows = read(Task::kMaskedLm);
  EXPECT_THAT(rows[0].masked, ElementsAre(2, 9, 4, 8));
  EXPECT_THAT(rows[0].labels, IsEmpty());
}

TEST_F(TokenRows, CountThePlacesOfMaskedTokensWithoutPadding) {
  append_tfrecord(file_, example({{"input_word_ids", {0, 0, 101, 7, 103, 102}},
                                  {"input_mask", {0, 0, 1, 1, 1, 1}},
                                  {"masked_lm_positions", {4, 3}},
                                  {"masked_lm_ids", {9, 7}},
                                  {"next_sentence_labels", {0}}},
                                 {{"masked_lm_weights", {1, 1}}}));
  EXPECT_THAT(read(Task::kNextSentence)[0].masked, ElementsAre(1, 7, 2, 9));
}

TEST_F(TokenRows, OfPreTrainingAreRefusedForOtherTasks) {
  add_masked({2}, {9}, {1}, kElsewhere);
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kBadData, "masked_lm_positions"));
  EXPECT_NE(problem(Task::kSequenceClassification).find("masked_lm_positions"), std::string::npos);
  EXPECT_NE(problem(Task::kReplacedTokenDetection).find("masked_lm_positions"), std::string::npos);
}

TEST_F(TokenRows, NameWhatIsWrongWithMaskedTokens) {
  struct Case {
    Numbers positions, ids;
    std::vector<float> weights;
    std::vector<std::pair<std::string, Numbers>> more;
    const char* problem;
  };
  for (const Case& each : {Case{{2, 4}, {9}, {1, 1}, kElsewhere, "masked_lm_ids"},
                           Case{{2}, {9}, {0.5f}, kElsewhere, "neither 0 nor 1"},
                           Case{{2}, {9}, {0}, kElsewhere, "nothing to predict"},
                           Case{{6}, {9}, {1}, kElsewhere, "where no token is"},
                           Case{{8}, {9}, {1}, kElsewhere, "where no token is"},
                           Case{{-1}, {9}, {1}, kElsewhere, "where no token is"},
                           Case{{2, 2}, {9, 8}, {1, 1}, kElsewhere, "twice"},
                           Case{{0}, {9}, {1}, kElsewhere, "the first token"},
                           Case{{2}, {-9}, {1}, kElsewhere, "masked_lm_ids"},
                           Case{{2}, {9}, {1}, {}, "next_sentence_labels"},
                           Case{{2}, {9}, {1}, {{"next_sentence_labels", {2}}}, "0 or 1"},
                           Case{{2},
                                {9},
                                {1},
                                {{"next_sentence_labels", {1}}, {"weight", {2}}},
                                "not for pre-training"}}) {
    file_.clear();
    add_masked(each.positions, each.ids, each.weights, each.more);
    EXPECT_NE(problem().find(each.problem), std::string::npos) << each.problem << problem();
  }
}

TEST_F(TokenRows, AreAllMaskedOrNone) {
  add_masked({2}, {9}, {1}, kElsewhere);
  add({{"input_ids", {5, 6}}, {"next_sentence_labels", {1}}});
  EXPECT_NE(problem().find("which the first record has"), std::string::npos);
  file_.clear();
  add({{"input_ids", {5, 6}}, {"next_sentence_labels", {1}}});
  EXPECT_THAT(read(Task::kNextSentence)[0].labels, ElementsAre(1));
  add_masked({2}, {9}, {1}, kElsewhere);
  EXPECT_NE(problem().find("which the first record lacks"), std::string::npos);
}

TEST_F(TokenRows, LeaveOutRowsThatOnlyFillABatch) {
  add({{"input_ids", {0, 0}}, {"input_mask", {0, 0}}, {"is_real_example", {0}}});
  add({{"input_ids", {5, 6}}, {"input_mask", {1, 1}}, {"is_real_example", {1}}});
  const std::vector<Example> rows = read();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].token_ids, (std::vector<int32_t>{5, 6}));
}

TEST_F(TokenRows, MayHaveTheNamesOfTransformers) {
  add({{"input_ids", {5, 6, 0, 0}},
       {"attention_mask", {1, 1, 0, 0}},
       {"token_type_ids", {0, 1, 0, 0}}});
  const std::vector<Example> rows = read();
  EXPECT_THAT(rows.at(0).token_ids, ElementsAre(5, 6));
  EXPECT_THAT(rows.at(0).token_types, ElementsAre(0, 1));
}

TEST_F(TokenRows, AreNotFilledUpWithoutAMask) {
  add({{"input_ids", {5, 6, 0, 0}}});
  EXPECT_THAT([&] { read(Task::kSequenceClassification); },
              ThrowsCode(Code::kBadData, "ends in the token 0 several times"));
}

TEST_F(TokenRows, HaveAMaskWithoutHoles) {
  add({{"input_ids", {5, 6, 7, 8}}, {"input_mask", {1, 1, 0, 1}}});
  EXPECT_THAT([&] { read(Task::kSequenceClassification); },
              ThrowsCode(Code::kBadData, "leaves out token 2, between other tokens"));
  file_.clear();
  add({{"input_ids", {5, 6}}, {"input_mask", {0, -10000}}});
  EXPECT_THAT([&] { read(Task::kSequenceClassification); },
              ThrowsCode(Code::kBadData, "holds -10000, which is neither 0 nor 1"));
}

TEST_F(TokenRows, ThatAMaskDoesNotEndAreNamed) {
  const auto said = [&](Numbers mask) {
    file_.clear();
    add({{"input_ids", {5, 6, 0, 0, 0}}, {"input_mask", std::move(mask)}});
    const auto reader = make_record_examples(std::make_unique<MemorySource>(file_), {}).reader;
    for (Example each; reader->next(each, labels_);) continue;
    return reader->findings();
  };
  ASSERT_THAT(said({1, 1, 1, 1, 1}), SizeIs(1));
  EXPECT_THAT(said({1, 1, 1, 1, 1})[0].text,
              testing::HasSubstr("1 of 1 record end in one token several times"));
  EXPECT_THAT(said({1, 1, 0, 0, 0}), IsEmpty());
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

TEST(SquadRows, WithEntitiesOfHtmlAreNamed) {
  constexpr std::string_view kFile =
      R"({"data": [{"paragraphs": [{"context": "Tom &amp; Ida", "qas": [)"
      R"({"id": "1", "question": "Who?", "answers": [{"text": "Ida", "answer_start": 10}]}]}]}]})";
  const auto reader = make_squad_examples(std::make_unique<MemorySource>(as_bytes(kFile)));
  LabelDictionary none;
  for (Example each; reader->next(each, none);) continue;
  ASSERT_THAT(reader->findings(), SizeIs(1));
  EXPECT_THAT(reader->findings()[0].text, testing::HasSubstr("have entities of HTML"));
}

std::vector<Example> read(std::string_view text, bool* labelled = nullptr) {
  const auto reader = make_squad_examples(std::make_unique<MemorySource>(as_bytes(text)));
  if (labelled != nullptr) *labelled = reader->labelled();
  LabelDictionary none;
  std::vector<Example> examples;
  for (Example each; reader->next(each, none);) examples.push_back(each);
  return examples;
}

constexpr std::string_view kFile = R"({"version": "v2.0", "data": [
  {"title": "t", "paragraphs": [
    {"context": "Café in Rome", "qas": [
      {"id": "1", "question": "Where?", "answers": [{"text": "Rome", "answer_start": 8}]},
      {"id": "2", "question": "Why?", "is_impossible": true, "answers": [],
       "plausible_answers": [{"text": "Rome", "answer_start": 8}]}]}]},
  {"title": "u", "paragraphs": [{"context": "x", "qas": []},
    {"context": "y", "qas": [{"id": "3", "question": "z", "answers": []}]}]}]})";

TEST(SquadExamples, HoldTheQuestionsOfAllParagraphs) {
  bool labelled = false;
  const std::vector<Example> examples = read(kFile, &labelled);
  EXPECT_TRUE(labelled);
  ASSERT_THAT(examples, SizeIs(3));
  EXPECT_THAT(examples[0].texts, ElementsAre("Where?", "Café in Rome"));
  EXPECT_EQ(examples[0].answers, (std::vector<Answer>{{"Rome", 8}}));
  EXPECT_EQ(examples[1].id, "2");
  EXPECT_THAT(examples[1].answers, IsEmpty());
  EXPECT_EQ(examples[2].texts[1], "y");
  EXPECT_EQ(split_key(examples[0], Task::kQuestionAnswering), "Café in Rome");
}

constexpr std::string_view kArticle =
    R"({"title": "t", "paragraphs": [{"context": "Café in Rome", "qas": [{"id": "1", "question": "Where?", "answers": [{"text": "Rome", "answer_start": 8}]}]}]})";
constexpr std::string_view kParagraph =
    R"({"context": "a cat", "qas": [{"id": 2, "question": "Who?", "answers": [{"text": "cat", "answer_start": 2}]}]})";

TEST(SquadExamples, MayBeLinesOfArticlesOrOfParagraphs) {
  for (const std::string& lines :
       {std::string(kArticle) + "\n" + std::string(kParagraph) + "\n",
        R"({"title": "no questions", "paragraphs": []})" + ("\r\n\n" + std::string(kArticle)) +
            "\r\n" + std::string(kParagraph)}) {
    bool labelled = false;
    const std::vector<Example> examples = read(lines, &labelled);
    EXPECT_TRUE(labelled);
    ASSERT_THAT(examples, SizeIs(2));
    EXPECT_THAT(examples[0].texts, ElementsAre("Where?", "Café in Rome"));
    EXPECT_THAT(examples[1].texts, ElementsAre("Who?", "a cat"));
    EXPECT_EQ(examples[1].id, "2");
    EXPECT_EQ(examples[1].answers, (std::vector<Answer>{{"cat", 2}}));
  }
  for (const std::string_view alone : {kArticle, kParagraph}) {
    EXPECT_THAT(read(alone), SizeIs(1));
  }
}

TEST(SquadExamples, ALineThatIsNoArticleIsNamedAndPassedOver) {
  const std::string lines = std::string(kArticle) +
                            "\n{\"title\": \"cut\n[1]\n{\"title\": \"u\"}\n" +
                            std::string(kParagraph);
  const auto reader = make_squad_examples(std::make_unique<MemorySource>(as_bytes(lines)));
  LabelDictionary none;
  Example example;
  EXPECT_TRUE(reader->next(example, none));
  EXPECT_EQ(reader->position(), "line 1.paragraphs[0].qas[0]");
  for (const char* failure : {"line 2: is not JSON", "line 3: there is no \"paragraphs\"",
                              "line 4: there is no \"paragraphs\""}) {
    EXPECT_THAT([&] { reader->next(example, none); }, ThrowsCode(Code::kBadData, failure));
    EXPECT_EQ(reader->position(), std::string(failure).substr(0, 6));
  }
  EXPECT_TRUE(reader->next(example, none));
  EXPECT_EQ(example.texts[0], "Who?");
  EXPECT_FALSE(reader->next(example, none));
}

TEST(SquadExamples, MayLackAnswers) {
  bool labelled = true;
  read(R"({"data": [{"paragraphs": [{"context": "c", "qas": [{"id": "1", "question": "q"}]}]}]})",
       &labelled);
  EXPECT_FALSE(labelled);
}

TEST(SquadExamples, AnswersMustStandWhereTheySay) {
  EXPECT_THAT(
      [] {
        read(
            R"({"data": [{"paragraphs": [{"context": "é is me", "qas": [{"id": "1", "question": "q",
             "answers": [{"text": "me", "answer_start": 6}]}]}]}]})");
      },
      ThrowsCode(Code::kBadData, "qas[0]: answer \"me\" does not stand at 6"));
  EXPECT_THAT(
      [] {
        read(R"({"data": [{"paragraphs": [{"context": "c", "qas": [{"id": "1", "question": "q",
             "answers": [{"text": "me", "answer_start": 700}]}]}]}]})");
      },
      ThrowsCode(Code::kBadData, "does not stand at 700"));
}

TEST(SquadExamples, MayNotRepeatALongContextForever) {
  const auto count = [](size_t context, int questions) {
    std::string qas;
    for (int i = 0; i < questions; ++i) {
      qas += std::string(i > 0 ? "," : "") + R"({"id": "1", "question": "q", "answers": []})";
    }
    const std::string file = R"({"data": [{"paragraphs": [{"context": ")" +
                             std::string(context, 'c') + R"(", "qas": [)" + qas + "]}]}]}";
    const auto reader = make_squad_examples(std::make_unique<MemorySource>(as_bytes(file)));
    LabelDictionary none;
    int read = 0;
    for (Example each; reader->next(each, none);) ++read;
    return read;
  };
  EXPECT_EQ(count(100'000, 2000), 2000);
  EXPECT_THAT([&] { count(1'000'000, 6000); },
              ThrowsCode(Code::kBadData, "repeats its contexts to many times the file's size"));
}

TEST(SquadExamples, SayWhereTheFileIsMalformed) {
  EXPECT_THAT([] { read("[]"); }, ThrowsCode(Code::kBadData, "no \"data\""));
  EXPECT_THAT([] { read("{"); }, ThrowsCode(Code::kBadData, "is not JSON"));
  EXPECT_THAT([] { read(R"({"data": 3})"); }, ThrowsCode(Code::kBadData, "not a list"));
  EXPECT_THAT(
      [] {
        read(
            R"({"data": [{"paragraphs": [{"context": "c", "qas": [{"id": [1], "question": "q"}]}]}]})");
      },
      ThrowsCode(Code::kBadData, "data[0].paragraphs[0].qas[0]: \"id\" is not a text"));
  EXPECT_THAT(
      [] {
        read(R"({"data": [{"paragraphs": [{"context": "c", "qas": [{"id": "1", "question": "q",
             "answers": [{"text": "c", "answer_start": -1}]}]}]}]})");
      },
      ThrowsCode(Code::kBadData, "qas[0]: \"answer_start\" is not a whole number"));
  EXPECT_THAT(
      [] {
        read(R"({"data": [{"paragraphs": [{"context": "c", "qas": [{"id": "1", "question": "q",
             "answers": [{"text": "c", "answer_start": 1099511627776}]}]}]}]})");
      },
      ThrowsCode(Code::kBadData, "qas[0]: an answer starts at 1099511627776, outside"));
}

TEST(SquadExamples, MayBeAListOfParagraphs) {
  const std::vector<Example> examples = read(R"([
    {"context": "Café in Rome", "qas": [{"id": 7, "question": "Where?", "is_impossible": false,
     "answers": [{"text": "Rome", "answer_start": 8}]}]},
    {"context": "y", "qas": [{"id": "3", "question": "z", "answers": []}]}])");
  ASSERT_THAT(examples, SizeIs(2));
  EXPECT_EQ(examples[0].id, "7");
  EXPECT_EQ(examples[1].texts[1], "y");
}

TEST(SquadExamples, AnAnswerOfAnEvaluationMayBeATextAlone) {
  const auto read = [](const std::string& answer, AnswerPlaces places) {
    const std::string file = R"({"data": [{"paragraphs": [{"context": "it was me", "qas": [
        {"id": "1", "question": "who?", "answers": [)" +
                             answer + "]}]}]}]}";
    const auto reader = make_squad_examples(std::make_unique<MemorySource>(as_bytes(file)),
                                            LabelNeed::kRequired, places);
    Example example;
    LabelDictionary labels;
    reader->next(example, labels);
    return example.answers.at(0).text;
  };
  EXPECT_EQ(read(R"("me")", AnswerPlaces::kAny), "me");
  EXPECT_EQ(read(R"({"text": "me", "answer_start": -1})", AnswerPlaces::kAny), "me");
  EXPECT_THAT([&] { read(R"("me")", AnswerPlaces::kExact); },
              ThrowsCode(Code::kBadData, "is no object"));
  for (const char* answer : {"null", "7", "[]"}) {
    for (const AnswerPlaces places : {AnswerPlaces::kAny, AnswerPlaces::kExact}) {
      EXPECT_THAT([&] { read(answer, places); }, ThrowsCode(Code::kBadData, "is no object"));
    }
  }
}

TEST(SquadExamples, AnImpossibleQuestionHasNoAnswer) {
  const auto read_answers = [](const std::string& answers) {
    return read(cat(R"([{"context": "Café in Rome", "qas": [{"id": 7, "question": "Where?",)",
                    R"( "is_impossible": true, "answers": )", answers, "}]}]"));
  };
  EXPECT_THAT(read_answers(R"([{"text": "", "answer_start": -1}])")[0].answers, IsEmpty());
  EXPECT_THAT([&] { read_answers(R"([{"text": "Rome", "answer_start": 8}])"); },
              ThrowsCode(Code::kBadData, "there is the answer \"Rome\""));
}

// SQuAD's script compares the texts of answers alone.
TEST(SquadExamples, PlacesMayBeWrongWhereOnlyScoresAreWanted) {
  constexpr std::string_view kWrong =
      R"({"data": [{"paragraphs": [{"context": "é is me, me", "qas": [
    {"id": "1", "question": "q", "answers": [{"text": "me", "answer_start": 6}, {"text": "me"},
     {"text": "me", "answer_start": 10}, {"text": "you", "answer_start": -1}]}]}]}]})";
  const auto reader = make_squad_examples(std::make_unique<MemorySource>(as_bytes(kWrong)),
                                          LabelNeed::kRequired, AnswerPlaces::kAny);
  LabelDictionary none;
  Example example;
  ASSERT_TRUE(reader->next(example, none));
  EXPECT_EQ(example.answers, (std::vector<Answer>{{"me", 5}, {"me", 5}, {"me", 9}, {"you", 12}}));
  EXPECT_THAT([&] { read(kWrong); }, ThrowsCode(Code::kBadData));
}

TEST(SquadExamples, AnAnswerThatIsElsewhereOrEmptyIsRefused) {
  const auto read_answer = [](const std::string& answer) {
    return [=] {
      read(R"({"data": [{"paragraphs": [{"context": "Café in Rome", "qas": [
        {"id": "1", "question": "Where?", "answers": [)" +
           answer + "]}]}]}]}");
    };
  };
  EXPECT_THAT(read_answer(R"({"text": "Rome", "answer_start": 9})"),
              ThrowsCode(Code::kBadData, "does not stand at 9, but at 8"));
  EXPECT_THAT(read_answer(R"({"text": "rome", "answer_start": 8})"),
              ThrowsCode(Code::kBadData, "nor elsewhere in the context"));
  EXPECT_THAT(read_answer(R"({"text": "", "answer_start": 0})"),
              ThrowsCode(Code::kBadData, "an answer is empty"));
}

}  // namespace
}  // namespace berth
