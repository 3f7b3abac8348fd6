#include "entrypoint/job/open_tokenizer.h"

#include <string>

#include "storage/base/error.h"
#include "trainer/loop/model_folder.h"
#include "trainer/text/load_tokenizer.h"

namespace berth {

std::unique_ptr<Tokenizer> open_tokenizer(Storage& storage, const ModelOptions& options) {
  ModelFolder folder(storage, options, ModelNeed::kTokenizer);
  try {
    return load_tokenizer([&](std::string_view name) { return folder.text(name); },
                          {.do_lower_case = options.do_lower_case});
  } catch (const Error& error) {
    if (error.code() == Code::kNotFound && !error.where().empty()) throw;  // it names a file
    throw error.at(
        Uri::parse(options.model.empty() ? options.vocab_file : options.model).to_string());
  }
}

}  // namespace berth
