#include "trainer/model/part_names.h"
#include "trainer/xla/network/forward_pass.h"

namespace berth {
namespace {

// Rows of a table by ids [T]. The row `padding`, if there is one (>= 0), never learns.
Value look_up(const ForwardPass& pass, const std::string& name, Value ids, int64_t padding) {
  const Value flat = reshape(ids, {ids.type().elements()});
  const Value rows = gather_rows(pass.parameter(name + ".weight"), flat);  // [T,E]
  if (padding < 0) return rows;
  const Value is_padding = compare(flat, Comparison::kEqual, static_cast<double>(padding));
  return select(broadcast(is_padding, rows.shape(), {0}), stop_gradient(rows), rows);
}

}  // namespace

Value embed(ForwardPass& pass) {
  const ModelConfig& config = pass.config;
  const EmbeddingNames names = embedding_names(config);
  Value x = look_up(pass, names.word, pass.batch.input_ids, config.pad_token_id);
  if (!names.position.empty()) {
    const int64_t padding = config.counts_from_padding() ? config.pad_token_id : -1;
    x = x + look_up(pass, names.position, pass.batch.position_ids, padding);
  }
  if (!names.token_type.empty()) {
    x = x + look_up(pass, names.token_type, pass.batch.token_type_ids, -1);
  }
  x = pass.dropout(pass.layer_norm(x, names.norm), config.hidden_dropout_prob, kEmbeddingsSite,
                   token_rows(pass));
  return names.projection.empty() ? x : pass.linear(x, names.projection);
}

}  // namespace berth
