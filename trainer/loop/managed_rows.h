#pragma once

#include <memory>
#include <optional>
#include <span>

#include "storage/base/checksum.h"
#include "storage/formats/row_reader.h"
#include "storage/storage.h"
#include "trainer/data/find_columns.h"
#include "trainer/model/task.h"

namespace berth {

// Whether these are columns of Vertex AI's managed text data sets (JSON lines that a training
// pipeline exports): textContent or textGcsUri, and annotations of one of three kinds.
bool names_managed_rows(std::span<const Column> columns);

// Such rows as other tables have them, for `task` or, where it is empty, for what the annotations
// are for:
// - classificationAnnotations: columns text and label. Several are a list of labels, none a missing
//   one.
// - sentimentAnnotation: text and label, the sentiment's number.
// - textSegmentAnnotations: words and tags (annotated_words()); without them, words alone where the
//   task is token classification.
// There is no column of labels where those are ignored. A text that begins with gs:// is that
// object's, several of which are read at once; `objects` becomes the checksum of all of them, in
// order. Borrows `storage` and `objects`. Throws kBadData, naming the line, on a row that is none.
std::unique_ptr<RowReader> make_managed_rows(std::unique_ptr<RowReader> rows, Storage& storage,
                                             Checksum& objects,
                                             LabelNeed need = LabelNeed::kIfPresent,
                                             std::optional<Task> task = {});

}  // namespace berth
