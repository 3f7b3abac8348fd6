#include "trainer/model/bert_sizes.h"

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {

ModelConfig bert_of_size(std::string_view name) {
  struct Size {
    const char* name;
    int64_t layers, hidden, heads;
  };
  for (const Size& size : {Size{"tiny", 2, 128, 2}, Size{"mini-lm", 6, 384, 12},
                           Size{"base", 12, 768, 12}, Size{"large", 24, 1024, 16}}) {
    if (name != size.name) continue;
    return {.vocab_size = 30522,
            .hidden_size = size.hidden,
            .num_hidden_layers = size.layers,
            .num_attention_heads = size.heads,
            .intermediate_size = 4 * size.hidden,
            .max_position_embeddings = 512,
            .labels = {"no", "yes"}};
  }
  throw Error(Code::kUsage, cat("no such model: ", name));
}

}  // namespace berth
