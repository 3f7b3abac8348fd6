#pragma once

#include <memory>

#include "storage/storage.h"
#include "trainer/loop/options.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// The tokenizer of the folder --model, which need hold nothing else, or of --vocab-file alone.
// Throws kNotFound, naming the folder, where there is none.
std::unique_ptr<Tokenizer> open_tokenizer(Storage& storage, const ModelOptions& options);

}  // namespace berth
