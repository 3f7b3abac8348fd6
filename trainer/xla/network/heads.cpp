#include "storage/base/error.h"
#include "trainer/model/part_names.h"
#include "trainer/xla/network/forward_pass.h"

namespace berth {
namespace {

// classifier(dropout(activation(dense(first)))): BERT's pooler and classifier, or what the
// architecture has in their place. `first` [B,H] are the first tokens of the sequences.
Value sequence_logits(ForwardPass& pass, Value first) {
  const ModelConfig& config = pass.config;
  const SequenceHeadNames names = sequence_head_names(config);
  const Value rows = pass.batch.sequence_number;
  if (names.drops_before_dense) {
    first = pass.dropout(first, config.pooler_dropout(), kFirstTokenSite, rows);
  }
  const Value pooled = activate(pass.linear(first, names.dense), names.activation);
  return pass.linear(pass.dropout(pooled, config.head_dropout(), kClassifierSite, rows),
                     names.classifier);
}

Value token_logits(ForwardPass& pass, Value hidden) {
  const ModelConfig& config = pass.config;
  return pass.linear(pass.dropout(hidden, config.head_dropout(), kClassifierSite, token_rows(pass)),
                     token_head_name(config));
}

// norm(activation(dense(hidden))) word^T + bias, with the word embeddings (Press and Wolf 2017,
// arXiv:1608.05859).
Value masked_logits(const ForwardPass& pass, Value hidden) {
  const MaskedLmHeadNames names = masked_lm_head_names(pass.config);
  const Value normalized =
      pass.layer_norm(activate(pass.linear(hidden, names.dense), names.activation), names.norm);
  const Value word = pass.parameter(embedding_names(pass.config).word + ".weight");
  return add_to_rows(pass.product(normalized, word), pass.parameter(names.bias));
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
