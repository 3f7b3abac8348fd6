#pragma once

#include <memory>
#include <optional>
#include <span>

#include "storage/formats/row_reader.h"
#include "trainer/data/find_columns.h"
#include "trainer/model/task.h"

namespace berth {

// A table whose texts have tags for spans of characters, as doccano, Label Studio and spaCy write
// them.
struct SpanRows {
  size_t text = 0;  // the column of texts, or of Label Studio's {"text": ...}
  size_t spans = 0;
};

// Looks at the first rows. nullopt: it is no such table. A span is one of
//   [begin, end, "NAME"]
//   {"start": begin, "end": end, "label": "NAME"}   also start_offset, labels: ["NAME"], ...
//   {"value": {"start": begin, "end": end, "labels": ["NAME"]}}   in a list of results
std::optional<SpanRows> find_span_rows(std::span<const Column> columns, std::span<const Row> rows,
                                       const ColumnChoice& choice, std::optional<Task> task);

// The same table with words in place of the texts, and a tag for each word in place of the spans,
// as annotated_words() makes them. next() throws kBadData on a span that makes no tags.
std::unique_ptr<RowReader> tag_words(std::unique_ptr<RowReader> rows, const SpanRows& layout);

}  // namespace berth
