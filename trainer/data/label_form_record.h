#pragma once

#include <optional>

#include "storage/base/json.h"
#include "trainer/data/label_form.h"

namespace berth {

// A settled form for job.json. Members with their default values are left out.
OrderedJson to_json(const LabelForm& form);
// nullopt: `object` is not such a form.
std::optional<LabelForm> label_form_of(const Json& object);

}  // namespace berth
