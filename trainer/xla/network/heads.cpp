#include "storage/base/error.h"
#include "trainer/model/part_names.h"
#include "trainer/xla/network/forward_pass.h"

namespace berth {
namespace {

// The mean of the tokens [T,H] of each sequence: [B,H]. The first token of a token's sequence has
// the token's number minus its place in the sequence.
Value sequence_means(const ForwardPass& pass, Value hidden) {
  const Value place = pass.batch.place, first = pass.batch.first_token;
  const int64_t tokens = hidden.size(0);
  const Dims shape = {first.size(0), tokens};
  const Value first_of_token =
      iota(pass.graph(), ElementType::kS32, {tokens}, 0) - reshape(place, {tokens});
  const Value is_member = compare(broadcast(first_of_token, shape, {1}), Comparison::kEqual,
                                  broadcast(first, shape, {0}));
  const Value members = convert(is_member, ElementType::kF32);
  const Value sums = dot(members, hidden, {.contracted_x = {1}, .contracted_y = {0}});
  return sums / broadcast(reduce_sum(members, {1}), sums.shape(), {0});
}

// classifier(dropout(norm(activation(dense(first))))): BERT's pooler and classifier, or the layers
// that the architecture has in their place. `first` [B,H] are the first tokens of the sequences, or
// `hidden` [T,H] are all tokens, whose means stand in for them.
Value sequence_logits(ForwardPass& pass, Value hidden) {
  const ModelConfig& config = pass.config;
  Value first = config.pools_mean ? sequence_means(pass, hidden) : hidden;
  const SequenceHeadNames names = sequence_head_names(config);
  const Value rows = pass.batch.sequence_number;
  if (names.drops_before_dense) {
    first = pass.dropout(first, config.pooler_dropout(), kFirstTokenSite, rows);
  }
  Value pooled = activate(pass.linear(first, names.dense), names.activation);
  if (!names.norm.empty()) pooled = pass.layer_norm(pooled, names.norm);
  return pass.linear(pass.dropout(pooled, config.head_dropout(), kClassifierSite, rows),
                     names.classifier);
}

Value token_logits(ForwardPass& pass, Value hidden) {
  const ModelConfig& config = pass.config;
  if (config.transforms_tokens()) {
    const TransformNames names = token_transform_names(config);
    hidden =
        pass.layer_norm(activate(pass.linear(hidden, names.dense), names.activation), names.norm);
  }
  return pass.linear(pass.dropout(hidden, config.head_dropout(), kClassifierSite, token_rows(pass)),
                     token_head_name(config));
}

// norm(activation(dense(hidden))) word^T + bias, with the word embeddings (Press and Wolf 2017,
// arXiv:1608.05859).
Value masked_logits(const ForwardPass& pass, Value hidden) {
  const MaskedLmHeadNames names = masked_lm_head_names(pass.config);
  const Value normalized =
      pass.layer_norm(activate(pass.linear(hidden, names.dense), names.activation), names.norm);
  // The logits of a vocabulary keep their precision, for a loss is a small difference of them.
  const Value logits = dot(pass.rounded(normalized), pass.rounded(pass.parameter(names.decoder)),
                           {.contracted_x = {1}, .contracted_y = {1}});
  return add_to_rows(logits, pass.parameter(names.bias));
}

}  // namespace

Value head_logits(ForwardPass& pass, Value hidden) {
  switch (traits(pass.config.task).rows) {
    case HeadRows::kSequences:
      return sequence_logits(pass, hidden);
    case HeadRows::kTokens:
      return token_logits(pass, hidden);
    case HeadRows::kGroups:
    case HeadRows::kPooled:
      throw Error(Code::kUsage, "text embeddings are computed on CPUs only", "--device");
    case HeadRows::kStates:
      throw Error(Code::kUsage, "hidden states are computed on CPUs only", "--device");
    case HeadRows::kReplaced:
      throw Error(Code::kUsage, "replaced tokens are detected on CPUs only", "--device");
    case HeadRows::kMasked:
      break;
  }
  return masked_logits(pass, hidden);
}

}  // namespace berth
