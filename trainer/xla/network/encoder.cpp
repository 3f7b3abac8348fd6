#include "trainer/model/part_names.h"
#include "trainer/xla/network/forward_pass.h"

namespace berth {
namespace {

// What follows attention in a layer, of the rows [N,H] with the numbers `rows`: both halves of the
// layer add dropout(output) to their input and normalize the sum.
Value finish_layer(ForwardPass& pass, int64_t layer, Value x, Value attended, Value rows) {
  const ModelConfig& config = pass.config;
  const LayerNames names = layer_names(config, layer);
  const Value projected = pass.adapted_linear(attended, names.attention_output, layer,
                                              LayerPart::kAttentionOutput, rows);
  const Value middle =
      pass.layer_norm(x + pass.dropout(projected, config.attention_output_dropout(),
                                       layer_site(layer, LayerSite::kAttentionOutput), rows),
                      names.attention_norm);
  const Value wide = activate(
      pass.adapted_linear(middle, names.intermediate, layer, LayerPart::kIntermediate, rows),
      config.hidden_act);  // [N,F]
  const Value output = pass.adapted_linear(wide, names.output, layer, LayerPart::kOutput, rows);
  return pass.layer_norm(
      middle + pass.dropout(output, config.feed_forward_dropout(),
                            layer_site(layer, LayerSite::kFeedForwardOutput), rows),
      names.output_norm);
}

}  // namespace

Value encode(ForwardPass& pass, bool recomputes) {
  const ModelConfig& config = pass.config;
  // The tokens that the head reads; empty: all.
  const Value picked = config.is_of_sequences() ? pass.batch.first_token : pass.batch.masked;
  const int64_t layers = config.num_hidden_layers;
  Value x = embed(pass);
  const Value positions = config.has_relative_positions() ? relative_positions(pass) : Value();
  for (int64_t layer = 0; layer < layers; ++layer) {
    if (recomputes) pass.graph().begin_part();
    Value input = x, rows = token_rows(pass);
    Value attended = attend(pass, layer, x, positions);
    // The head reads some tokens of the last layer's output, so only these are computed. A
    // convolution reads all.
    const bool is_last = layer + 1 == layers;
    const bool has_convolution = layer == 0 && config.conv_kernel_size > 0;
    if (picked && is_last && !has_convolution) {
      input = gather_rows(x, picked);
      attended = gather_rows(attended, picked);
      rows = gather_rows(rows, picked);
    }
    const Value output = finish_layer(pass, layer, input, attended, rows);
    x = has_convolution ? convolve(pass, x, output) : output;
    if (picked && is_last && has_convolution) x = gather_rows(x, picked);
    pass.graph().end_part();
  }
  return x;
}

}  // namespace berth
