#include "trainer/data/word_starts.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "storage/base/error.h"

namespace berth {
namespace {

constexpr std::string_view kMasks[] = {"[MASK]", "<mask>"};
constexpr std::string_view kSpecials[] = {"[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", "[BOS]",
                                          "[EOS]", "<s>",   "</s>",  "<pad>", "<unk>",  "<mask>",
                                          "<cls>", "<sep>", "<eop>", "<eod>", "<bos>",  "<eos>"};
constexpr std::string_view kMarks[] = {"##", "Ġ", "▁"};
constexpr size_t kNoMark = std::size(kMarks);

// The place in kMarks of the mark that most tokens begin with.
size_t usual_mark(const std::vector<std::string>& tokens) {
  std::array<int64_t, std::size(kMarks)> counts{};
  for (const std::string& token : tokens) {
    for (size_t mark = 0; mark < kNoMark; ++mark) counts[mark] += token.starts_with(kMarks[mark]);
  }
  const auto most = std::ranges::max_element(counts);
  return *most > 0 ? static_cast<size_t>(most - counts.begin()) : kNoMark;
}

bool continues_word(std::string_view token, size_t mark) {
  if (mark == kNoMark) return false;
  const bool has_mark = token.starts_with(kMarks[mark]);
  return mark == 0 ? has_mark && token.size() > kMarks[0].size() : !has_mark;
}

}  // namespace

std::vector<TokenRole> token_roles(const Tokenizer& tokenizer) {
  std::vector<std::string> tokens(static_cast<size_t>(tokenizer.vocab_size()));
  for (size_t id = 0; id < tokens.size(); ++id) tokens[id] = tokenizer.token(static_cast<int>(id));
  const size_t mark = usual_mark(tokens);
  std::vector<TokenRole> roles;
  roles.reserve(tokens.size());
  for (const std::string& token : tokens) {
    const bool is_special =
        token.empty() || std::ranges::find(kSpecials, token) != std::end(kSpecials);
    roles.push_back(is_special                    ? TokenRole::kSpecial
                    : continues_word(token, mark) ? TokenRole::kContinues
                                                  : TokenRole::kBegins);
  }
  for (const int32_t id : tokenizer.encode("", std::nullopt, EncodeOptions(8)).input_ids) {
    if (id >= 0 && static_cast<size_t>(id) < roles.size()) {
      roles[static_cast<size_t>(id)] = TokenRole::kSpecial;
    }
  }
  return roles;
}

int32_t mask_id(const Tokenizer& tokenizer) {
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (std::ranges::find(kMasks, tokenizer.token(id)) != std::end(kMasks)) return id;
  }
  throw Error(Code::kBadData, "the vocabulary has neither [MASK] nor <mask>", "",
              "train masked language models with a tokenizer that has one of them");
}

}  // namespace berth
