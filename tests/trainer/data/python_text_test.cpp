#include "trainer/data/python_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace berth {
namespace {

TEST(PythonText, ListsTuplesAndDictionariesBecomeJson) {
  const auto json = [](std::string_view text) { return to_text(parse_python(text)); };
  EXPECT_EQ(json("[(0, 9, 'PER'), [1,], ()]"), R"([[0,9,"PER"],[1],[]])");
  EXPECT_EQ(json(R"({'a': "it's", "b": [True, False, None, nan, 1.5, -2]})"),
            R"({"a":"it's","b":[true,false,null,null,1.5,-2.0]})");
  EXPECT_EQ(json(" 'caf\\xe9' "), "\"café\"");
  EXPECT_TRUE(parse_python("[3]")[0].is_number_unsigned());
}

TEST(PythonText, AnythingElseIsDiscarded) {
  const std::string whole = "[(0, 'a'), {'b': 1}]";
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(parse_python(whole.substr(0, size)).is_discarded()) << size;
  }
  for (const char* bad : {"[a]", "[1 2]", "{1: 2}", "{'a'}", "[1] 2", "(1]", ""}) {
    EXPECT_TRUE(parse_python(bad).is_discarded()) << bad;
  }
  EXPECT_TRUE(parse_python(std::string(100, '[') + std::string(100, ']')).is_discarded());
}

}  // namespace
}  // namespace berth
