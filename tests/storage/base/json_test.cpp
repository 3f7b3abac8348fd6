#include "storage/base/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

std::string nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(Json, ValuesSurviveWritingAndReading) {
  const std::string text = R"({"b":[1,-2.5,null,true],"a":"x\n\u0000é"})";
  EXPECT_EQ(to_text(parse_ordered_json(text)), text);
  EXPECT_EQ(to_text(parse_json(text)), R"({"a":"x\n\u0000é","b":[1,-2.5,null,true]})");
  EXPECT_EQ(to_text(parse_json("[1]"), 2), "[\n  1\n]");
}

TEST(Json, InvalidJsonIsDiscarded) {
  for (const char* text : {"", "{", "{}x", "[1,]", "nul", "'a'", "\"\xFF\"", "{\"a\" 1}"}) {
    EXPECT_TRUE(parse_json(text).is_discarded()) << text;
    EXPECT_TRUE(parse_ordered_json(text).is_discarded()) << text;
  }
  EXPECT_TRUE(parse_json("null").is_null());
}

TEST(Json, ObjectsMayBeLeftEmptyInTheirPlaces) {
  const OrderedJson value =
      parse_ordered_json(R"({"a": {"x": {"b": 1}, "y": [{"b": 2}]}, "b": {"x": {"y": {}}, "z": [1]},
                             "c": [{"b": {"x": 3}}], "d": 4})",
                         {"b", "d", "e"});
  EXPECT_EQ(to_text(value),
            R"({"a":{"x":{"b":1},"y":[{"b":2}]},"b":{},"c":[{"b":{"x":3}}],"d":4})");
  EXPECT_TRUE(parse_ordered_json(R"({"b": {"x": 1)", {"b"}).is_discarded());
}

TEST(Json, TooDeepNestingIsDiscarded) {
  EXPECT_TRUE(parse_json(nested(kDeepestJson)).is_array());
  EXPECT_TRUE(parse_json(nested(kDeepestJson + 1)).is_discarded());
  EXPECT_TRUE(parse_ordered_json(nested(kDeepestJson)).is_array());
  EXPECT_TRUE(parse_ordered_json(nested(kDeepestJson + 1)).is_discarded());
}

TEST(Json, BracketsInTextsDoNotNest) {
  EXPECT_EQ(nesting_depth(R"(["[[[\"[[", {"{": []}])"), 3u);
  EXPECT_TRUE(parse_json("\"" + nested(kDeepestJson + 1) + "\"").is_string());
}

TEST(Json, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(to_text(Json("a\xFF"
                         "b")),
            "\"a\xEF\xBF\xBD"
            "b\"");
  EXPECT_EQ(to_text(OrderedJson("\xC3")), "\"\xEF\xBF\xBD\"");
}

TEST(JsonObject, GivesMembersOfTheirTypes) {
  const Json object = parse_json(
      R"({"text": "a", "none": null, "integer": -2, "count": 3, "real": 0.5, "list": [1],
          "object": {"text": "b"}})");
  const JsonObject members(&object);
  EXPECT_EQ(members.text("text"), "a");
  EXPECT_EQ(members.integer("integer"), -2);
  EXPECT_EQ(members.integer("count"), 3);
  EXPECT_EQ(members.count("count"), 3u);
  EXPECT_EQ(members.number("integer"), -2);
  EXPECT_EQ(members.number("real"), 0.5);
  EXPECT_EQ(to_text(*members.list("list")), "[1]");
  EXPECT_EQ(JsonObject(members.object("object")).text("text"), "b");
}

TEST(JsonObject, TakesOtherTypesForAbsentIfNothingRefusesThem) {
  const Json object = parse_json(R"({"none": null, "text": "a", "integer": -2, "list": [1]})");
  const JsonObject members(&object);
  EXPECT_EQ(members.find("none"), nullptr);
  EXPECT_EQ(members.find("other"), nullptr);
  EXPECT_EQ(members.text("none"), std::nullopt);
  EXPECT_EQ(members.text("integer"), std::nullopt);
  EXPECT_EQ(members.integer("text"), std::nullopt);
  EXPECT_EQ(members.count("integer"), std::nullopt);
  EXPECT_EQ(members.number("text"), std::nullopt);
  EXPECT_EQ(members.object("list"), nullptr);
  EXPECT_EQ(members.list("text"), nullptr);
  for (const char* text : {"[1]", "7", "null", "{"}) {
    const Json value = parse_json(text);
    EXPECT_EQ(JsonObject(&value).find("text"), nullptr) << text;
  }
  EXPECT_EQ(JsonObject(nullptr).find("text"), nullptr);
}

TEST(JsonObject, RefusesOtherTypesByName) {
  const Json object = parse_json(R"({"none": null, "text": "a", "integer": -2})");
  const JsonObject members(&object, [](const std::string& name, const std::string& problem) {
    throw Error(Code::kBadData, cat(quoted(name), " ", problem));
  });
  EXPECT_EQ(members.text("none"), std::nullopt);
  EXPECT_EQ(members.text("other"), std::nullopt);
  const auto expect_refused = [](const auto& read, const char* message) {
    EXPECT_THAT(read, ThrowsCode(Code::kBadData, message));
  };
  expect_refused([&] { members.text("integer"); }, R"("integer" is not text)");
  expect_refused([&] { members.integer("text"); }, R"("text" is not an integer)");
  expect_refused([&] { members.count("integer"); }, R"("integer" is not a whole number of 0 or)");
  expect_refused([&] { members.number("text"); }, R"("text" is not a number)");
  expect_refused([&] { members.object("text"); }, R"("text" is not an object)");
  expect_refused([&] { members.list("text"); }, R"("text" is not a list)");
}

TEST(Json, NonAsciiCharactersCanBeEscaped) {
  EXPECT_EQ(to_ascii_text(Json("é/\x7f😀")), R"("\u00e9/\u007f\ud83d\ude00")");
}

}  // namespace
}  // namespace berth
