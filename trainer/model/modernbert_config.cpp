#include <nlohmann/json.hpp>

#include "storage/base/text.h"
#include "trainer/model/architecture.h"

namespace berth {
namespace {

constexpr double kLargestTheta = 1e12;
constexpr const char* kLayerTypes = "layer_types";

// Which layers attend locally. transformers 5 lists all layers; before, every n-th was global.
std::vector<bool> local_layers(const ConfigReader& read, const Json& object, int64_t layers) {
  std::vector<bool> local(static_cast<size_t>(layers));
  const auto found = object.find(kLayerTypes);
  if (found == object.end() || found->is_null()) {
    const int64_t every = read.integer("global_attn_every_n_layers", 1, 1024, 3);
    for (size_t i = 0; i < local.size(); ++i) local[i] = static_cast<int64_t>(i) % every != 0;
    return local;
  }
  if (!found->is_array() || found->size() != local.size()) {
    refuse_key(kLayerTypes, cat("must list ", layers, " layers, as num_hidden_layers says"));
  }
  for (size_t i = 0; i < local.size(); ++i) {
    const Json& layer = (*found)[i];
    local[i] = layer == "sliding_attention";
    if (!local[i] && layer != "full_attention") {
      refuse_key(kLayerTypes, "names more than full_attention and sliding_attention");
    }
  }
  return local;
}

// The base of rotary positions of one kind of layers.
double theta_of(const Json& object, const char* kind, const char* older_key, double fallback) {
  const ConfigReader older(object);
  if (!older.json("rope_scaling").empty()) {
    refuse_key("rope_scaling", "is set; berth does not scale rotary positions");
  }
  const double base = older.number(older_key, 1, kLargestTheta).value_or(fallback);
  const auto all = object.find("rope_parameters");
  if (all == object.end() || !all->is_object()) return base;
  const auto found = all->find(kind);
  if (found == all->end() || !found->is_object()) return base;
  const ConfigReader read(*found);
  if (const std::string type = read.text("rope_type", "default"); type != "default") {
    refuse_key("rope_parameters", "has the rope_type " + quoted(type) + "; known is default");
  }
  return read.number("rope_theta", 1, kLargestTheta).value_or(base);
}

}  // namespace

void parse_modernbert(const ConfigReader& read, ModelConfig& config) {
  const Json& object = read.object();
  config.normalizes_first = config.is_gated = config.has_joined_qkv = true;
  config.has_absolute_positions = false;
  config.has_attention_bias = read.flag("attention_bias", false);
  config.has_mlp_bias = read.flag("mlp_bias", false);
  config.has_norm_bias = read.flag("norm_bias", false);
  config.has_classifier_bias = read.flag("classifier_bias", false);
  if (!read.flag("decoder_bias", true)) {
    refuse_key("decoder_bias", "is false; the masked-LM heads of berth have a bias");
  }
  if (config.head_size() % 2 != 0) {
    refuse_key("num_attention_heads", "gives heads of an odd size, which cannot be rotated");
  }
  const auto cutoff = object.find("initializer_cutoff_factor");
  const bool has_no_cutoff = cutoff != object.end() && cutoff->is_null();
  config.initializer_cutoff_factor =
      read.number("initializer_cutoff_factor", 0.1, 100).value_or(has_no_cutoff ? 3 : 2);
  const std::string pooling = read.text("classifier_pooling", "cls");
  if (pooling != "cls" && pooling != "mean") {
    refuse_key("classifier_pooling", "is " + quoted(pooling) + "; known are cls and mean");
  }
  config.pools_mean = pooling == "mean";
  config.pooler_act = read.activation("classifier_activation", "gelu");
  config.local_attention = read.integer("local_attention", 2, 1 << 20, 128);
  // transformers 5 sets twice this key's value over the other's.
  const int64_t half = read.integer("sliding_window", 1, 1 << 19, config.local_attention / 2);
  if (half != config.local_attention / 2) config.local_attention = 2 * half;
  config.local_layers = local_layers(read, object, config.num_hidden_layers);
  config.rope_theta = theta_of(object, "full_attention", "global_rope_theta", 160000);
  // transformers 4 takes a local base of null as "the same".
  const auto local = object.find("local_rope_theta");
  const bool is_the_same = local != object.end() && local->is_null();
  config.local_rope_theta = theta_of(object, "sliding_attention", "local_rope_theta",
                                     is_the_same ? config.rope_theta : 10000);
}

}  // namespace berth
