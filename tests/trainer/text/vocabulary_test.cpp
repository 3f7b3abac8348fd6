#include <gtest/gtest.h>

#include "tests/trainer/text/tokenizer_fixture.h"

namespace berth {
namespace {

Files real_folder(const std::string& name) {
  const auto content = file_at(std::string(BERTH_SHARED_DATA) + "/vocab/" + name + "/vocab.txt");
  return content ? Files{{"vocab.txt", *content}} : Files{};
}

class RealVocabularyTest : public testing::TestWithParam<const char*> {};

TEST_P(RealVocabularyTest, LoadsWithTheCaseOfItsPieces) {
  const Files folder = real_folder(GetParam());
  if (folder.empty()) GTEST_SKIP() << "SKIPPED: no real vocabulary " << GetParam();
  const auto tokenizer = load(folder);
  const bool cased = std::string(GetParam()) == "bert_cased";
  EXPECT_EQ(tokenizer->vocab_size(), cased ? 28996 : 30522);
  EXPECT_EQ(ids(*tokenizer, "Paris") == ids(*tokenizer, "paris"), !cased);
  EXPECT_EQ(ids(*tokenizer, "").front(), 101);
}

INSTANTIATE_TEST_SUITE_P(Bert, RealVocabularyTest, testing::Values("bert_cased", "bert_uncased"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace berth
