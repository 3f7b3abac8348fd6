#include "storage/base/text.h"
#include "trainer/model/architecture.h"

namespace berth {

// transformers computes with these two numbers whatever the file says.
void parse_mpnet(const ConfigReader& read, ModelConfig& config) {
  constexpr int64_t kBuckets = 32, kPadding = 1;
  config.position_bias_buckets =
      read.integer("relative_attention_num_buckets", 1, 1 << 16, kBuckets);
  if (config.position_bias_buckets != kBuckets) {
    refuse_key("relative_attention_num_buckets",
               cat("is ", config.position_bias_buckets, "; MPNet has ", kBuckets));
  }
  if (config.pad_token_id != kPadding) {
    refuse_key("pad_token_id",
               cat("is ", config.pad_token_id, "; MPNet counts positions from ", kPadding));
  }
}

}  // namespace berth
