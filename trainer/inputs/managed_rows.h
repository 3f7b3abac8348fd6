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

// Reads such rows in the form that other tables have. The form suits `task` or, if that is empty,
// the kind of the annotations:
// - classificationAnnotations give the columns text and label. Several annotations make a list of
//   labels, and no annotation makes a missing label.
// - sentimentAnnotation gives the columns text and label. The label is the number of the sentiment.
// - textSegmentAnnotations give words and tags (annotated_words()). Without annotations, token
//   classification has only words.
// If labels are ignored, there is no column of labels. A text that begins with gs:// names an
// object that holds the text. Several objects are read at the same time, and `objects` becomes the
// checksum of all of them in order. Borrows `storage` and `objects`. Throws kBadData, naming the
// line, on a malformed row.
std::unique_ptr<RowReader> make_managed_rows(std::unique_ptr<RowReader> rows, Storage& storage,
                                             Checksum& objects,
                                             LabelNeed need = LabelNeed::kIfPresent,
                                             std::optional<Task> task = {});

}  // namespace berth
