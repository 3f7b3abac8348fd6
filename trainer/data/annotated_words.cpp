#include "trainer/data/annotated_words.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/text/unicode.h"

namespace berth {
namespace {

struct Segment {
  uint64_t begin, end;  // in code points
  std::string name;
};

uint64_t offset_of(const Json& annotation, const char* key) {
  const auto found = annotation.find(key);
  if (found == annotation.end()) return 0;
  if (found->is_number_unsigned()) return *found;
  uint64_t offset = 0;
  if (found->is_string()) {
    const auto& digits = found->get_ref<const std::string&>();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), offset);
    if (error == std::errc() && end == digits.data() + digits.size()) return offset;
  }
  throw Error(Code::kBadData, cat(key, " ", to_text(*found), " is not an offset in a text"));
}

Segment segment_of(const Json& annotation) {
  std::string name = display_name(annotation);
  return {offset_of(annotation, "startOffset"), offset_of(annotation, "endOffset"),
          std::move(name)};
}

std::string described(const Segment& segment) {
  return cat("annotation ", quoted(segment.name), " from ", segment.begin, " to ", segment.end);
}

// The segments in the order of the text. Throws kBadData if one is malformed or they overlap.
std::vector<Segment> segments_of(std::string_view annotations, uint64_t text_size) {
  std::vector<Segment> segments;
  const Json list = parse_json(annotations);
  if (!list.is_array()) throw Error(Code::kBadData, "textSegmentAnnotations is not a list");
  for (const Json& annotation : list) segments.push_back(segment_of(annotation));
  std::sort(segments.begin(), segments.end(),
            [](const Segment& a, const Segment& b) { return a.begin < b.begin; });
  uint64_t last_end = 0;
  for (const Segment& segment : segments) {
    if (segment.begin >= segment.end || segment.end > text_size) {
      throw Error(Code::kBadData,
                  cat(described(segment), " is not a part of a text of ", text_size, " characters"),
                  "", "offsets count characters from 0, and the end is after the last");
    }
    if (segment.begin < last_end) {
      throw Error(Code::kBadData, described(segment) + " overlaps the one before it", "",
                  "a word has one tag: keep one of them");
    }
    last_end = segment.end;
  }
  return segments;
}

class WordCutter {
 public:
  explicit WordCutter(const std::vector<Segment>& segments) : segments_(segments) {}

  void add(uint64_t place, const DecodedCharacter& character, std::string_view bytes) {
    const uint8_t classes = classes_.of(character.code_point);
    const bool stands_alone = classes & (kPunctuation | kCjk);
    const bool is_inside_word = is_open_ && !stands_alone && !(classes & kWhitespace);
    while (segment_ < segments_.size() && place >= segments_[segment_].end) {
      is_cut_ = is_cut_ || is_inside_word;
      leave_segment();
    }
    if (segment_ < segments_.size() && place == segments_[segment_].begin) {
      is_cut_ = is_inside_word;
      is_open_ = false;
    }
    if (classes & kWhitespace) {
      is_open_ = false;
      return;
    }
    if (!is_open_ || stands_alone) begin_word(place);
    result_.words.back().append(bytes);
    is_open_ = !stands_alone;
  }

  AnnotatedWords finish() {
    while (segment_ < segments_.size()) leave_segment();
    return std::move(result_);
  }

 private:
  void begin_word(uint64_t place) {
    result_.words.emplace_back();
    if (segment_ == segments_.size() || place < segments_[segment_].begin) {
      result_.tags.emplace_back("O");
      return;
    }
    result_.tags.push_back((has_word_ ? "I-" : "B-") + segments_[segment_].name);
    has_word_ = true;
  }

  void leave_segment() {
    if (!has_word_) {
      throw Error(Code::kBadData, described(segments_[segment_]) + " holds no word");
    }
    ++segment_;
    result_.cut_annotations += is_cut_;
    has_word_ = is_open_ = is_cut_ = false;
  }

  const CharacterClasses& classes_ = CharacterClasses::shared();
  const std::vector<Segment>& segments_;
  size_t segment_ = 0;     // the first segment that does not end before the character
  bool is_cut_ = false;    // whether that segment begins or ends inside a word
  bool has_word_ = false;  // whether a word of that segment has begun
  bool is_open_ = false;   // the next character may belong to the last word
  AnnotatedWords result_;
};

}  // namespace

std::string display_name(const Json& annotation) {
  if (annotation.is_object() && annotation.contains("displayName") &&
      annotation["displayName"].is_string()) {
    return annotation["displayName"];
  }
  throw Error(Code::kBadData, "an annotation without displayName");
}

AnnotatedWords annotated_words(std::string_view text, std::string_view annotations) {
  const std::vector<Segment> segments = segments_of(annotations, count_characters(text));
  WordCutter cutter(segments);
  for (uint64_t place = 0; !text.empty(); ++place) {
    const DecodedCharacter character = decode_utf8(text);
    cutter.add(place, character, text.substr(0, character.size_bytes));
    text.remove_prefix(character.size_bytes);
  }
  return cutter.finish();
}

}  // namespace berth
