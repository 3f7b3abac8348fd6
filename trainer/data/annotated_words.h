#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "storage/base/json.h"

namespace berth {

// Returns the displayName of an annotation of any kind. Throws kBadData if it has none.
std::string display_name(const Json& annotation);

struct AnnotatedWords {
  std::vector<std::string> words;
  // One for each word: B-NAME where an annotation begins, I-NAME inside it, O outside.
  std::vector<std::string> tags;
  size_t cut_annotations = 0;  // annotations that begin or end inside a word
};

// Cuts a text into words and tags them by its annotations. Words end at whitespace and where an
// annotation begins or ends. Punctuation marks and CJK characters are words of their own, as in
// BERT's tokenizer. `text` is valid UTF-8. `annotations` is a JSON list of Vertex AI's
// textSegmentAnnotations in any order:
//   {"startOffset": 3, "endOffset": 7, "displayName": "NAME"}
// Offsets count code points of the text, and the end is excluded. As in the JSON of Protocol
// Buffers, offsets may be numbers or texts, and a start of 0 may be left out. Throws kBadData if an
// annotation is malformed or empty, lies outside the text or contains no word, and if two overlap.
AnnotatedWords annotated_words(std::string_view text, std::string_view annotations);

}  // namespace berth
