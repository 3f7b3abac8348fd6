#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/formats/tf_example.h"
#include "storage/formats/tfrecord.h"
#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "trainer/inputs/load_data.h"

namespace berth {
namespace {

// A file of two rows whose labels are invalid.
struct UnlabelledFile {
  const char* name;
  Task task;
  std::string content;
  std::string label_column{};
};

using Numbers = std::vector<int64_t>;
using Reals = std::vector<float>;
using Texts = std::vector<std::string>;

// TFRecords of token ids, with these labels and weights.
std::string records(std::initializer_list<std::pair<TfFeature, TfFeature>> rows) {
  std::vector<std::byte> file;
  for (const auto& [label, weight] : rows) {
    std::vector<TfFeature> features = {{"input_ids", Numbers{101, 7, 102}}};
    if (!label.name.empty()) features.push_back(label);
    if (!weight.name.empty()) features.push_back(weight);
    append_tfrecord(file, serialize_tf_example(features));
  }
  return std::string(as_text(file));
}

const std::string kQuestion = R"({"context": "It rains in Rome", "qas": [
    {"id": "1", "question": "Where?", "answers": [{"text": "", "answer_start": -1}]},
    {"id": "2", "question": "When?", "answers": null}]})";

std::vector<UnlabelledFile> unlabelled_files() {
  constexpr Task kClass = Task::kSequenceClassification, kScore = Task::kRegression,
                 kSet = Task::kMultiLabel, kTags = Task::kTokenClassification,
                 kAnswer = Task::kQuestionAnswering;
  return {{"empty.csv", kClass, "text,label\none,\ntwo,\n"},
          {"fraction.csv", kClass, "text,label\none,0.5\ntwo,-1\n"},
          {"some.tsv", kClass, "text\tlabel\none\tyes\ntwo\t\n"},
          {"null.jsonl", kClass,
           "{\"text\": \"one\", \"label\": 1}\n{\"text\": \"two\", \"label\": null}"},
          {"empty.tsv", kScore, "text\tscore\none\t\ntwo\tunknown\n"},
          {"list.jsonl", kScore,
           "{\"text\": \"one\", \"score\": []}\n{\"text\": \"two\", \"score\": null}"},
          {"marks.csv", kSet, "text,rude,kind\none,-1,-1\ntwo,,\n", "rude,kind"},
          {"tags.csv", kTags, "tokens,tags\none two,\nthree,-1 -1\n"},
          {"tags.jsonl", kTags,
           "{\"tokens\": [\"a\", \"b\"], \"tags\": []}\n{\"tokens\": [\"c\"], \"tags\": null}"},
          {"tags.conll", kTags, "one\tB-LOC\ntwo\t\n\nthree\t-1\n"},
          {"tags.txt", kTags, "one\ntwo O\n\nthree -1\n"},
          {"squad.json", kAnswer, "{\"data\": [{\"paragraphs\": [" + kQuestion + "]}]}"},
          {"answers.jsonl", kAnswer,
           R"({"id": "1", "question": "Where?", "context": "In Rome", "answers": null}
          {"id": "2", "question": "Where?", "context": "In Rome", "answers": "none"})"},
          {"class.tfrecord", kClass,
           records({{{"label_ids", Numbers{0}}, {}}, {{}, {"weight", Reals{}}}})},
          {"number.tfrecord", kClass,
           records({{{"label_ids", Reals{0}}, {}}, {{"label_ids", Numbers{0, 1}}, {}}})},
          {"score.tfrecord", kScore,
           records({{{"label_ids", Reals{}}, {}}, {{"label_ids", Texts{"none"}}, {}}})},
          {"tags.tfrecord", kTags,
           records({{{"label_ids", Numbers{-1}}, {}}, {{"label_ids", Numbers{}}, {}}})},
          {"marks.tfrecord", kSet,
           records({{{"label_ids", Numbers{-1, -1}}, {}}, {{"label_ids", Numbers{2}}, {}}})},
          {"managed.jsonl", kClass,
           R"({"textContent": "one", "classificationAnnotations": [{"name": 1}]}
          {"textContent": "two", "classificationAnnotations": []})"}};
}

class RowsToPredict : public testing::TestWithParam<UnlabelledFile> {
 protected:
  LoadedTable load(LabelNeed need) {
    const UnlabelledFile& file = GetParam();
    std::string content = file.content;
    // Removes the source code's indentation: every JSON line begins in the first column.
    for (size_t at; (at = content.find("\n          ")) != std::string::npos;) {
      content.erase(at + 1, 10);
    }
    write_text(*storage_, Uri::parse(scratch_ / file.name), content);
    return load_table(
        *storage_,
        {.role = "predict",
         .path = scratch_ / file.name,
         .rules = {.task = file.task, .columns = {.label = file.label_column}, .need = need}});
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
};

TEST_P(RowsToPredict, AreReadEvenIfTheirLabelsAreInvalid) {
  const LoadedTable loaded = load(LabelNeed::kIgnored);
  EXPECT_EQ(loaded.table->rows(), 2u);
  EXPECT_FALSE(loaded.table->labelled);
  EXPECT_TRUE(loaded.table->labels.empty());
  EXPECT_EQ(loaded.table->read(1).weight, 1);
}

TEST_P(RowsToPredict, HaveLabelsThatTrainingRefuses) {
  EXPECT_THAT([&] { load(LabelNeed::kRequired); }, ThrowsCode(Code::kBadData, ""));
}

INSTANTIATE_TEST_SUITE_P(Files, RowsToPredict, testing::ValuesIn(unlabelled_files()),
                         [](const auto& given) {
                           std::string name = given.param.name;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace berth
