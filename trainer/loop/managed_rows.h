#pragma once

#include <memory>
#include <span>

#include "storage/formats/row_reader.h"
#include "storage/storage.h"
#include "trainer/data/find_columns.h"

namespace berth {

// Whether these are columns of Vertex AI's managed text data sets (JSON lines that a training
// pipeline exports): textContent or textGcsUri, and classificationAnnotations.
bool names_managed_rows(std::span<const Column> columns);

// Such rows as columns text and label; a text that begins with gs:// is that object's, several of
// which are read at once. Several annotations are a list of labels, none a missing one; there is no
// such column where labels are ignored. Borrows `storage`. Throws kBadData, naming the line, on a
// row that is none.
std::unique_ptr<RowReader> make_managed_rows(std::unique_ptr<RowReader> rows, Storage& storage,
                                             LabelNeed need = LabelNeed::kIfPresent);

}  // namespace berth
