#include "trainer/data/joined_documents.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kDocumentsAtOnce = 1000;  // the batch size of `datasets` in run_mlm.py

// Documents that are laid end to end.
struct Joined {
  std::vector<int32_t> ids;
  std::vector<size_t> ends;    // of each document, in `ids`
  std::vector<uint32_t> rows;  // of each document, in its table
};

// Cuts blocks off documents.
class Cutter {
 public:
  Cutter(const ExampleTable& table, const JoinOptions& options, ExampleTable& joined)
      : table_(table), options_(options), joined_(joined) {}

  void cut(const Joined& documents) {
    const auto size = static_cast<size_t>(options_.block_tokens);
    const size_t full = documents.ids.size() / size;
    for (size_t block = 0; block < full; ++block) {
      append(documents, block * size, (block + 1) * size);
    }
    blocks_ += full;
  }
  // Appends a block of whatever there is.
  void append(const Joined& documents, size_t begin, size_t end) {
    Example block;
    const auto at = [&](size_t place) {
      return documents.ids.begin() + static_cast<std::ptrdiff_t>(place);
    };
    block.token_ids.assign(at(begin), at(end));
    block.token_types.assign(end - begin, 0);
    size_t document = static_cast<size_t>(std::ranges::upper_bound(documents.ends, begin) -
                                          documents.ends.begin());
    const uint64_t source = table_.source_row(documents.rows[document]);
    int64_t sequences = 1;
    if (!options_.is_one_sequence) {
      for (; documents.ends[document] < end; ++document, ++sequences) {
        block.labels.push_back(static_cast<int32_t>(documents.ends[document] - begin));
      }
      block.labels.push_back(static_cast<int32_t>(end - begin));
    }
    most_sequences_ = std::max(most_sequences_, sequences);
    joined_.append(block);
    joined_.set_source_row(source);
  }

  size_t blocks() const { return blocks_; }
  int64_t most_sequences() const { return most_sequences_; }

 private:
  const ExampleTable& table_;
  const JoinOptions options_;
  ExampleTable& joined_;
  size_t blocks_ = 0;
  int64_t most_sequences_ = 1;
};

}  // namespace

int64_t join_documents(const ExampleTable& table, std::span<const uint32_t> rows,
                       const Tokenizer& tokenizer, const JoinOptions& options,
                       ExampleTable& joined) {
  Cutter cutter(table, options, joined);
  const EncodeOptions whole(std::numeric_limits<int32_t>::max());
  Joined documents, longest;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Example document = table.read(rows[i]);
    const std::string& text = document.texts.at(0);
    const bool is_joined = options.joins_blank || !trimmed(text).empty();
    const std::vector<int32_t> ids = tokenizer.encode(text, std::nullopt, whole).input_ids;
    if (is_joined && !ids.empty()) {
      documents.ids.insert(documents.ids.end(), ids.begin(), ids.end());
      documents.ends.push_back(documents.ids.size());
      documents.rows.push_back(rows[i]);
    }
    if ((i + 1) % kDocumentsAtOnce != 0 && i + 1 < rows.size()) continue;
    cutter.cut(documents);
    if (cutter.blocks() == 0 && documents.ids.size() > longest.ids.size()) longest = documents;
    documents = {};
  }
  if (cutter.blocks() == 0 && !longest.ids.empty()) cutter.append(longest, 0, longest.ids.size());
  return cutter.most_sequences();
}

bool holds_masked(const ExampleTable& table) {
  return table.rows() > 0 && !table.read(0).masked.empty();
}

int64_t most_masked(const ExampleTable& table) {
  if (!holds_masked(table)) return 0;
  size_t most = 0;
  for (uint32_t row = 0; row < table.rows(); ++row) {
    most = std::max(most, table.read(row).masked.size() / 2);
  }
  return static_cast<int64_t>(most);
}

bool holds_texts(const ExampleTable& table) {
  return table.rows() > 0 && table.read(0).token_ids.empty();
}

}  // namespace berth
