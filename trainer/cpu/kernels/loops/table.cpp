#include "trainer/cpu/kernels/loops/families.h"

#define BERTH_TEXT_OF(name) #name
#define BERTH_NAME_OF(name) BERTH_TEXT_OF(name)

namespace berth::BERTH_LOOPS {

const CpuLoops loops = {
    .instruction_set = BERTH_NAME_OF(BERTH_LOOPS),
    .add = add,
    .copy = copy,
    .to_bf16 = to_bf16,
    .from_bf16 = from_bf16,
    .add_to_double = add_to_double,
    .sum = sum,
    .sum_of_squares = sum_of_squares,
    .column_sums = column_sums,
    .activation_forward = {gelu, gelu_tanh, relu, tanh, silu},
    .activation_backward = {gelu_backward, gelu_tanh_backward, relu_backward, tanh_backward,
                            silu_backward},
    .dropout = dropout,
    .layer_norm_forward = layer_norm_forward,
    .layer_norm_recompute = layer_norm_recompute,
    .add_layer_norm_forward = add_layer_norm_forward,
    .layer_norm_backward = layer_norm_backward,
    .embedding = embedding,
    .attention_softmax = attention_softmax,
    .attention_softmax_backward = attention_softmax_backward,
    .dot = dot,
    .maximum = maximum,
    .sum_of_exp = sum_of_exp,
    .softmax = softmax,
    .adamw = adamw,
    .decay = decay,
    .lamb_direction = lamb_direction,
    .lamb_apply = lamb_apply,
};

}  // namespace berth::BERTH_LOOPS
