#pragma once

#include <string_view>

namespace berth {

// The tokenizer class that transformers 5 has for a model_type and berth has not, or "". The type
// is in lower case, without "-" and "_". Two classes may read one tokenizer.json differently.
std::string_view foreign_class(std::string_view model_type);

}  // namespace berth
