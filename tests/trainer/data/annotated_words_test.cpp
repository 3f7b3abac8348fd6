#include "trainer/data/annotated_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/base/error.h"
#include "tests/support/throws_code.h"

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

}  // namespace
}  // namespace berth
