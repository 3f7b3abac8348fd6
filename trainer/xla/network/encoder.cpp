#include "trainer/model/part_names.h"
#include "trainer/xla/network/forward_pass.h"

namespace berth {
namespace {

// What a layer, or half of one, makes of its rows [N,H]: `y` is normalized `sum`. Post-normalized
// layers (Vaswani et al. 2017, arXiv:1706.03762) add to y, and pre-normalized ones (Xiong et al.
// 2020, arXiv:2002.04745) to the sum.
struct Normalized {
  Value y, sum;
};

// norm(residual + dropout(output))
Normalized add_and_normalize(ForwardPass& pass, const Normalized& input, Value dropped,
                             const std::string& norm) {
  // A post-normalized layer only normalizes the sum. Pre-normalized layers all add to it.
  const Value sum =
      pass.config.normalizes_first ? input.sum + dropped : pass.kept(input.y + dropped);
  return {.y = pass.layer_norm(sum, norm), .sum = sum};
}

// The activations [N,F] in the middle of the feed-forward part. A gated layer has
// dropout(activation(a) * b) (Shazeer 2020, arXiv:2002.05202).
Value feed_forward_activations(ForwardPass& pass, int64_t layer, Value x, Value rows) {
  const ModelConfig& config = pass.config;
  const LayerNames names = layer_names(config, layer);
  const Value wide =
      pass.adapted_linear(x, names.intermediate, layer, LayerPart::kIntermediate, rows);
  if (!config.is_gated) return activate(wide, config.hidden_act);
  const int64_t width = config.intermediate_size;
  const Value gated =
      names.gate.empty()
          ? activate(slice(wide, 1, 0, width), config.hidden_act) * slice(wide, 1, width, 2 * width)
          : activate(pass.adapted_linear(x, names.gate, layer, LayerPart::kGate, rows),
                     config.hidden_act) *
                wide;
  return pass.dropout(gated, config.mlp_dropout, layer_site(layer, LayerSite::kFeedForwardOutput),
                      rows);
}

// What follows attention in a layer, of the rows with the numbers `rows`.
Normalized finish_layer(ForwardPass& pass, int64_t layer, const Normalized& x, Value attended,
                        Value rows) {
  const ModelConfig& config = pass.config;
  const LayerNames names = layer_names(config, layer);
  const Value projected = pass.adapted_linear(attended, names.attention_output, layer,
                                              LayerPart::kAttentionOutput, rows);
  const Normalized middle =
      add_and_normalize(pass, x,
                        pass.dropout(projected, config.attention_output_dropout(),
                                     layer_site(layer, LayerSite::kAttentionOutput), rows),
                        names.attention_norm);
  const Value wide = feed_forward_activations(pass, layer, middle.y, rows);
  const Value output = pass.adapted_linear(wide, names.output, layer, LayerPart::kOutput, rows);
  return add_and_normalize(pass, middle,
                           pass.dropout(output, config.feed_forward_dropout(),
                                        layer_site(layer, LayerSite::kFeedForwardOutput), rows),
                           names.output_norm);
}

}  // namespace

Value encode(ForwardPass& pass, bool recomputes) {
  const ModelConfig& config = pass.config;
  // The tokens that the head reads; empty: all.
  const Value selected = config.reads_first_tokens() ? pass.batch.first_token : pass.batch.masked;
  const int64_t layers = config.num_hidden_layers;
  Normalized x;
  x.y = x.sum = embed(pass);
  const Value positions = config.has_relative_positions() ? relative_positions(pass) : Value();
  if (config.position_bias_buckets > 0) pass.position_bias = position_bias(pass);
  for (int64_t layer = 0; layer < layers; ++layer) {
    if (recomputes) pass.graph().begin_part();
    Normalized input = x;
    Value rows = token_rows(pass);
    Value attended = attend(pass, layer, x.y, positions);
    // The head reads some tokens of the last layer's output, so only these are computed. A
    // convolution reads all.
    const bool is_last = layer + 1 == layers;
    const bool has_convolution = layer == 0 && config.conv_kernel_size > 0;
    if (selected && is_last && !has_convolution) {
      input = {.y = gather_rows(x.y, selected), .sum = gather_rows(x.sum, selected)};
      attended = gather_rows(attended, selected);
      rows = gather_rows(rows, selected);
    }
    const Normalized output = finish_layer(pass, layer, input, attended, rows);
    const Value before = x.y;
    x = output;
    if (has_convolution) x.y = convolve(pass, before, output.y);
    if (selected && is_last && has_convolution) x.y = gather_rows(x.y, selected);
    pass.graph().end_part();
  }
  return x.y;
}

}  // namespace berth
