#pragma once

#include <optional>

#include "storage/base/json.h"
#include "trainer/data/label_form.h"

namespace berth {

// Writes a resolved form for job.json, without the members that have their default values.
OrderedJson to_json(const LabelForm& form);
// nullopt: `object` is not such a form.
std::optional<LabelForm> label_form_of(const Json& object);

}  // namespace berth
