#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "storage/base/json.h"

namespace berth {

// An annotation's displayName, whatever its kind. Throws kBadData where there is none.
std::string display_name(const Json& annotation);

struct AnnotatedWords {
  std::vector<std::string> words;
  std::vector<std::string> tags;  // one a word: B-NAME where an annotation begins, I-NAME, or O
};

// The words of a text and what its annotations make of them. Words end at whitespace and where an
// annotation begins or ends; punctuation marks and CJK characters are words of their own, as BERT's
// tokenizer has them. `annotations` is a JSON list of Vertex AI's textSegmentAnnotations:
// {"startOffset": 3, "endOffset": 7, "displayName": "NAME"}, in code points of the text, the end
// excluded, numbers or texts as Protocol Buffers' JSON has them, a start of 0 left out; in any
// order. `text` is valid UTF-8. Throws kBadData on what is none, on one that is empty, leaves the
// text or holds no word, and on two that overlap.
AnnotatedWords annotated_words(std::string_view text, std::string_view annotations);

}  // namespace berth
