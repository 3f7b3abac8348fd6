#pragma once

#include <string_view>

#include "trainer/model/config.h"

namespace berth {

// The configuration of a BERT for two classes. The size is tiny (2 layers of 128), mini-lm (6 of
// 384), base or large; any other name throws kUsage.
ModelConfig bert_of_size(std::string_view name);

}  // namespace berth
