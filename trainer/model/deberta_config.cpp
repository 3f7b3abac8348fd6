#include <algorithm>

#include "storage/base/text.h"
#include "trainer/model/architecture.h"

namespace berth {
namespace {

constexpr const char* kPublished = "; in every published DeBERTa-v2 and v3 it is";

// Refuses settings that berth does not support, because the model would silently be a different
// one.
void check_published(const ConfigReader& read, const ModelConfig& config) {
  for (const char* key : {"relative_attention", "share_att_key"}) {
    if (!read.flag(key, false)) refuse_key(key, cat("is not true", kPublished));
  }
  const std::string terms = read.json("pos_att_type");  // "p2c|c2p" or a list
  if (terms.find("c2p") == std::string::npos || terms.find("p2c") == std::string::npos) {
    refuse_key("pos_att_type", "does not name both p2c and c2p, as every published model does");
  }
  for (const char* key : {"embedding_size", "pooler_hidden_size"}) {
    if (read.integer(key, 1, 1 << 16, config.hidden_size) != config.hidden_size) {
      refuse_key(key, cat("is not hidden_size", kPublished));
    }
  }
  if (read.integer("attention_head_size", 1, 1 << 16, config.head_size()) != config.head_size()) {
    refuse_key("attention_head_size", cat("is not hidden_size / num_attention_heads", kPublished));
  }
}

// The convolution of DeBERTa-v2 xlarge and xxlarge has kernel size 3, GELU and one group.
void parse_convolution(const ConfigReader& read, ModelConfig& config) {
  config.conv_kernel_size = read.integer("conv_kernel_size", 0, 63, 0);
  if (config.conv_kernel_size == 0) return;
  if (config.conv_kernel_size % 2 == 0) {
    refuse_key("conv_kernel_size",
               cat("(", config.conv_kernel_size, ") must be odd, for a token to be in its middle"));
  }
  // The convolution reads the first layer's outputs for all tokens. The last layer computes its
  // outputs only for the tokens that the head reads, so the two must be different layers.
  if (config.num_hidden_layers < 2) {
    refuse_key("conv_kernel_size", "needs at least 2 layers (num_hidden_layers)");
  }
  if (read.integer("conv_groups", 1, 1 << 16, 1) != 1) {
    refuse_key("conv_groups", cat("is not 1", kPublished));
  }
  config.conv_act = read.activation("conv_act", "tanh");
}

}  // namespace

void parse_deberta(const ConfigReader& read, ModelConfig& config) {
  check_published(read, config);
  const std::string norm = read.text("norm_rel_ebd", "none");
  if (norm != "none" && norm != "layer_norm") {
    refuse_key("norm_rel_ebd", "is " + quoted(norm) + "; berth knows \"none\" and \"layer_norm\"");
  }
  config.normalizes_relative_positions = norm == "layer_norm";
  config.has_absolute_positions = read.flag("position_biased_input", true);
  config.max_relative_positions = read.integer("max_relative_positions", -1, 1 << 20, -1);
  if (config.max_relative_positions < 1) {
    config.max_relative_positions = config.max_position_embeddings;
  }
  config.position_buckets = std::max<int64_t>(0, read.integer("position_buckets", -1, 1 << 20, -1));
  const int64_t middle = config.position_buckets / 2;
  if (config.position_buckets > 0 && (middle < 2 || config.max_relative_positions < middle + 2)) {
    refuse_key("position_buckets",
               cat("(", config.position_buckets, ") must be 4 at least, and less than twice ",
                   "max_relative_positions (", config.max_relative_positions, ")"));
  }
  parse_convolution(read, config);
  config.pooler_act = read.activation("pooler_hidden_act", "gelu");
  config.context_pooler_dropout = read.number("pooler_dropout", 0, 0.99).value_or(0);
}

}  // namespace berth
