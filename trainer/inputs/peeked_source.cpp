#include "trainer/inputs/peeked_source.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "storage/archive.h"
#include "storage/base/text.h"
#include "storage/formats/conll_columns.h"
#include "storage/formats/tfrecord.h"
#include "trainer/data/word_rows.h"
#include "trainer/model/task.h"

namespace berth {

std::unique_ptr<ByteSource> plain_records(std::unique_ptr<ByteSource> stored) {
  auto peeked = std::make_unique<PeekedSource>(std::move(stored));
  // The length at the start of a record may have the same bytes as the start of a gzip file.
  const bool is_gzip = peeked->beginning().starts_with("\x1f\x8b\x08") &&
                       !begins_record(as_bytes(peeked->beginning()));
  return decompress(std::move(peeked), is_gzip ? Compression::kGzip : Compression::kNone);
}

namespace {

// The lines as blocks between blank lines, without the marks of documents.
std::vector<ConllLines> blocks_of(std::string_view text) {
  std::vector<ConllLines> blocks(1);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool is_mark = line.starts_with("-DOCSTART-");
    if (!is_mark && !trimmed(line).empty()) {
      blocks.back().push_back(conll_fields(line));
    } else if (!blocks.back().empty()) {
      blocks.emplace_back();
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (blocks.back().empty()) blocks.pop_back();
  return blocks;
}

}  // namespace

namespace {

// The field of a line with tabs; empty where it has none.
std::string_view field_of(std::string_view line, size_t column) {
  for (; column > 0; --column) {
    line.remove_prefix(std::min(std::min(line.find('\t'), line.size()) + 1, line.size()));
  }
  return line.substr(0, line.find('\t'));
}

// The column of texts that the line names.
std::optional<size_t> named_texts(std::string_view line) {
  for (const std::string_view name : traits(Task::kTokenClassification).text_columns) {
    const auto tabs = static_cast<size_t>(std::ranges::count(line, '\t'));
    for (size_t i = 0; i <= tabs; ++i) {
      if (lower_ascii(trimmed(field_of(line, i))) == name) return i;
    }
  }
  return std::nullopt;
}

// Whether the first line names a column of texts, and most lines have several words there.
bool holds_sentences(std::string_view text) {
  constexpr size_t kMostLines = 100;
  std::optional<size_t> column;
  size_t lines = 0, sentences = 0;
  while (!text.empty() && lines < kMostLines) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (trimmed(line).empty()) continue;
    if (column) {
      ++lines;
      sentences += trimmed(field_of(line, *column)).find(' ') != std::string_view::npos;
    } else if (!(column = named_texts(line))) {
      return false;
    }
  }
  return lines > 0 && sentences * 2 >= lines;
}

}  // namespace

bool begins_sentence_table(std::string_view text, const ColumnChoice& choice) {
  std::vector<Column> columns;
  const std::string_view line = text.substr(0, std::min(text.find_first_of("\r\n"), text.size()));
  for (std::string& name : parted(line, "\t,")) columns.push_back({std::move(name), {}});
  const auto is_named = [&](const std::string& name) {
    return columns.size() > 1 && !name.empty() && !parse_number(name) && find_column(columns, name);
  };
  return names_words_and_tags(columns) || names_word_rows(columns) || is_named(choice.text) ||
         is_named(choice.label) || holds_sentences(text);
}

bool holds_plain_sentences(std::string_view text, const std::vector<std::string>& known_tags,
                           bool are_counted) {
  std::vector<ConllLines> blocks = blocks_of(text);
  size_t widest = 0, narrowest = SIZE_MAX, wide_lines = 0;
  for (const ConllLines& block : blocks) {
    for (const ConllFields& fields : block) {
      wide_lines += fields.size() > 1;
      widest = std::max(widest, fields.size());
      if (fields.size() > 1) narrowest = std::min(narrowest, fields.size());
    }
  }
  if (widest < 2) return false;
  if (widest == narrowest) {
    const ColumnLook first = look_at_column(blocks, 0);
    const bool has_tabs = text.find('\t') != std::string_view::npos;
    if (has_tabs || first.counts || first.is_place || first.is_id) return false;
    if (are_counted && first.may_count) return false;
  }
  const auto is_tag = [&](std::string_view field) {
    constexpr std::string_view kMissing = "-1 _ - ?";
    return is_iob_tag(field) || std::ranges::find(known_tags, field) != known_tags.end() ||
           is_one_of(kMissing, field);
  };
  // Whether the field `column`, or the last one, is a tag in all lines that have several.
  const auto holds_tags = [&](size_t column, bool is_last) {
    bool is_first = wide_lines > 1;
    for (const ConllLines& block : blocks) {
      for (const ConllFields& fields : block) {
        if (fields.size() < 2 || std::exchange(is_first, false)) continue;
        if (!is_tag(is_last ? fields.back() : fields[column])) return false;
      }
    }
    return true;
  };
  for (size_t column = 0; column < narrowest; ++column) {
    if (holds_tags(column, false)) return false;
  }
  return !holds_tags(0, true);
}

}  // namespace berth
