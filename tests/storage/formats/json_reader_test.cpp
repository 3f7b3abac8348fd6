#include "storage/formats/json_reader.h"

#include <gmock/gmock.h>

#include <string>

#include "storage/formats/row_readers.h"
#include "tests/support/read_rows.h"
#include "tests/support/throws_code.h"
#include "tests/support/trickling_source.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> members_of(const std::string& text) {
  std::vector<std::string> found;
  const JsonMembers members = find_members(text, 0);
  for (const uint32_t begin : members.begins) {
    const JsonMember member = member_at(text, begin, members.is_object);
    found.push_back(std::string(member.key) + "=" + std::string(member.value));
  }
  return found;
}

TEST(JsonMembers, AreFoundWithoutBlanks) {
  EXPECT_THAT(members_of(R"({ "a\"}" : [1, {"b": "]"}] ,"c":-1.5e3, "d" :null})"),
              ElementsAre(R"("a\"}"=[1, {"b": "]"}])", R"("c"=-1.5e3)", R"("d"=null)"));
  EXPECT_THAT(members_of("[1 ,\n\"a,b\", {}, NaN]"), ElementsAre("=1", R"(="a,b")", "={}", "=NaN"));
  EXPECT_THAT(members_of("{}"), IsEmpty());
  EXPECT_THAT(members_of("[ ]"), IsEmpty());
}

TEST(JsonMembers, OfDamagedTextsAreRefused) {
  for (const char* text : {"[1", "[1,", "[1,]", "[,1]", "[1 2]", "[\"a", "[{]", "{\"a\"}",
                           "{\"a\":}", "{\"a\": 1,}", "{a: 1}", "{1: 1}", "{\"a\" 1}", "[", "{"}) {
    EXPECT_THAT([&] { members_of(text); }, ThrowsCode(Code::kBadData, "is not valid JSON at byte"))
        << text;
  }
}

TEST(JsonMembers, EveryBeginningOfATextIsRefused) {
  const std::string text = R"({"a": [1, {"b": "x\"y"}], "c": {"d": null}, "e": "f"})";
  for (size_t size = 1; size < text.size(); ++size) {
    EXPECT_THAT([&] { members_of(text.substr(0, size)); }, ThrowsCode(Code::kBadData, "byte"));
  }
  for (size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    if (flipped[0] != '{' && flipped[0] != '[') continue;
    try {
      members_of(flipped);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kBadData);
    }
  }
}

const Cell kOne{int64_t{1}}, kTwo{int64_t{2}};

// Expects the table that all texts of this file hold: the columns a and b with the rows x, 1 and y,
// 2.
void expect_table(std::string_view json) {
  const auto reader = make_json_reader(source_of(json));
  EXPECT_THAT(column_names(*reader), ElementsAre("a", "b")) << json;
  EXPECT_THAT(read_rows(*reader),
              ElementsAre(ElementsAre(text("x"), kOne), ElementsAre(text("y"), kTwo)))
      << json;
}

TEST(JsonReader, ReadsLines) { expect_table("{\"a\":\"x\",\"b\":1}\n{\"a\":\"y\",\"b\":2}\n"); }

TEST(JsonReader, ReadsEveryOrientOfPandas) {
  expect_table(R"([{"a":"x","b":1},{"a":"y","b":2}])");                             // records
  expect_table(R"({"a":{"0":"x","1":"y"},"b":{"0":1,"1":2}})");                     // columns
  expect_table(R"({"0":{"a":"x","b":1},"1":{"a":"y","b":2}})");                     // index
  expect_table(R"({"columns":["a","b"],"index":[0,1],"data":[["x",1],["y",2]]})");  // split
  expect_table(
      R"({"schema":{"fields":[{"name":"a"}]},"data":[{"a":"x","b":1},{"a":"y","b":2}]})");  // table
}

TEST(JsonReader, ReadsRowsUnderNames) {
  const auto reader = make_json_reader(
      source_of(R"({"k":{"a":"x","b":1},"l":{"a":"y","b":2},"m":{"a":"z","b":1}})"));
  EXPECT_THAT(column_names(*reader), ElementsAre("a", "b"));
  EXPECT_THAT(read_rows(*reader),
              ElementsAre(ElementsAre(text("x"), kOne), ElementsAre(text("y"), kTwo),
                          ElementsAre(text("z"), kOne)));
}

// An index of names may be shorter than the row of columns, and longer in an object of rows.
TEST(JsonReader, TellsRowsUnderNamesFromColumnsByTheirNames) {
  const auto columns = make_json_reader(
      source_of(R"({"text":{"k":"x","l":"y"},"label":{"k":1,"l":2},"more":{"k":1,"l":1}})"));
  EXPECT_THAT(column_names(*columns), ElementsAre("text", "label", "more"));
  EXPECT_THAT(read_rows(*columns),
              ElementsAre(ElementsAre(text("x"), kOne, kOne), ElementsAre(text("y"), kTwo, kOne)));
  const auto rows = make_json_reader(source_of(R"({"k":{"text":"x","label":1,"more":2}})"));
  EXPECT_THAT(column_names(*rows), ElementsAre("text", "label", "more"));
}

TEST(JsonReader, ReadsAnObjectOfLists) { expect_table(R"({"a":["x","y"],"b":[1,2]})"); }

TEST(JsonReader, ReadsTheOneArrayOfRowsInAnObject) {
  expect_table(R"({"rows": [ {"a":"x","b":1},{"a":"y","b":2}]})");
}

TEST(JsonReader, ReadsTheOneArrayOfRowsBesideOtherMembers) {
  for (const char* json :
       {R"({"results":[{"text":"x","b":1},{"text":"y","b":2}],"count":2})",
        "{\n \"count\": 2,\n \"meta\": {\"a\": []},\n"
        " \"rows\": [{\"text\": \"x\", \"b\": 1}, {\"text\": \"y\", \"b\": 2}]\n}"}) {
    const auto reader = make_json_reader(source_of(json));
    EXPECT_THAT(column_names(*reader), ElementsAre("text", "b")) << json;
    EXPECT_EQ(read_rows(*reader).size(), 2u) << json;
  }
  // A row that has a list of objects.
  const auto row = make_json_reader(source_of(R"({"text":"x","entities":[{"label":"y"}]})"));
  EXPECT_THAT(column_names(*row), ElementsAre("text", "entities"));
}

TEST(JsonReader, OneObjectThatIsNoTableIsNamed) {
  EXPECT_THAT([] { make_json_reader(source_of("{\n \"a\": 1,\n \"b\": [2]\n}\n")); },
              ThrowsCode(Code::kBadData, "is one JSON object, and no table"));
}

TEST(JsonReader, RefusesSeveralTablesInOneObject) {
  EXPECT_THAT([] { make_json_reader(source_of(R"({"train":[{"a":"x"}],"test":[ {"a":"y"}]})")); },
              ThrowsCode(Code::kBadData, "holds 2 tables: \"train\", \"test\""));
}

TEST(JsonReader, WhiteSpaceAndAByteOrderMarkChangeNothing) {
  expect_table(
      "\xEF\xBB\xBF [\n  {\"a\": \"x\",\n   \"b\": 1} ,\n  {\"a\": \"y\", \"b\": 2}\n]\n\n");
  expect_table("\n{\n \"a\": {\"k\": \"x\", \"l\": \"y\"},\n \"b\": {\"k\": 1, \"l\": 2}\n}\n");
}

TEST(JsonReader, AKeyThatOccursTwiceIsBadDataWithItsRow) {
  EXPECT_THAT(
      [] { read_rows(*make_json_reader(source_of(R"({"data":[{"a":1},{"a":2,"a":"x"}]})"))); },
      ThrowsCode(Code::kBadData, "row 1: has the key \"a\" twice in one object"));
  EXPECT_THAT([] { read_rows(*make_json_reader(source_of(R"([{"a":1},{"a":2,"a":2}])"))); },
              ThrowsCode(Code::kBadData, "element 2: has the key \"a\" twice"));
}

TEST(JsonReader, ASentenceAloneIsOneRow) {
  const auto reader = make_json_reader(source_of(R"({"tokens":["x","y"],"tags":["O","B"]})"));
  EXPECT_THAT(read_rows(*reader),
              ElementsAre(ElementsAre(text(R"(["x","y"])"), text(R"(["O","B"])"))));
}

TEST(JsonReader, OneObjectOfScalarsIsOneRow) {
  EXPECT_THAT(read_rows(*make_json_reader(source_of(R"({"a":"x","b":1})"))),
              ElementsAre(ElementsAre(text("x"), kOne)));
}

TEST(JsonReader, StringsMayHoldBracketsAndQuotes) {
  const std::string json = R"([{"a":"]},[{\"\\","b":[1,{"c":"}"}]},{"a":"\\\\\"","b":[]}])";
  EXPECT_THAT(read_rows(*make_json_reader(std::make_unique<TricklingSource>(as_bytes(json)))),
              ElementsAre(ElementsAre(text("]},[{\"\\"), text(R"([1,{"c":"}"}])")),
                          ElementsAre(text("\\\\\""), text("[]"))));
}

TEST(JsonReader, AnEmptyArrayIsEmpty) {
  for (const std::string_view json : {"[]", " [ \n] "}) {
    EXPECT_THAT([&] { make_json_reader(source_of(json)); }, ThrowsCode(Code::kBadData, "is empty"));
  }
}

TEST(JsonReader, ErrorsNameTheElement) {
  const auto read = [](std::string_view json) {
    return [json] { read_rows(*make_json_reader(source_of(json))); };
  };
  EXPECT_THAT(read(R"([{"a":1},{"a":}])"), ThrowsCode(Code::kBadData, "element 2: is not valid"));
  EXPECT_THAT(read(R"([{"a":1},7])"),
              ThrowsCode(Code::kBadData, "element 2: is not a JSON object"));
  EXPECT_THAT(read(R"([{"a":1},,{"a":1}])"), ThrowsCode(Code::kBadData, "element 2: is empty"));
  EXPECT_THAT(read(R"([{"a":1}] x)"), ThrowsCode(Code::kBadData, "something follows the array"));
  EXPECT_THAT(read(R"([{"a":1}]])"), ThrowsCode(Code::kBadData, "something follows the array"));
  EXPECT_THAT(read(R"([{"a":1},{"a")"), ThrowsCode(Code::kCorrupt, "the array does not end"));
  EXPECT_THAT(read("[{\"a\":\"\xFF\"}]"), ThrowsCode(Code::kBadData, "is not UTF-8"));
}

TEST(JsonReader, ColumnsOfUnequalLengthAreBadData) {
  EXPECT_THAT([] { make_json_reader(source_of(R"({"a":[1,2],"b":[1]})")); },
              ThrowsCode(Code::kBadData, "column \"b\" has 1 cell, and column \"a\" has 2"));
  EXPECT_THAT(
      [] { read_rows(*make_json_reader(source_of(R"({"columns":["a"],"data":[[1],[1,2]]})"))); },
      ThrowsCode(Code::kBadData, "row 1: has 2 cells for 1 columns"));
}

TEST(JsonReader, ColumnsOfOtherRowsAreBadData) {
  EXPECT_THAT(
      [] { read_rows(*make_json_reader(source_of(R"({"a":{"0":1,"1":2},"b":{"1":1,"0":2}})"))); },
      ThrowsCode(Code::kBadData, "column \"b\" has its rows in another order"));
}

TEST(JsonReader, ManyRowsInOneObjectTakeLinearTime) {
  std::string json = "{\"a\":{";
  for (int i = 0; i < 300'000; ++i) json += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
  EXPECT_EQ(read_rows(*make_json_reader(source_of(json + "}}"))).size(), 300'000u);
}

}  // namespace
}  // namespace berth
