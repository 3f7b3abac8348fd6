#include <gtest/gtest.h>

#include "trainer/inputs/peeked_source.h"

namespace berth {
namespace {

TEST(WordFiles, LinesWithSeveralWordsAreSentences) {
  EXPECT_TRUE(holds_plain_sentences("mara lives here.\n\nx\n", {}));
  EXPECT_TRUE(holds_plain_sentences("mara lives\nin lindau\n", {"B-PER", "O"}));
  EXPECT_TRUE(holds_plain_sentences("mara lives here.", {}));
  EXPECT_TRUE(holds_plain_sentences("mara lives\there.\n\nx\ty\tz\n", {}));
  EXPECT_TRUE(holds_plain_sentences("1 x\n", {}));
}

TEST(WordFiles, LinesOfWordsHaveTabsTagsOrNumbers) {
  EXPECT_FALSE(holds_plain_sentences("mara\nlives\n\nx\n", {}));
  EXPECT_FALSE(holds_plain_sentences("New York\tx\nso\ty\n", {}));
  EXPECT_FALSE(holds_plain_sentences("mara B-PER\nlives O\n\nx\n", {}));
  EXPECT_FALSE(holds_plain_sentences("B-PER mara\nO lives\n", {}));
  EXPECT_FALSE(holds_plain_sentences("mara NNP\nlives VBZ\n", {"NNP", "VBZ"}));
  EXPECT_FALSE(holds_plain_sentences("1 mara\n2 lives\n\n1 x\n", {}));
  EXPECT_FALSE(holds_plain_sentences("one\ntwo O\n\nthree -1\n", {}));
  EXPECT_FALSE(holds_plain_sentences("1 x\n", {}, /*are_counted=*/true));
  EXPECT_FALSE(holds_plain_sentences("Token Tag\nmara NNP\n", {"NNP"}));
}

TEST(WordFiles, AHeaderMakesATable) {
  EXPECT_TRUE(begins_sentence_table("sentence\tword\tprediction\tprobability\n0\ta\tO\t1\n", {}));
  EXPECT_TRUE(begins_sentence_table("tokens\tner_tags\n", {}));
  EXPECT_TRUE(begins_sentence_table("a\tb\n", {.label = "b"}));
  for (const char* names :
       {"text\tlabels", "text\tentities", "Sentence\ttags", "text\tlang", "text"}) {
    EXPECT_TRUE(begins_sentence_table(std::string(names) + "\nmara lives\tx\n\"so\"\ty\n", {}));
  }
  EXPECT_TRUE(begins_sentence_table("id\tsentence\r\n1\tmara lives\r\n2\tso\r\n", {}));
  EXPECT_TRUE(begins_sentence_table("sentence_id\ttext\tlabel\n1\tmara\tO\n", {}));
  EXPECT_FALSE(begins_sentence_table("text\tlabels\nmara\tB-PER\n\nso\tO\n", {}));
  EXPECT_FALSE(begins_sentence_table("id\tsentence\n1\n2\n", {}));
  EXPECT_FALSE(begins_sentence_table("2\t3\n", {.label = "3"}));
  EXPECT_FALSE(begins_sentence_table("mara\tB-PER\n", {.label = "tags"}));
}

}  // namespace
}  // namespace berth
