#pragma once

#include <memory>

#include "storage/storage.h"
#include "trainer/loop/options.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// The tokenizer of --model, a folder, archive, file or earlier job that need hold nothing else, or
// of --vocab-file alone. Throws kNotFound, naming the model, where there is none.
std::unique_ptr<Tokenizer> open_tokenizer(Storage& storage, const ModelOptions& options);

}  // namespace berth
