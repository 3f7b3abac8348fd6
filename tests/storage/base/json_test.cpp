#include "storage/base/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

TEST(Json, NonAsciiCharactersCanBeEscaped) {
  EXPECT_EQ(to_ascii_text(Json("é/\x7f😀")), R"("\u00e9/\u007f\ud83d\ude00")");
}

}  // namespace
}  // namespace berth
