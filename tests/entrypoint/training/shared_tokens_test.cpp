#include "entrypoint/training/shared_tokens.h"

#include <gtest/gtest.h>

#include "tests/support/letter_data.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

// A tokenizer of letters that calls the token of one id something else, and that may read capital
// letters as small ones.
class OtherTokenizer final : public Tokenizer {
 public:
  OtherTokenizer(int32_t other_id, bool lowers, int32_t size = 29)
      : other_id_(other_id), lowers_(lowers), size_(size) {}

  int32_t vocab_size() const override { return size_; }
  Encoding encode(std::string_view text, std::optional<std::string_view> pair,
                  const EncodeOptions& options) const override {
    std::string lower(text);
    for (char& letter : lower) {
      if (lowers_ && letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter + 32);
    }
    return letters_.encode(lower, pair, options);
  }
  std::string token(int32_t id) const override {
    return id == other_id_ ? "?" : letters_.token(id);
  }
  std::vector<File> files() const override { return {}; }

 private:
  const LetterTokenizer letters_;
  const int32_t other_id_;
  const bool lowers_;
  const int32_t size_;
};

TEST(SharedTokens, EqualTokenizersAreAccepted) {
  require_same_tokenizer(LetterTokenizer(), OtherTokenizer(-1, false), "teacher");
}

TEST(SharedTokens, OtherVocabulariesAreRefused) {
  const auto compare = [](const OtherTokenizer& teacher) {
    require_same_tokenizer(LetterTokenizer(), teacher, "teacher");
  };
  EXPECT_THAT([&] { compare(OtherTokenizer(5, false)); },
              ThrowsCode(Code::kUsage, "token 5 is \"?\", and the student's is \"c\""));
  EXPECT_THAT([&] { compare(OtherTokenizer(-1, false, 30)); },
              ThrowsCode(Code::kUsage, "it has 30 tokens, and the student's has 29"));
  EXPECT_THAT([&] { compare(OtherTokenizer(-1, false, 30)); },
              ThrowsCode(Code::kUsage, "--vocab-file"));
}

TEST(SharedTokens, OtherTreatmentOfCaseIsRefused) {
  EXPECT_THAT(
      [&] { require_same_tokenizer(LetterTokenizer(), OtherTokenizer(-1, true), "teacher"); },
      ThrowsCode(Code::kUsage, "--do-lower-case"));
}

TEST(SharedTokens, EveryRowIsCompared) {
  const auto table = table_of({"ab", "abcdefg", "cD", "e"});
  const LetterTokenizer student;
  const OtherTokenizer teacher(-1, /*lowers=*/true);
  constexpr Task kTask = Task::kHiddenStates;
  const FeatureOptions options{.task = kTask, .max_seq_length = 5, .labelled = false};
  const auto ours = make_feature_maker(options, student);
  const auto theirs = make_feature_maker(options, teacher);
  const auto compare = [&](const std::vector<uint32_t>& rows) {
    Dataset of_student(*table, rows, kTask, *ours, false);
    Dataset of_teacher(*table, rows, kTask, *theirs, false);
    require_same_tokens(of_student, of_teacher, "teacher");
  };
  compare({0, 1, 3});
  EXPECT_THAT([&] { compare({0, 1, 2, 3}); }, ThrowsCode(Code::kUsage, "other tokens of row 2"));
}

}  // namespace
}  // namespace berth
