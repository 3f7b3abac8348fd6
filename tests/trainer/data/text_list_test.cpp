#include "trainer/data/text_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

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

TEST(TextList, IsWrittenAsInJsonOrPython) {
  EXPECT_THAT(parse_text_list(R"(["a", 1, 2.5, true])"),
              Optional(ElementsAre("a", "1", "2.5", "true")));
  EXPECT_THAT(parse_text_list(R"( ['a', "it's", -1, 2.5, True,] )"),
              Optional(ElementsAre("a", "it's", "-1", "2.5", "True")));
  EXPECT_THAT(parse_text_list("[]"), Optional(IsEmpty()));
  EXPECT_THAT(parse_text_list("[ ]"), Optional(IsEmpty()));
}

TEST(TextList, MayBeASetOrHaveTheTypesOfNumPy) {
  EXPECT_THAT(parse_text_list("{'b', \"it's\"}"), Optional(ElementsAre("b", "it's")));
  EXPECT_THAT(parse_text_list("frozenset({'b', 2})"), Optional(ElementsAre("b", "2")));
  EXPECT_THAT(parse_text_list("set()"), Optional(IsEmpty()));
  EXPECT_THAT(parse_text_list("[np.int64(0), np.str_('a'), np.True_, np.float64(0.5)]"),
              Optional(ElementsAre("0", "a", "True", "0.5")));
  EXPECT_THAT(parse_text_list("[tensor(1), tensor(0)]"), Optional(ElementsAre("1", "0")));
  for (const char* bad : {"[np.int64(0]", "[np.int64(a)]", "[np.int64(0) 1)]", "[int(0)]"}) {
    EXPECT_EQ(parse_text_list(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(to_text(parse_python("{'answer_start': [np.int64(8)]}")), R"({"answer_start":[8]})");
}

TEST(JoinedTags, HaveOneMarkBetweenThem) {
  EXPECT_THAT(parse_joined_tags("B-PER,O,I-LOC"), Optional(ElementsAre("B-PER", "O", "I-LOC")));
  EXPECT_THAT(parse_joined_tags("O, B-PER"), Optional(ElementsAre("O", "B-PER")));
  EXPECT_THAT(parse_joined_tags("O;O"), Optional(ElementsAre("O", "O")));
  EXPECT_THAT(parse_joined_tags("O | B-PER"), Optional(ElementsAre("O", "B-PER")));
  for (const char* other : {"B-PER", "O O", "B-A|B-B O O", "O,x", ", .", ""}) {
    EXPECT_EQ(parse_joined_tags(other), std::nullopt) << other;
  }
}

TEST(TextList, MayHaveBlanksForCommasAsNumPyWritesThem) {
  EXPECT_THAT(parse_text_list("['B-PER' 'O'\n 'O']"), Optional(ElementsAre("B-PER", "O", "O")));
  EXPECT_THAT(parse_text_list("[0 1 1.]"), Optional(ElementsAre("0", "1", "1.")));
}

TEST(TextList, MayHaveBeenShortenedByNumPy) {
  for (const char* text :
       {"[0 0 0 ... 0 0 1]", "[0, 0, ..., 1]", "array([0., 1., ..., 0.])", "['a' 'b' ... 'c']",
        "[[0 1 ... 0]\n [1 0 ... 1]]", "[True ... False]"}) {
    EXPECT_TRUE(is_shortened_list(text)) << text;
  }
  for (const char* text :
       {"[...]", "[so ... and so on]", "['...', 'a']", "[0 1 1]", "a ... b", "[", "['a ... b']"}) {
    EXPECT_FALSE(is_shortened_list(text)) << text;
  }
}

TEST(TextList, KnowsPythonsEscapes) {
  EXPECT_THAT(parse_text_list(R"(['it\'s', '\\', '\x41\u00e9\U0001f600', 'a\nb'])"),
              Optional(ElementsAre("it's", "\\", "Aé😀", "a\nb")));
  for (const char* bad : {R"(['\x4'])", R"(['\ud800'])", R"(['\Uffffffff'])", R"(['\q'])"}) {
    EXPECT_EQ(parse_text_list(bad), std::nullopt) << bad;
  }
}

TEST(TextList, HoldsOnlyTextsAndNumbers) {
  for (const char* bad :
       {R"(["a",null])", "['a', None]", "['a', nan]", "['a', inf]", "[['a']]", "['a', {}]",
        "['a' ... 'b']", "[a, b]", "{'a': 1}", "{}", "{a}", "{'a'", "a", ""}) {
    EXPECT_EQ(parse_text_list(bad), std::nullopt) << bad;
  }
}

TEST(TextList, MustEndAtTheEndOfTheText) {
  const std::string whole = R"(['a\'b', "c\u00e9", 1.5])";
  ASSERT_TRUE(parse_text_list(whole));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(parse_text_list(whole.substr(0, size)), std::nullopt) << size;
  }
  for (const char* bad : {"['a'] x", "['a'']", "['a',,'b']", "[,]", "['a'\"b\"]"}) {
    EXPECT_EQ(parse_text_list(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(parse_text_list(std::string("['a'\0]", 6)), std::nullopt);
}

TEST(TextList, IsRecognizedByItsBrackets) {
  EXPECT_TRUE(is_bracketed(" [a] "));
  EXPECT_TRUE(is_bracketed("{}"));
  EXPECT_FALSE(is_bracketed("[ Reuters ] said"));
  EXPECT_FALSE(is_bracketed(" "));
  EXPECT_TRUE(begins_list(" ['a"));
  EXPECT_FALSE(begins_list("a [b]"));
}

}  // namespace
}  // namespace berth
