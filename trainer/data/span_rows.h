#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/json.h"
#include "storage/formats/row_reader.h"
#include "trainer/data/find_columns.h"
#include "trainer/model/task.h"

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

// A table whose texts have tags for spans. Spans of characters come from doccano, Label Studio and
// spaCy. Spans of words come from GLiNER's training data.
struct SpanRows {
  size_t text = 0;  // the column of texts, or of Label Studio's {"text": ...}, or of GLiNER's words
  size_t spans = 0;
  bool counts_words = false;  // the spans count words, and their ends are the last ones
  bool has_results = false;   // Label Studio's annotations, which may be unfinished
};

// Looks at the first rows. nullopt: it is no such table. A span is one of
//   [begin, end, "NAME"] or ["NAME", begin, end]
//   {"start": begin, "end": end, "label": "NAME"}   also start_offset, labels: ["NAME"], ...
//   {"value": {"start": begin, "end": end, "labels": ["NAME"]}}   in a list of results
// A list of spans is JSON, or what Python shows. If `task` is one of words, all lists may be empty.
// Throws kBadData where annotations say of a whole text what it is: Label Studio's choices, and
// spaCy's "cats" where no column has a usual name for labels.
std::optional<SpanRows> find_span_rows(std::span<const Column> columns, std::span<const Row> rows,
                                       const ColumnChoice& choice, std::optional<Task> task);

// The same table with words in place of the texts, and a tag for each word in place of the spans,
// as annotated_words() makes them. Spans are missing where no annotation of Label Studio is
// finished. `ignores_spans`: the tags are all O. next() throws kBadData
//   - on a span that makes no tags, or holds another text than the span says
//   - where annotations of one text differ, unless one of them is the ground truth
std::unique_ptr<RowReader> tag_words(std::unique_ptr<RowReader> rows, const SpanRows& layout,
                                     bool ignores_spans = false);

}  // namespace berth
