#pragma once

#include <memory>

#include "storage/storage.h"
#include "trainer/loop/options.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// Opens the tokenizer of --model, or of --vocab-file alone. The model is a folder, archive, file or
// job directory, and needs no parameters. Throws kNotFound, with the name of the model, where there
// is no tokenizer.
std::unique_ptr<Tokenizer> open_tokenizer(Storage& storage, const ModelOptions& options);

}  // namespace berth
