#pragma once

#include "trainer/model/update.h"
#include "trainer/xla/network/forward_pass.h"

namespace berth {

// The sum of weighted losses and the sum of the weights, of what has labels. f32.
struct Loss {
  Value sum, weights;
  Value second_sum{}, second_weights{};  // of a task whose loss is a sum of two means
};
// Without a loss, both are 0. Where several sequences are an example, each replica computes the
// loss of all replicas' examples.
Loss loss_of(const ForwardPass& pass, const HeadOutputs& outputs, const LossOptions& options);

// What Engine::infer() gives: the logits, or what the task has in their place. Tokens are [R,S,C].
// With next sentences there are the rows of masked tokens [M,2], and then the rows of sequences
// [B,2].
Value inferred(const ForwardPass& pass, const HeadOutputs& outputs);

// The ids that a generator draws for masked tokens from the softmax of their logits [M,V]: numbers,
// f32 [M]. A token without a label has -1.
Value drawn_ids(const BatchInputs& batch, Value logits);

// log(sum(exp(x))) of each row of x [N,C].
Value log_sum_exp(Value x);
// x[n, columns[n]]; 0 where there is no such column.
Value pick(Value x, Value columns);
// Of losses [N] with their weights [N].
Loss sum_of(Value losses, Value weights);

}  // namespace berth
