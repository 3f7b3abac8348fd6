// Details of the tables in pickles that the files recorded from pandas do not cover.
#include <gmock/gmock.h>

#include "tests/support/pickle_text.h"
#include "tests/support/read_rows.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using namespace pickled;
using testing::ElementsAre;
using testing::StartsWith;

std::vector<Row> cells_of(const std::string& values) { return read_rows(*read(column(values))); }

std::string objects(const std::string& items, int64_t count) {
  return array(tuple(number(1), number(count)), dtype("O8", "|"), list(items));
}

TEST(PickleTable, TwoColumnsOfOneNameAreBadData) {
  EXPECT_THAT(
      [] {
        read(frame(index_of(list(unicode("text"), unicode("text"))),
                   block(array(tuple(number(2), number(1)), dtype("i1", "|"), bytes("12")),
                         slice(0, 2, 1))));
      },
      ThrowsCode(Code::kBadData, "two columns are named \"text\""));
}

TEST(PickleTable, BytesBehindThePickleAreNamed) {
  const std::string pickle = "\x80\x04" + column(objects(unicode("x"), 1)) + ".";
  const auto found_in = [](const std::string& file) {
    return read_pickle(as_bytes(file))->findings();
  };
  EXPECT_TRUE(found_in(pickle).empty());
  EXPECT_TRUE(found_in(pickle + std::string(5, '\0')).empty());
  const auto found = found_in(pickle + pickle);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].is_warning);
  EXPECT_THAT(found[0].text, testing::HasSubstr("stand after the end of the pickle"));
}

TEST(PickleTable, NamedLevelsOfTheIndexAreColumnsAsInParquet) {
  const auto index = [](const std::string& cls, const std::string& fields) {
    return reduce(global("pandas.core.indexes.base", "_new_Index"), tuple(cls, fields));
  };
  const std::string values = array(tuple(number(1), number(2)), dtype("i1", "|"), bytes("\1\2"));
  const auto table = [&](const std::string& rows) {
    return build(
        global("pandas.core.frame", "DataFrame") + ")\x81",
        dict(unicode("_mgr"), reduce(global("pandas.core.internals.managers", "BlockManager"),
                                     tuple(tuple(block(values, slice(0, 1, 1))),
                                           list(index_of(list(unicode("c"))), rows)))));
  };
  const auto plain = read(table(index(
      global("pandas.core.indexes.base", "Index"),
      dict(unicode("data"), list(unicode("x"), unicode("y")), unicode("name"), unicode("split")))));
  EXPECT_THAT(column_names(*plain), ElementsAre("c", "split"));
  EXPECT_THAT(read_rows(*plain), ElementsAre(ElementsAre(Cell(int64_t{1}), Cell("x")),
                                             ElementsAre(Cell(int64_t{2}), Cell("y"))));
  EXPECT_TRUE(plain->findings().empty());
  const std::vector<size_t> both = {0, 1};
  plain->select(both);
  EXPECT_EQ(plain->findings().at(0).rule, "named index of pandas");

  const std::string codes =
      array(tuple(number(2)), dtype("i1", "|"), bytes(std::string("\1\0", 2)));
  const auto levels = [&](const std::string& names) {
    return table(index(
        global("pandas.core.indexes.multi", "MultiIndex"),
        dict(unicode("levels"),
             list(index_of(list(unicode("test"), unicode("train"))), index_of(list(unicode("z")))),
             unicode("codes"),
             list(codes, array(tuple(number(2)), dtype("i1", "|"), bytes(std::string(2, 0)))),
             unicode("sortorder"), "N", unicode("names"), names)));
  };
  const auto several = read(levels(list(unicode("split"), "N")));
  EXPECT_THAT(column_names(*several), ElementsAre("c", "split"));
  EXPECT_THAT(read_rows(*several), ElementsAre(ElementsAre(Cell(int64_t{1}), Cell("train")),
                                               ElementsAre(Cell(int64_t{2}), Cell("test"))));
  EXPECT_THAT(column_names(*read(levels(list(unicode("c"), unicode("b"))))), ElementsAre("c", "b"))
      << "a column of the table outranks a level of its name";
}

TEST(PickleTable, AnythingElseOnTopIsBadDataThatSaysWhat) {
  for (const auto& top :
       {std::pair(number(7), "an int"), std::pair(std::string("]"), "a list of 0"),
        std::pair(std::string("}"), "a dict of 0"), std::pair(unicode("x"), "a str"),
        std::pair(std::string("N"), "None"), std::pair(dtype("i8"), "a numpy.dtype")}) {
    const std::string& opcodes = top.first;
    EXPECT_THAT(
        [&] { read(opcodes); },
        ThrowsCode(Code::kBadData, std::string("holds ") + top.second +
                                       ", not a table; a pandas DataFrame or Series, a list of "
                                       "dicts, or a dict of lists is expected"));
  }
}

TEST(PickleTable, PlacementSlicesStepAndOvershootAsPythonsDo) {
  const std::string two = array(tuple(number(2), number(1)), dtype("i1", "|"), bytes("\1\2"));
  const std::string one = array(tuple(number(1), number(1)), dtype("i1", "|"), bytes("\3"));
  for (const auto& [of_two, of_one] : {std::pair(slice(0, 100, 2), slice(1, 2, 1)),
                                       std::pair(slice(2, -4, -2), slice(-2, -1, 1))}) {
    const auto rows =
        read_rows(*read(frame(range_index(0, 3, 1), block(two, of_two) + block(one, of_one))));
    EXPECT_THAT(rows.at(0), testing::UnorderedElementsAre(Cell(int64_t{1}), Cell(int64_t{2}),
                                                          Cell(int64_t{3})));
    EXPECT_EQ(rows[0][1], Cell(int64_t{3}));
  }
}

TEST(PickleTable, InfinityIsANumberAndNanIsMissing) {
  EXPECT_THAT(cells_of(objects("Finf\nF-inf\nFnan\n", 3)),
              ElementsAre(ElementsAre(Cell(INFINITY)), ElementsAre(Cell(-INFINITY)),
                          ElementsAre(kMissing)));
}

TEST(PickleTable, FixedWidthTextLosesItsPadding) {
  const auto shape = tuple(number(1), number(2));
  EXPECT_THAT(cells_of(array(shape, dtype("S3", "|"), bytes({"ab\0abc", 6}))),
              ElementsAre(ElementsAre(text("ab")), ElementsAre(text("abc"))));
  EXPECT_THAT(cells_of(array(shape, dtype("U1", ">"), bytes({"\0\0\x20\xAC\0\0\0\0", 8}))),
              ElementsAre(ElementsAre(text("\xE2\x82\xAC")), ElementsAre(text(""))));
}

// NumPy's dtype U0, which arrays of nothing but empty texts may have.
TEST(PickleTable, TextsOfLengthZeroAreEmpty) {
  const auto texts = [](int64_t count) {
    return array(tuple(number(count)), dtype("U0"), bytes(""));
  };
  EXPECT_THAT(cells_of(array(tuple(number(1), number(2)), dtype("U0"), bytes(""))),
              ElementsAre(ElementsAre(text("")), ElementsAre(text(""))));
  EXPECT_THAT(cells_of(objects(
                  texts(2) + texts(0) + array(tuple(number(1)), dtype("S0", "|"), bytes("")), 3)),
              ElementsAre(ElementsAre(text(R"(["",""])")), ElementsAre(text("[]")),
                          ElementsAre(text(R"([""])"))));
  // They have no bytes, so a small file could claim any number of them.
  EXPECT_THAT([&] { cells_of(objects(texts(100'001), 1)); },
              ThrowsCode(Code::kBadData, "an array of too many empty texts"));
}

TEST(PickleTable, OldBytesAreUtf8IfValidAndElseLatin1) {
  EXPECT_THAT(cells_of(objects("U\2\xC3\xA9U\1\xE9", 2)),
              ElementsAre(ElementsAre(text("\xC3\xA9")), ElementsAre(text("\xC3\xA9"))));
}

TEST(PickleTable, TextThatIsNotUtf8IsBadDataWithItsPlace) {
  const auto reader = read(column(objects(unicode("a") + unicode("b\xED\xA0\x80"), 2)));
  EXPECT_THAT([&] { read_rows(*reader); },
              ThrowsCode(Code::kBadData, "row 1: column \"c\": byte 2 of the text is not UTF-8"));
}

TEST(PickleTable, AFrameWithoutTextOrNumbersIsBadData) {
  const std::string dates =
      build(global("pandas.core.arrays.datetimes", "DatetimeArray") + ")\x81", dict());
  EXPECT_THAT([&] { read(column(dates)); },
              ThrowsCode(Code::kBadData, "has no column of text or numbers"));
}

TEST(PickleTable, ColumnsOfTimestampsSayThatTheyAreUnreadable) {
  const auto eight = bytes({"\0\0\0\0\0\0\0\1", 8});
  const auto one = tuple(number(1), number(1));
  const std::string dates =
      build(global("pandas.core.arrays.datetimes", "DatetimeArray") + ")\x81", dict());
  const auto reader = read(frame(index_of(list(unicode("old"), unicode("new"), unicode("n"))),
                                 block(array(one, dtype("M8"), eight), slice(0, 1, 1)) +
                                     block(dates, slice(1, 2, 1)) +
                                     block(array(one, dtype("i8"), eight), slice(2, 3, 1))));
  std::vector<std::string> unreadable;
  for (const Column& column : reader->columns()) unreadable.push_back(column.unreadable);
  EXPECT_THAT(unreadable, ElementsAre(StartsWith("timestamps"), StartsWith("timestamps"), ""));
}

TEST(PickleTable, ListsAndDictsOfThemAreJsonText) {
  const std::string words = list(unicode("a"), "N", number(1));
  const std::string numbers = array(tuple(number(2)), dtype("i1", "|"), bytes("\1\2"));
  EXPECT_THAT(
      cells_of(objects(words + tuple(unicode("b")) + numbers + "]" + "\x8f", 5)),
      ElementsAre(ElementsAre(text(R"(["a",null,1])")), ElementsAre(text(R"(["b"])")),
                  ElementsAre(text("[1,2]")), ElementsAre(text("[]")), ElementsAre(text("[]"))));
  EXPECT_THAT(
      cells_of(objects(dict(unicode("text"), list(unicode("a")), unicode("n"), number(2)), 1)),
      ElementsAre(ElementsAre(text(R"({"n":2,"text":["a"]})"))));
  const auto reader = read(list(dict(unicode("tokens"), list(unicode("a")))));
  EXPECT_THAT(read_rows(*reader), ElementsAre(ElementsAre(text(R"(["a"])"))));
}

TEST(PickleTable, ListsAndDictsInsideOthersAreKept) {
  EXPECT_THAT(cells_of(objects(list(list(unicode("a")), "]", "N"), 1)),
              ElementsAre(ElementsAre(text(R"([["a"],[],null])"))));
  EXPECT_THAT(cells_of(objects(list(unicode("a"), list(unicode("b"), unicode("c"))), 1)),
              ElementsAre(ElementsAre(text(R"(["a",["b","c"]])"))));
  const std::string entity = dict(unicode("span"), tuple(number(1), number(2)));
  EXPECT_THAT(cells_of(objects(dict(unicode("entities"), list(entity, entity)), 1)),
              ElementsAre(ElementsAre(text(R"({"entities":[{"span":[1,2]},{"span":[1,2]}]})"))));
}

TEST(PickleTable, ColumnsOfObjectsThatAreNoCellsSayThatTheyAreUnreadable) {
  const auto unreadable = [](const std::string& cells, int count) {
    const auto reader = read(column(objects(cells, count)));
    return reader->columns()[0].unreadable;
  };
  const std::string date = global("datetime", "date") + bytes("\7\xE3\1\1") + "\x85R";
  EXPECT_EQ(unreadable(unicode("a") + date, 2), "dates or times");
  EXPECT_EQ(unreadable(global("datetime", "date"), 1), "objects such as datetime.date itself");
  const std::string nat = global("pandas._libs.tslibs.nattype", "_nat_unpickle") + "N" + "\x85R";
  EXPECT_EQ(unreadable(unicode("a") + "N" + nat + global("pandas", "NaT"), 4), "");
  EXPECT_EQ(read(list(dict(unicode("day"), date)))->columns()[0].unreadable, "dates or times");
  const std::string zone = global("pytz", "_UTC") + ")R";
  EXPECT_EQ(unreadable(zone, 1), "objects such as a pytz._UTC");
}

TEST(PickleTable, AListThatNamesOneTextOverAndOverIsBadData) {
  const std::string once = unicode(std::string(1 << 16, 'x')) + "q\x50";
  std::string items = once;
  for (int i = 0; i < 2000; ++i) items += "h\x50";
  EXPECT_THAT([&] { cells_of(objects(list(items), 1)); },
              ThrowsCode(Code::kBadData, "a list of more than 64.0 MiB"));
}

TEST(PickleTable, AListOfDictsIsATable) {
  const auto reader = read(list(dict(unicode("text"), unicode("a"), unicode("label"), number(1)),
                                dict(unicode("label"), number(2), unicode("more"), "N")));
  EXPECT_THAT(column_names(*reader), ElementsAre("text", "label"));
  EXPECT_THAT(read_rows(*reader), ElementsAre(ElementsAre(text("a"), Cell(int64_t{1})),
                                              ElementsAre(kMissing, Cell(int64_t{2}))));
}

TEST(PickleTable, ADictOfListsIsATable) {
  const auto reader = read(
      dict(unicode("text"), list(unicode("a"), "N"), unicode("label"), list(number(1), number(2))));
  EXPECT_THAT(column_names(*reader), ElementsAre("text", "label"));
  EXPECT_THAT(read_rows(*reader), ElementsAre(ElementsAre(text("a"), Cell(int64_t{1})),
                                              ElementsAre(kMissing, Cell(int64_t{2}))));
}

TEST(PickleTable, ADictOfArraysIsATable) {
  const auto reader =
      read(dict(unicode("text"), array(tuple(number(2)), dtype("S1", "|"), bytes("ab")),
                unicode("label"), array(tuple(number(2)), dtype("i1", "|"), bytes("\1\2"))));
  EXPECT_THAT(read_rows(*reader), ElementsAre(ElementsAre(text("a"), Cell(int64_t{1})),
                                              ElementsAre(text("b"), Cell(int64_t{2}))));
  EXPECT_THAT(
      [] {
        read(dict(unicode("a"),
                  array(tuple(number(1), number(2)), dtype("i1", "|"), bytes("\1\2"))));
      },
      ThrowsCode(Code::kBadData, "an array of 2 dimensions, not 1"));
}

TEST(PickleTable, RefusesADictOfTables) {
  const std::string rows = list(dict(unicode("text"), unicode("a")));
  EXPECT_THAT([&] { read(dict(unicode("train"), rows, unicode("test"), rows)); },
              ThrowsCode(Code::kBadData, "is a dict of tables: \"train\", \"test\""));
}

TEST(PickleTable, ListsOfUnlikeLengthAreBadData) {
  EXPECT_THAT(
      [] { read(dict(unicode("a"), list("N"), unicode("b"), list())); },
      ThrowsCode(Code::kBadData, "whose \"b\" holds 0 values, but the lists before it hold 1"));
}

}  // namespace
}  // namespace berth
