#include "trainer/data/label_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/read_label_rows.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(MissingLabels, OfCsvAreThoseOfPandas) {
  for (const char* missing : {"NA", "None", "null", "N/A", "nan"}) {
    const auto cells = label_cells({"a", missing, "b"});
    EXPECT_THAT([&] { read_label_rows(cells); },
                ThrowsCode(Code::kBadData, "row 1: label \"labels\" is missing"));
    EXPECT_THAT(read_label_rows(cells, {.known_labels = {"a", missing, "b"}}).sets[1],
                ElementsAre(missing));
    const ReadLabels sets = read_label_rows(label_cells({"['a','b']", missing, "['a']"}));
    EXPECT_THAT(sets.sets, ElementsAre(ElementsAre("a", "b"), IsEmpty(), ElementsAre("a")));
    EXPECT_THAT(sets.says, HasSubstr("warning: 1 row whose label means a missing value"));
    EXPECT_THAT(
        [&] {
          read_label_rows(label_cells({"a|b", "b|" + std::string(missing)}));
        },
        ThrowsCode(Code::kBadData, "which means a missing value"));
  }
  EXPECT_THAT(read_label_rows(label_cells({"a", "NA", "None"}), {}, true).names,
              ElementsAre("NA", "None", "a"));
}

TEST(Texts, OfFilesWithTypesKeepTheirZeros) {
  const auto cells = label_cells({"007", "7", "12"});
  EXPECT_THAT(read_label_rows(cells, {}, true).names,
              testing::UnorderedElementsAre("007", "7", "12"));
  EXPECT_THAT(read_label_rows(label_cells({"0101", "0011"}), {}, true).names,
              ElementsAre("0011", "0101"));
  const ReadLabels csv = read_label_rows(cells);
  EXPECT_THAT(csv.names, ElementsAre("7", "12"));
  EXPECT_THAT(csv.says, HasSubstr("warning: labels such as \"007\" are read as numbers"));
}

TEST(ClassLists, HoldOneClassOrAreRefused) {
  const LoadRules classes{.task = Task::kSequenceClassification};
  for (const auto& cells :
       {label_cells({R"(["a"])", R"(["b"])"}), label_cells({"['a']", "['b']"})}) {
    const ReadLabels labels = read_label_rows(cells, classes);
    EXPECT_THAT(labels.names, ElementsAre("a", "b"));
    EXPECT_EQ(labels.rules, "lists of one label;");
  }
  const ReadLabels hot = read_label_rows(label_cells({"[0, 0, 1]", "[1, 0, 0]"}), classes);
  EXPECT_THAT(hot.sets, ElementsAre(ElementsAre("2"), ElementsAre("0")));
  EXPECT_EQ(hot.rules, "one-hot lists;");
  EXPECT_THAT(
      [&] {
        read_label_rows(label_cells({"['a']", "['a', 'b']"}), classes);
      },
      ThrowsCode(Code::kBadData, "row 1: label \"['a', 'b']\" is a list of 2"));
  EXPECT_THAT(read_label_rows(label_cells({"[PAD]", "[UNK]"}), classes).names,
              ElementsAre("[PAD]", "[UNK]"));
}

// SNLI's gold_label, and the label of Hugging Face's version.
TEST(PairsWithoutAClass, AreLeftOut) {
  const std::vector<Column> pairs = {{"premise", {}}, {"label", {}}, {"hypothesis", {}}};
  const ReadLabels snli =
      read_label_rows(label_cells({"neutral", "-", "entailment"}), {}, false, pairs);
  EXPECT_THAT(snli.names, ElementsAre("entailment", "neutral"));
  EXPECT_EQ(snli.sets.size(), 2u);
  EXPECT_THAT(snli.says, HasSubstr("warning: left out 1 row whose label is '-' or -1"));
  const std::vector<Cell> numbers = {int64_t{2}, int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{-1}};
  EXPECT_THAT(read_label_rows(numbers, {}, true, pairs).names, ElementsAre("0", "1", "2"));
  const std::vector<Cell> stances = {int64_t{0}, int64_t{-1}, int64_t{1}};
  const ReadLabels scale = read_label_rows(stances, {}, true, pairs);
  EXPECT_THAT(scale.names, ElementsAre("-1", "0", "1"));
  EXPECT_THAT(scale.says, HasSubstr("warning: the label -1 is a class"));
  EXPECT_THAT(read_label_rows(numbers, {}, true).names, ElementsAre("-1", "0", "1", "2"));
  EXPECT_THAT(read_label_rows(label_cells({"x", "-", "y"})).names, ElementsAre("-", "x", "y"));
  // A mark among marks is a class.
  EXPECT_THAT(read_label_rows(label_cells({"+", "-", "0"}), {}, false, pairs).names,
              ElementsAre("+", "-", "0"));
}

TEST(ColumnsOfMarks, HoldWordsOrNothingForZero) {
  const std::vector<Column> columns = {{"text", {}}, {"toxic", {}}, {"rude", {}}};
  const auto read = [&](const std::vector<Row>& rows) {
    TableLoader loader(LoadRules{.columns = {.label = "toxic,rude"}});
    loader.append_rows(std::make_unique<RowsInMemory>(columns, rows));
    const auto table = loader.finish();
    std::vector<size_t> counts;
    for (uint32_t row = 0; row < table->rows(); ++row) {
      counts.push_back(table->read(row).labels.size());
    }
    EXPECT_THAT(loader.findings(), testing::SizeIs(1));
    return counts;
  };
  EXPECT_THAT(read({{"t", "True", "False"}, {"t", "True", "True"}}), ElementsAre(1, 2));
  EXPECT_THAT(read({{"t", "yes", "yes"}, {"t", "no", "no"}}), ElementsAre(2, 0));
  EXPECT_THAT(read({{"t", "1", "1"}, {"t", "NaN", Cell()}}), ElementsAre(2, 0));
  TableLoader crosses(LoadRules{.columns = {.label = "toxic,rude"}});
  crosses.append_rows(std::make_unique<RowsInMemory>(
      columns, std::vector<Row>{{"t", "x", Cell()}, {"t", "x", "x"}}));
  EXPECT_EQ(crosses.finish()->read(1).labels.size(), 2u);
  EXPECT_THAT(
      [&] {
        read({{"t", "1", "0"}, {"t", Cell(), "1"}});
      },
      ThrowsCode(Code::kBadData, "row 1: column \"toxic\" holds neither 0 nor 1"));
}

TEST(ColumnsOfMarks, WithoutAMarkAreLabels) {
  const std::vector<Column> columns = {{"text", {}}, {"toxic", {}}, {"rude", {}}};
  TableLoader loader(LoadRules{.columns = {.label = "toxic,rude"}});
  loader.append_rows(
      std::make_unique<RowsInMemory>(columns, std::vector<Row>{{"t", "1", "0"}, {"t", "0", "0"}}));
  EXPECT_THAT(loader.finish()->labels.names(), ElementsAre("toxic", "rude"));
  ASSERT_EQ(loader.findings().size(), 1u);
  EXPECT_EQ(loader.findings()[0].rule, "classes without rows");
  EXPECT_THAT(loader.findings()[0].text, HasSubstr("1 class without a row: \"rude\""));
}

Column nested_column(const char* name) {
  Column column{name, {}};
  column.is_nested = true;
  return column;
}

TEST(NestedTexts, AreJoinedWhereTheyAreWordsAndElseRefused) {
  const auto read = [](const Column& column, const char* cell) {
    TableLoader loader(LoadRules{.task = Task::kSequenceClassification});
    loader.append_rows(std::make_unique<RowsInMemory>(std::vector<Column>{column, {"label", {}}},
                                                      std::vector<Row>{{cell, "a"}}, true));
    return loader.finish()->read(0).texts[0];
  };
  EXPECT_EQ(read(nested_column("tokens"), R"(["the","good"])"), "the good");
  EXPECT_THAT([&] { read(nested_column("text"), R"(["the","good"])"); },
              ThrowsCode(Code::kBadData, "column \"text\" holds lists, not texts"));
  EXPECT_THAT(
      [&] { read(nested_column("data"), R"({"text":"a","id":1})"); },
      ThrowsCode(Code::kBadData, "column \"data\" holds objects with the fields \"id\", \"text\""));
  EXPECT_THAT([&] { read(nested_column("messages"), R"([{"role":"user"}])"); },
              ThrowsCode(Code::kBadData, "lists of objects with the fields \"role\""));
  EXPECT_EQ(read({"text", {}}, R"(["the","good"])"), R"(["the","good"])");
}

TEST(ListsOfLabels, OfObjectsAreRefused) {
  const std::vector<Column> columns = {{"text", {}}, nested_column("label")};
  for (const char* cell : {R"({"id":1})", R"([{"id":1}])", R"([{"id":1,"x":2},{"id":2}])"}) {
    EXPECT_THAT([&] { read_label_rows({cell}, {}, true, columns); },
                ThrowsCode(Code::kBadData, "column \"label\""))
        << cell;
  }
}

TEST(ListsOfLabels, ThatNumPyShortenedAreRefused) {
  const auto cells = label_cells({"[0 1 0 ... 0 0 1]", "[1 0 0 ... 0 0 1]"});
  for (const LoadRules& rules :
       {LoadRules{}, LoadRules{.task = Task::kMultiLabel},
        LoadRules{.task = Task::kMultiLabel, .labels = {.lists = LabelLists::kNames}}}) {
    EXPECT_THAT([&] { read_label_rows(cells, rules); },
                ThrowsCode(Code::kBadData, "was shortened as NumPy shows long arrays"));
  }
}

TEST(ListsOfLabels, ThatLackAMemberSayWhich) {
  EXPECT_THAT([] { read_label_rows(label_cells({R"(["a",null])"})); },
              ThrowsCode(Code::kBadData, "column \"labels\": number 2 of 2 members is missing"));
}

TEST(NamesOfLabels, ThatAreRatherOneBringAWarning) {
  const std::vector<std::vector<std::string>> alike = {
      {"Yes", "yes", "no"},       {"pos\xC2\xA0x", "pos x"},
      {"pos\xE2\x80\x8B", "pos"}, {"caf\xC3\xA9", "cafe\xCC\x81"},
      {"\xEF\xBC\x91", "1", "2"}, {"True", "FALSE", "true"},
      {"very_good", "very good"}, {"\xE2\x9D\xA4", "\xE2\x9D\xA4\xEF\xB8\x8F"},
      {"R&amp;D", "R&D"},         {"positive.", "positive"}};
  for (const std::vector<std::string>& names : alike) {
    EXPECT_THAT(read_label_rows(label_cells(names)).says, HasSubstr("differ only in case"))
        << names[0];
  }
  EXPECT_EQ(read_label_rows(label_cells({"yes", "no"})).says, "");
  EXPECT_EQ(read_label_rows(label_cells({"+", "-"})).says, "");
  EXPECT_EQ(read_label_rows(label_cells({"A-", "A", "B_"})).says, "");
}

TEST(NamesOfLabels, OfLettersThatLookAlikeOrOfJsonBringAWarning) {
  EXPECT_THAT(read_label_rows(label_cells({"p\xD0\xBEsitive", "positive"})).says,
              HasSubstr("has Latin letters beside Greek or Cyrillic ones"));
  EXPECT_EQ(read_label_rows(label_cells({"\xD0\xB4\xD0\xB0 yes", "TNF\xCE\xB1"})).says, "");
  EXPECT_THAT(read_label_rows(label_cells({R"([{"rating": 1}])", R"([{"rating": 2}])"})).says,
              HasSubstr("is JSON or a dict"));
}

TEST(NamesOfLabels, AndNumbersBringAWarning) {
  for (const auto& cells : {label_cells({"yes", "1", "no", "0"}), label_cells({"sport", "1"})}) {
    EXPECT_THAT(read_label_rows(cells).says, HasSubstr("some labels are numbers, such as"));
  }
  EXPECT_EQ(read_label_rows(label_cells({"v1", "a2"})).says, "");
  EXPECT_THAT(read_label_rows(label_cells({"4/5", "1/5", "4/5"})).says,
              HasSubstr("--task regression learns numbers, written as 0.8"));
}

TEST(NamesOfLabels, ThatAreRatherNoneBringAWarning) {
  EXPECT_THAT(read_label_rows(label_cells({"a", "?", "b"})).says,
              HasSubstr("the label \"?\" has no letter or digit"));
  EXPECT_THAT(read_label_rows(label_cells({"\"0\"", "\"1\""})).says,
              HasSubstr("quotes are a part of each label"));
}

}  // namespace
}  // namespace berth
