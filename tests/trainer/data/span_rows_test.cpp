#include "trainer/data/span_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/base/error.h"
#include "storage/formats/row_readers.h"
#include "tests/support/read_rows.h"
#include "tests/support/throws_code.h"
#include "trainer/data/table_loader.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(AnnotatedWords, EndAtBlanksPunctuationAndIdeographs) {
  const AnnotatedWords words = annotated_words(" It's  no-go,\xE4\xB8\xAD\xE6\x96\x87 x\n", "[]");
  EXPECT_THAT(words.words, ElementsAre("It", "'", "s", "no", "-", "go", ",", "\xE4\xB8\xAD",
                                       "\xE6\x96\x87", "x"));
  EXPECT_THAT(words.tags, ElementsAre("O", "O", "O", "O", "O", "O", "O", "O", "O", "O"));
  EXPECT_THAT(annotated_words(" \t", "[]").words, IsEmpty());
}

TEST(AnnotatedWords, AreTaggedByOffsetsInAnyOrder) {
  // The first letter takes two bytes. Offsets count characters and not bytes.
  const AnnotatedWords words =
      annotated_words("\xC5\xBDofia Kov\xC3\xA1\xC4\x8D left New York.",
                      R"([{"startOffset": "17", "endOffset": "25", "displayName": "LOC"},
          {"endOffset": 11, "displayName": "PER"}])");
  EXPECT_THAT(words.words,
              ElementsAre("\xC5\xBDofia", "Kov\xC3\xA1\xC4\x8D", "left", "New", "York", "."));
  EXPECT_THAT(words.tags, ElementsAre("B-PER", "I-PER", "O", "B-LOC", "I-LOC", "O"));
}

TEST(AnnotatedWords, AdjacentSegmentsBeginAnewAndPartsOfAWordAreWords) {
  const AnnotatedWords words =
      annotated_words("aabbcc d", R"([{"startOffset": 2, "endOffset": 4, "displayName": "x"},
                                      {"startOffset": 4, "endOffset": 8, "displayName": "x"}])");
  EXPECT_THAT(words.words, ElementsAre("aa", "bb", "cc", "d"));
  EXPECT_THAT(words.tags, ElementsAre("O", "B-x", "B-x", "I-x"));
}

TEST(AnnotatedWords, MayBeginOrEndWithBlanks) {
  const AnnotatedWords words =
      annotated_words("a  b  c", R"([{"startOffset": 1, "endOffset": 6, "displayName": "x"}])");
  EXPECT_THAT(words.tags, ElementsAre("O", "B-x", "O"));
}

TEST(AnnotatedWords, MalformedAnnotationsAreRefused) {
  const auto refused = [](const std::string& annotations, const char* what) {
    EXPECT_THAT([&] { annotated_words("one two", annotations); }, ThrowsCode(Code::kBadData, what))
        << annotations;
  };
  refused("{}", "not a list");
  refused("[{", "not a list");
  refused("[1]", "without displayName");
  refused(R"([{"endOffset": 3}])", "without displayName");
  refused(R"([{"endOffset": 3, "displayName": 1}])", "without displayName");
  refused(R"([{"displayName": "x"}])", "from 0 to 0 is not a part of a text of 7 characters");
  refused(R"([{"startOffset": 3, "endOffset": 3, "displayName": "x"}])", "is not a part");
  refused(R"([{"startOffset": 3, "endOffset": 8, "displayName": "x"}])", "is not a part");
  refused(R"([{"startOffset": -1, "endOffset": 3, "displayName": "x"}])", "startOffset -1");
  refused(R"([{"startOffset": 0.5, "endOffset": 3, "displayName": "x"}])", "startOffset 0.5");
  refused(R"([{"startOffset": "1x", "endOffset": 3, "displayName": "x"}])", "startOffset");
  refused(R"([{"startOffset": "", "endOffset": 3, "displayName": "x"}])", "startOffset");
  refused(R"([{"startOffset": 3, "endOffset": 4, "displayName": "x"}])", "holds no word");
  refused(R"([{"endOffset": 5, "displayName": "x"},
              {"startOffset": 4, "endOffset": 7, "displayName": "y"}])",
          "\"y\" from 4 to 7 overlaps");
}

// What the loader said of the last file.
std::string last_findings;

// The sentences of a file, each as "word/TAG word/TAG".
std::vector<std::string> read_sentences(std::unique_ptr<RowReader> rows,
                                        const LoadRules& rules = {}) {
  TableLoader loader(rules);
  loader.append_rows(std::move(rows));
  const auto table = loader.finish();
  EXPECT_EQ(loader.task(), Task::kTokenClassification);
  std::vector<std::string> sentences;
  for (uint32_t row = 0; row < table->rows(); ++row) {
    const Example example = table->read(row);
    std::string& sentence = sentences.emplace_back();
    for (size_t i = 0; i < example.texts.size(); ++i) {
      sentence += (i == 0 ? "" : " ") + example.texts[i];
      if (i < example.labels.size()) sentence += "/" + table->labels.name_of(example.labels[i]);
    }
  }
  last_findings.clear();
  for (const Finding& found : loader.findings()) last_findings += found.text + "\n";
  return sentences;
}

std::vector<std::string> read_spans(std::string_view json, const LoadRules& rules = {}) {
  return read_sentences(make_json_reader(source_of(json)), rules);
}

const auto kMara = ElementsAre("Zoë/B-PER lives/O in/O New/B-LOC York/I-LOC ./O", "so/O");

TEST(SpanRows, DoccanosBecomeTags) {
  for (const char* name : {"label", "labels"}) {
    const std::string line = std::string(R"({"text": "Zoë lives in New York.", ")") + name +
                             R"(": [[13, 21, "LOC"], [0, 3, "PER"]]})" + "\n";
    EXPECT_THAT(read_spans(line + R"({"text": "so", ")" + name + "\": []}\n"), kMara);
  }
  EXPECT_THAT(
      read_spans(
          R"([{"text": "Zoë lives in New York.", "entities": [{"id": 1, "label": "PER",  "start_offset": 0, "end_offset": 3}, {"id": 2, "label": "LOC", "start_offset": 13,  "end_offset": 21}]}])"),
      ElementsAre("Zoë/B-PER lives/O in/O New/B-LOC York/I-LOC ./O"));
}

TEST(SpanRows, SpacysAndLabelStudiosBecomeTags) {
  EXPECT_THAT(
      read_spans(R"([{"text": "Zoë lives in New York.", "tokens": [{"text": "Zoë"}], "spans": [
      {"start": 0, "end": 3, "token_start": 0, "label": "PER"}, {"start": 13, "end": 21, "label": "LOC"}]},
      {"text": "so", "tokens": [], "spans": []}])"),
      kMara);
  EXPECT_THAT(read_spans(R"([{"text": "Zoë lives in New York.", "label": [
      {"start": 0, "end": 3, "text": "Zoë", "labels": ["PER"]}, {"start": 13, "end": 21, "labels": ["LOC"]}]},
      {"text": "so"}])"),
              kMara);
  EXPECT_THAT(read_spans(R"([{"id": 1, "data": {"text": "Zoë lives in New York."}, "annotations": [
      {"was_cancelled": true, "result": []},
      {"result": [{"value": {"start": 0, "end": 3, "labels": ["PER"]}, "type": "labels"},
                  {"from_id": "a", "to_id": "b", "type": "relation"},
                  {"value": {"start": 13, "end": 21, "labels": ["LOC"]}, "type": "labels"}]}]},
      {"id": 2, "data": {"text": "so"}, "annotations": [{"result": []}]}])"),
              kMara);
}

// What spaCy 2 is trained with: [[text, {"entities": ...}], ...], or such a pair in each line.
TEST(SpanRows, PairsOfSpacysVersion2BecomeTags) {
  const std::string mara =
      R"(["Zoë lives in New York.", {"entities": [[0, 3, "PER"], [13, 21, "LOC"]]}])";
  const std::string so = R"(["so", {"entities": []}])";
  for (const std::string& json :
       {"[" + mara + ",\n  " + so + "]", mara + "\n" + so + "\n",
        R"({"classes": ["PER", "LOC"], "annotations": [)" + mara + ", null, " + so + "]}"}) {
    EXPECT_THAT(read_spans(json), kMara) << json;
  }
  EXPECT_THAT(read_spans("[" + mara + R"(, ["so", {}]])"), kMara);
}

TEST(SpanRows, RasasBecomeTags) {
  EXPECT_THAT(
      read_spans(
          R"({"text": "Ida sings", "entities": [{"entity": "PER", "value": "ida", "start": 0, "end": 3}]})"),
      ElementsAre("Ida/B-PER sings/O"));
}

// As pipeline() of transformers returns them for tokens.
TEST(SpanRows, SpansOfTokensAreRefused) {
  EXPECT_THAT(
      [] {
        read_spans(
            R"({"text": "Ida sings", "entities": [{"entity": "B-PER", "word": "Ida", "start": 0, "end": 3}]})");
      },
      ThrowsCode(Code::kBadData, "the span \"B-PER\" is a tag of one token"));
}

TEST(SpanRows, AnOddRowIsAnErrorOfItsPlace) {
  const std::string good = "{\"text\": \"Ida sings\", \"label\": [[0, 3, \"PER\"]]}\n";
  const std::string lines =
      good + good + "{\"text\": \"Ida\", \"label\": [[0, \"3\", \"PER\"]]}\n" + good;
  EXPECT_THAT([&] { read_spans(lines); },
              ThrowsCode(Code::kBadData, "line 3: \"[0,\"3\",\"PER\"]\" is no span"));
}

TEST(SpanRows, OverlappingSpansAreRefused) {
  EXPECT_THAT(
      [] { read_spans(R"({"text": "New York", "label": [[0, 8, "LOC"], [4, 8, "ORG"]]})"); },
      ThrowsCode(Code::kBadData, "overlaps the one before it"));
  EXPECT_THAT([] { read_spans(R"({"text": "New York", "label": [[0, 9, "LOC"]]})"); },
              ThrowsCode(Code::kBadData, "is not a part of a text of 8 characters"));
}

TEST(SpanRows, PythonsTextAndNamesInFrontAreRead) {
  for (const char* spans :
       {"[[0, 3, 'PER'], [13, 21, 'LOC']]", "[(0, 3, 'PER'), (13, 21, 'LOC')]",
        "[('PER', 0, 3), ('LOC', 13, 21)]", R"([["PER",0,3],["LOC",13,21]])",
        "[{'start': 0, 'end': 3, 'label': 'PER', 'x': None}, (13, 21, 'LOC')]"}) {
    std::string cell = spans;
    for (size_t at = 0; (at = cell.find('"', at)) != std::string::npos; at += 2)
      cell.insert(at, "\"");
    const std::string csv = "text,label\nZoë lives in New York.,\"" + cell + "\"\nso,[]\n";
    EXPECT_THAT(read_sentences(make_csv_reader(source_of(csv))), kMara) << csv;
  }
}

TEST(SpanRows, GlinersSpansCountWords) {
  EXPECT_THAT(
      read_spans(R"([{"tokenized_text": ["Mara", "Zoll", "so."], "ner": [[0, 1, "PER"]]}])"),
      ElementsAre("Mara/B-PER Zoll/I-PER so./O"));
  EXPECT_THAT([] { read_spans(R"([{"tokenized_text": ["Mara"], "ner": [[0, 1, "PER"]]}])"); },
              ThrowsCode(Code::kBadData, "from 0 to 1 is not a part of 1 word"));
}

std::string task_of(const std::string& annotations) {
  return R"({"data": {"text": "Zoë so"}, "annotations": [)" + annotations + "]}\n";
}

TEST(SpanRows, UnfinishedAnnotationsAreLeftOutAndToldOf) {
  const std::string done =
      R"({"result": [{"value": {"start": 0, "end": 3, "text": "Zoë", "labels": ["PER"]}}]})";
  const std::string cancelled = R"({"was_cancelled": true, "result": []})";
  const std::string other = R"({"result": []})";
  EXPECT_THAT(read_spans(task_of(done) + task_of("") + task_of(cancelled) + task_of(other)),
              ElementsAre("Zoë/B-PER so/O", "Zoë/O so/O"));
  EXPECT_THAT(last_findings,
              testing::HasSubstr("2 rows were left out: no annotator has finished them"));
  EXPECT_THAT([&] { read_spans(task_of(done) + task_of(done + ", " + other)); },
              ThrowsCode(Code::kBadData, "has 2 annotations that differ"));
  EXPECT_THAT(read_spans(task_of(done + ", " + cancelled + ", " + done)),
              ElementsAre("Zoë/B-PER so/O"));
  EXPECT_THAT(
      read_spans(task_of(done + R"(, {"ground_truth": true, "result": []})") + task_of(done)),
      ElementsAre("Zoë/O so/O", "Zoë/B-PER so/O"));
  EXPECT_THAT(read_spans(task_of(done) + task_of(""),
                         {.task = Task::kTokenClassification, .need = LabelNeed::kIgnored}),
              ElementsAre("Zoë so", "Zoë so"));
}

TEST(SpanRows, ProdigysRefusedRowsAreLeftOut) {
  const std::string rows =
      R"({"text": "Zoë so", "spans": [{"start": 0, "end": 3, "label": "PER"}], "answer": "accept"})"
      "\n"
      R"({"text": "no", "spans": [], "answer": "reject"})"
      "\n"
      R"({"text": "eh", "spans": [], "answer": "ignore"})";
  EXPECT_THAT(read_spans(rows), ElementsAre("Zoë/B-PER so/O"));
  EXPECT_THAT(last_findings,
              testing::HasSubstr("2 rows were left out: their column \"answer\" is reject"));
}

TEST(SpanRows, SpansThatCutWordsAreToldOf) {
  EXPECT_THAT(
      read_spans(R"({"text": "Mara Zoll lives.", "label": [[0, 8, "PER"], [10, 15, "X"]]})"),
      ElementsAre("Mara/B-PER Zol/I-PER l/O lives/B-X ./O"));
  EXPECT_THAT(last_findings,
              testing::HasSubstr("1 of 2 spans of column \"label\" begin or end inside a word"));
  read_spans(R"({"text": "(Mara) so", "label": [[1, 5, "PER"]]})");
  EXPECT_THAT(last_findings, testing::Not(testing::HasSubstr("inside a word")));
}

TEST(SpanRows, ASpansTextDecides) {
  const auto read = [](const std::string& span) {
    return read_spans(R"({"text": "😀 Zoë so", "label": [)" + span + "]}");
  };
  EXPECT_THAT(read(R"({"start": 2, "end": 5, "text": "Zoë", "labels": ["PER"]})"),
              ElementsAre("😀/O Zoë/B-PER so/O"));
  EXPECT_THAT([&] { read(R"({"start": 3, "end": 6, "text": "Zoë", "labels": ["PER"]})"); },
              ThrowsCode(Code::kBadData, "these count units of UTF-16"));
  EXPECT_THAT([&] { read(R"({"start": 5, "end": 9, "text": "Zoë", "labels": ["PER"]})"); },
              ThrowsCode(Code::kBadData, "these count bytes of UTF-8"));
  EXPECT_THAT([&] { read(R"({"start": 2, "end": 4, "text": "Zoë", "labels": ["PER"]})"); },
              ThrowsCode(Code::kBadData, "this end is the last one"));
}

TEST(SpanRows, RowsToEvaluateMayHaveNoSpans) {
  const std::string rows = R"({"text": "Zoë so.", "label": []})";
  EXPECT_THAT(read_spans(rows, {.task = Task::kTokenClassification}),
              ElementsAre("Zoë/O so/O ./O"));
}

TEST(SpanRows, LabelsBesideSpansAreRefusedUnlessTheTaskIsNamed) {
  constexpr const char* kBoth = R"({"text": "mara", "entities": [[0, 4, "PER"]], "label": 1})";
  EXPECT_THAT([&] { read_spans(kBoth); },
              ThrowsCode(Code::kBadData, "has spans of characters, and"));
  EXPECT_THAT(read_spans(kBoth, {.task = Task::kTokenClassification}), ElementsAre("mara/B-PER"));
  EXPECT_THAT(read_spans(R"({"text": "mara", "entities": [[0, 4, "PER"]], "label": null})"),
              ElementsAre("mara/B-PER"));
}

TEST(SpanRows, ClassesOfTextsAreRefusedWithAWayToConvertThem) {
  EXPECT_THAT(
      [] {
        read_spans(
            R"({"data": {"text": "a"}, "annotations": [{"result": [{"value": {"choices": ["x"]}}]}]})");
      },
      ThrowsCode(Code::kBadData, "Label Studio's choices"));
  EXPECT_THAT([] { read_spans(R"({"text": "a", "cats": {"x": 1.0, "y": 0.0}})"); },
              ThrowsCode(Code::kBadData, "spaCy's \"cats\""));
}

}  // namespace
}  // namespace berth
