#include "trainer/data/odd_texts.h"

#include <algorithm>

#include "storage/base/text.h"
#include "trainer/data/cell_text.h"

namespace berth {
namespace {

// More texts show nothing more.
constexpr size_t kMostTexts = 10'000;

// Whether the text has one of HTML's entities: "&amp;", "&#39;".
bool has_entity(std::string_view text) {
  for (size_t at = text.find('&'); at != text.npos; at = text.find('&', at + 1)) {
    const std::string_view rest = text.substr(at + 1, 6);
    for (const std::string_view name : {"amp;", "lt;", "gt;", "quot;", "nbsp;", "apos;"}) {
      if (rest.starts_with(name)) return true;
    }
    const size_t end = rest.find(';');
    const bool is_number = rest.starts_with('#') && end != rest.npos && end > 1;
    if (is_number && parse_number(rest.substr(1, end - 1))) return true;
  }
  return false;
}

// UTF-8 that was read as windows-1252 or Latin-1 and written again: A with a tilde before a
// character from U+0080 to U+00BF, or the beginning of a typographic quote.
bool has_mojibake(std::string_view text) {
  if (text.find("\xC3\xA2\xE2\x82\xAC") != text.npos) return true;
  for (size_t at = text.find('\xC3'); at != text.npos; at = text.find('\xC3', at + 1)) {
    const std::string_view rest = text.substr(at);
    const bool begins = rest.starts_with("\xC3\x83") || rest.starts_with("\xC3\x82");
    if (begins && rest.size() > 3 && rest[2] == '\xC2') return true;
  }
  return false;
}

// Whether the text has an escape of JSON or Python: "\u00e9".
bool has_escape(std::string_view text) {
  for (size_t at = text.find("\\u"); at != text.npos; at = text.find("\\u", at + 1)) {
    const std::string_view digits = text.substr(at + 2, 4);
    if (digits.size() == 4 && digits.find_first_not_of("0123456789abcdefABCDEF") == digits.npos) {
      return true;
    }
  }
  return false;
}

bool is_enclosed(std::string_view text, std::string_view quotes) {
  return text.size() > 1 && text.front() == text.back() && quotes.find(text[0]) != quotes.npos;
}

}  // namespace

void OddTexts::count(Kind kind, std::string_view text) {
  if (found_[kind].count++ == 0) found_[kind].example = text.substr(0, 200);
}

void OddTexts::add(std::string_view text) {
  if (texts_ == kMostTexts) return;
  ++texts_;
  if (has_entity(text)) count(kEntities, text);
  if (has_mojibake(text)) count(kMojibake, text);
  if (text.find("\xEF\xBF\xBD") != text.npos) count(kReplaced, text);
  if (has_escape(text)) count(kEscapes, text);
  const std::string_view inner = trimmed(text);
  const bool is_bytes = inner.starts_with('b') && is_enclosed(inner.substr(1), "'\"");
  if (is_bytes) count(kBytes, inner);
  if (parse_real(inner)) count(kNumbers, inner);
  if (!are_texts_) return;
  const std::string_view formula = inner.substr(inner.starts_with('='));
  if (is_enclosed(formula, "'\"")) count(kQuotes, inner);
  if (means_missing(inner)) count(kMissing, inner);
}

std::vector<Finding> OddTexts::findings(const std::string& column) const {
  constexpr std::array<std::string_view, kKinds> kWhat = {
      "have entities of HTML, which are read as they stand; html.unescape of Python decodes them",
      "look like UTF-8 that was read in another encoding and written again; ftfy.fix_text of "
      "Python repairs them",
      "have U+FFFD, which a program writes in place of what it could not decode; read the file "
      "again in its own encoding",
      "have escapes such as \\u00e9, which are read as they stand",
      "are written as bytes of Python, b'...', and the mark is read, too; decode() makes them "
      "texts",
      "are enclosed in quotes that are read, too; a quote encloses a field only if it is \" and "
      "stands directly behind the delimiter",
      "are numbers; --text-column names the column of texts",
      "are words that pandas takes for missing values, and are read as texts"};
  std::vector<Finding> findings;
  for (size_t kind = 0; kind < kKinds; ++kind) {
    const Found& found = found_[kind];
    // All texts of a file are written by one program, but some texts speak of HTML.
    const bool is_of_all = kind == kBytes || kind == kQuotes || kind == kNumbers;
    const bool are_many = is_of_all ? found.count == texts_ : found.count * 20 > texts_;
    if (found.count == 0 || !are_many || (is_of_all && texts_ < 3)) continue;
    findings.push_back({"",
                        cat(found.count, " of the first ", texts_, " texts of column ",
                            quoted(column), ", such as ", quoted(found.example), ", ", kWhat[kind]),
                        /*is_warning=*/true});
  }
  return findings;
}

}  // namespace berth
