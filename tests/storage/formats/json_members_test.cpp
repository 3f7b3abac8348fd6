#include "storage/formats/json_members.h"

#include <gmock/gmock.h>

#include <string>

#include "tests/support/throws_code.h"

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

}  // namespace
}  // namespace berth
