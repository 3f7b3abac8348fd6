#include <gmock/gmock.h>

#include "storage/formats/row_readers.h"
#include "tests/support/read_rows.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;

std::vector<Row> jsonl_rows(std::string_view jsonl) {
  return read_rows(*make_jsonl_reader(source_of(jsonl)));
}

TEST(JsonlReader, ColumnsAreTheFirstObjectsKeysInItsOrder) {
  const auto reader = make_jsonl_reader(source_of("{\"text\": \"a\", \"label\": 1, \"id\": 2}\n"));
  EXPECT_THAT(column_names(*reader), ElementsAre("text", "label", "id"));
}

TEST(JsonlReader, ScalarsKeepTheirTypes) {
  EXPECT_THAT(jsonl_rows(R"({"a":"x","b":-3,"c":1.5,"d":true,"e":null,"f":18446744073709551615})"),
              ElementsAre(ElementsAre(text("x"), Cell(int64_t{-3}), Cell(1.5), Cell(true), kMissing,
                                      text("18446744073709551615"))));
}

TEST(JsonlReader, WholeNumbersBeyond64BitsKeepTheirDigits) {
  EXPECT_THAT(jsonl_rows(R"({"a":123456789012345678901,"b":-9223372036854775809,"c":1e30})"),
              ElementsAre(ElementsAre(text("123456789012345678901"), text("-9223372036854775809"),
                                      Cell(1e30))));
}

TEST(JsonlReader, AbsentKeysAreMissingAndNewOnesIgnored) {
  EXPECT_THAT(jsonl_rows("{\"a\":1,\"b\":2}\n{\"c\":[3],\"b\":4}\n"),
              ElementsAre(ElementsAre(Cell(int64_t{1}), Cell(int64_t{2})),
                          ElementsAre(kMissing, Cell(int64_t{4}))));
}

TEST(JsonlReader, KeysThatTheFirstObjectLacksAreNamed) {
  const auto reader = make_jsonl_reader(source_of("{\"a\":1}\n{\"a\":2,\"c\":3,\"b\":4}\n"));
  EXPECT_TRUE(reader->findings().empty());
  read_rows(*reader);
  ASSERT_EQ(reader->findings().size(), 1u);
  EXPECT_TRUE(reader->findings()[0].text.starts_with("the first object lacks \"b\", \"c\", so"));
}

TEST(JsonlReader, AKeyThatOccursTwiceIsBadDataWithItsLine) {
  EXPECT_THAT([] { jsonl_rows("{\"a\":1}\n{\"a\":2,\"a\":3}\n"); },
              ThrowsCode(Code::kBadData, "line 2: has the key \"a\" twice in one object"));
  EXPECT_THAT([] { jsonl_rows(R"({"a":1,"b":2,"b":2})"); },
              ThrowsCode(Code::kBadData, "has the key \"b\" twice"));
  EXPECT_THAT([] { jsonl_rows(R"({"a":[{"k":1},{"k":1,"k":2}]})"); },
              ThrowsCode(Code::kBadData, "has the key \"k\" twice"));
  EXPECT_EQ(jsonl_rows(R"({"a":[{"k":1},{"k":{"k":1}}],"k":2})").size(), 1u);
  std::string many = "{";
  for (int i = 0; i < 100; ++i) many += "\"key " + std::to_string(i) + "\":1,";
  EXPECT_EQ(jsonl_rows(many + "\"z\":1}").size(), 1u);
  EXPECT_THAT([&] { jsonl_rows(many + "\"key 99\":1}"); },
              ThrowsCode(Code::kBadData, "has the key \"key 99\" twice"));
}

TEST(JsonlReader, AColumnThatHoldsAListIsNested) {
  const auto reader =
      make_jsonl_reader(source_of("{\"a\":\"[1]\",\"b\":0}\n{\"a\":\"\",\"b\":[1]}\n"));
  EXPECT_FALSE(reader->columns()[1].is_nested);
  read_rows(*reader);
  EXPECT_FALSE(reader->columns()[0].is_nested);
  EXPECT_TRUE(reader->columns()[1].is_nested);
  EXPECT_FALSE(reader->is_of_texts());
}

TEST(JsonlReader, NestedValuesAreJsonText) {
  EXPECT_THAT(
      jsonl_rows(
          R"({"a": {"k": [1, -2, 2.50, "q\"\n", null, true, {}, []], "m": {"n": 1}}, "b": 7})"),
      ElementsAre(ElementsAre(text(R"({"k":[1,-2,2.50,"q\"\n",null,true,{},[]],"m":{"n":1}})"),
                              Cell(int64_t{7}))));
  EXPECT_THAT(jsonl_rows("{\"a\":[[],[[1]]]}\n{\"a\":[]}\n"),
              ElementsAre(ElementsAre(text("[[],[[1]]]")), ElementsAre(text("[]"))));
}

TEST(JsonlReader, BlankLinesAreSkippedButCounted) {
  const auto reader = make_jsonl_reader(source_of("\n{\"a\":1}\r\n  \n{\"a\":2}"));
  Row row;
  while (reader->next(row)) {
  }
  EXPECT_EQ(reader->position(), "line 4");
}

TEST(JsonlReader, InvalidJsonIsBadDataWithItsLine) {
  EXPECT_THAT([] { jsonl_rows("{\"a\":1}\n{\"a\":}\n"); },
              ThrowsCode(Code::kBadData, "line 2: is not valid JSON"));
  EXPECT_THAT([] { jsonl_rows("{\"a\":1} x\n"); }, ThrowsCode(Code::kBadData, "line 1"));
  EXPECT_THAT([] { jsonl_rows("{\"a\":\"\\ud800\"}\n"); }, ThrowsCode(Code::kBadData, "line 1"));
}

TEST(JsonlReader, AnythingButAnObjectIsBadDataWithItsLine) {
  EXPECT_THAT([] { jsonl_rows("{\"a\":1}\n[1]\n"); },
              ThrowsCode(Code::kBadData, "line 2: is not a JSON object"));
  EXPECT_THAT([] { jsonl_rows("\"text\"\n"); },
              ThrowsCode(Code::kBadData, "line 1: is not a JSON object"));
}

TEST(JsonlReader, InvalidUtf8IsBadDataWithItsLine) {
  EXPECT_THAT([] { jsonl_rows("{\"a\":\"\x80\"}\n"); },
              ThrowsCode(Code::kBadData, "line 1: byte 7 is not UTF-8"));
}

TEST(JsonlReader, EmptyFileIsBadData) {
  EXPECT_THAT([] { jsonl_rows(""); }, ThrowsCode(Code::kBadData, "is empty"));
  EXPECT_THAT([] { jsonl_rows(" \n\n"); }, ThrowsCode(Code::kBadData, "is empty"));
}

TEST(JsonlReader, DeepNestingIsBadDataAndCostsNoStack) {
  const std::string deep = "{\"a\":" + std::string(1'000'000, '[');
  EXPECT_THAT([&] { jsonl_rows(deep); },
              ThrowsCode(Code::kBadData, "line 1: nests deeper than 256"));
}

TEST(JsonlReader, EveryPrefixAndFlippedByteReadsOrIsAnError) {
  const std::string jsonl =
      "{\"t\":\"a\\u00e9\\n\",\"l\":[1,{\"k\":2.5e3}]}\n{\"l\":true,\"t\":null}\n";
  for (size_t size = 0; size < jsonl.size(); ++size) {
    try {
      jsonl_rows(jsonl.substr(0, size));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kBadData);
    }
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = jsonl;
      flipped[size] = static_cast<char>(flipped[size] ^ (1 << bit));
      try {
        jsonl_rows(flipped);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kBadData);
      }
    }
  }
}

// As Python's json writes them, which pandas, pyarrow and datasets read.
TEST(JsonlReader, NumbersThatJsonLacksAreReadAsPythonWritesThem) {
  EXPECT_THAT(
      jsonl_rows(
          "{\"a\":NaN,\"b\":-Infinity,\"c\":Infinity,\"d\":[NaN,1],\"e\":\"NaN \\\" NaN\"}\n"),
      ElementsAre(
          ElementsAre(kMissing, text("-inf"), text("inf"), text("[null,1]"), text("NaN \" NaN"))));
  EXPECT_THAT([] { jsonl_rows("{\"a\":NaM}\n"); }, ThrowsCode(Code::kBadData, "is not valid JSON"));
  EXPECT_THAT(read_rows(*make_json_reader(source_of("[{\"a\":NaN},{\"a\":2}]"))),
              ElementsAre(ElementsAre(kMissing), ElementsAre(Cell(int64_t{2}))));
  EXPECT_THAT(read_rows(*make_json_reader(source_of("{\"a\":[NaN,2]}"))),
              ElementsAre(ElementsAre(kMissing), ElementsAre(Cell(int64_t{2}))));
}

// As spaCy 2 is trained: the text, and an object of what is known of it.
TEST(JsonlReader, PairsAreRowsWithAText) {
  constexpr std::string_view kPairs = R"(["a", {"entities": [[0, 1, "X"]]}]
 ["b", {"entities": [], "text": "c"}])";
  EXPECT_THAT(jsonl_rows(kPairs), ElementsAre(ElementsAre(text("a"), text(R"([[0,1,"X"]])")),
                                              ElementsAre(text("b"), text("[]"))));
  for (const char* json : {R"(["a"])", R"(["a", "b"])", R"([1, {}])", R"(["a", {}, {}])", "[]"}) {
    EXPECT_THAT([&] { jsonl_rows(json); }, ThrowsCode(Code::kBadData, "is not a JSON object"));
  }
}

TEST(JsonlReader, SaysWhatPeopleWriteInPlaceOfAnObject) {
  const std::pair<const char*, const char*> lines[] = {
      {"{\"a\": 1},", "no comma stands behind a line"},
      {"{\"a\": 1}{\"a\": 2}", "one object alone"},
      {"{\n  \"a\": 1\n}", "jq -c ."},
      {"{'a': 1}", "a dictionary of Python"},
      {"{\"a\": 1,}", "before a closing bracket"},
      {"// rows\n{\"a\": 1}", "no comments"},
      {"{\"a\": \"\\ud83d b\"}", "the other half"},
      {"[{\"a\": 1}]", "is called .json"},
      {"<!DOCTYPE html>", "a web page"},
      {"text,label", "does not begin as JSON does"}};
  for (const auto& [text, hint] : lines) {
    EXPECT_THAT([&] { jsonl_rows(text); }, ThrowsCode(Code::kBadData, hint)) << text;
  }
}

}  // namespace
}  // namespace berth
