#include "entrypoint/training/row_texts.h"

#include <cassert>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "storage/base/checksum.h"

namespace berth {
namespace {

// Two hashes and the size of a text. Texts with equal keys count as equal.
struct TextKey {
  uint64_t hash, crc_and_size;
  explicit TextKey(std::string_view text)
      : hash(std::hash<std::string_view>()(text)),
        crc_and_size(crc32c(as_bytes(text)) | uint64_t{text.size()} << 32) {}
  bool operator==(const TextKey&) const = default;
};
struct KeyHash {
  size_t operator()(const TextKey& key) const { return key.hash; }
};

}  // namespace

RowTexts::RowTexts(const LoadedTable& loaded, std::span<const uint32_t> rows,
                   const SearchPrompts& prompts) {
  texts_.task = Task::kTextEmbedding;
  texts_.name = loaded.name;
  texts_.table = std::make_unique<ExampleTable>();
  texts_.table->name = loaded.name;
  std::unordered_map<TextKey, uint32_t, KeyHash> numbers;
  for (const uint32_t row : rows) {
    const Example example = loaded.table->read(row);
    if (group_ == 0) {
      group_ = example.texts.size();
      places_.resize(loaded.table->rows() * group_, TextVectors::kNone);
    }
    assert(example.texts.size() == group_);
    for (size_t text = 0; text < group_; ++text) {
      Example one{.texts = {(text == 0 ? prompts.query : prompts.passage) + example.texts[text]}};
      const auto next = static_cast<uint32_t>(texts_.table->rows());
      const auto [found, is_new] = numbers.try_emplace(TextKey(one.texts[0]), next);
      places_[row * group_ + text] = found->second;
      if (!is_new) continue;
      texts_.table->append(one);
      texts_.table->set_source_row(loaded.table->source_row(row));
    }
  }
  texts_.table->finish();
}

}  // namespace berth
