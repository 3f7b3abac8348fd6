#include "entrypoint/flags/flag_table.h"

namespace berth {
namespace {

constexpr RealRange kRate{0, 100, false, true, "a number above 0, at most 100"};
constexpr RealRange kNotNegative{0, 1e9, true, true, "a number from 0 to 1e9"};
constexpr RealRange kPart{0, 1, true, true, "a number from 0 to 1"};
constexpr RealRange kDecay{0, 1, false, true, "a number above 0, at most 1"};
constexpr RealRange kBelowOne{0, 1, true, false, "a number from 0 up to, not including, 1"};
constexpr RealRange kAlpha{0, 1e6, false, true, "a number above 0, at most 1e6"};
constexpr RealRange kPower{0, 100, false, true, "a number above 0, at most 100"};

auto optimization(auto member) {
  return place(&CommandLine::settings, &Settings::training, &TrainingOptions::optimization, member);
}

auto adapter(auto member) {
  return place(&CommandLine::settings, &Settings::training, &TrainingOptions::optimization,
               &OptimizationOptions::lora, member);
}

FlagValue schedule_value() {
  FlagValue value =
      choice_value<ScheduleType>(optimization(&OptimizationOptions::lr_scheduler_type),
                                 {{"linear", ScheduleType::kLinear},
                                  {"cosine", ScheduleType::kCosine},
                                  {"polynomial", ScheduleType::kPolynomial},
                                  {"constant", ScheduleType::kConstant},
                                  {"constant_with_warmup", ScheduleType::kConstantWithWarmup}});
  value.hint = "TYPE";
  return value;
}

FlagValue optimizer_value() {
  FlagValue value = choice_value<OptimizerType>(optimization(&OptimizationOptions::optimizer),
                                                {{"adamw", OptimizerType::kAdamW},
                                                 {"lamb", OptimizerType::kLamb},
                                                 {"adamw_torch", OptimizerType::kAdamW},
                                                 {"adamw_hf", OptimizerType::kAdamW}});
  value.hint = "adamw|lamb";
  return value;
}

}  // namespace

std::vector<Flag> optimization_flags() {
  using enum FlagGroup;
  return {
      {"learning-rate",
       {"lr"},
       kOptimization,
       "Peak rate, reached after the warm-up.",
       real_value(optimization(&OptimizationOptions::learning_rate), kRate)},
      {"lr-scheduler-type",
       {"lr-scheduler"},
       kOptimization,
       "How the rate goes on from its peak: linear or cosine (to --lr-end), polynomial (to 1e-7 at "
       "least), "
       "constant_with_warmup, or constant from the first update on.",
       schedule_value()},
      {"lr-end",
       {"end-lr"},
       kOptimization,
       "Where the schedules that go down end.",
       real_value(optimization(&OptimizationOptions::lr_end), kNotNegative)},
      {"lr-power",
       {},
       kOptimization,
       "Power of the polynomial schedule.",
       real_value(optimization(&OptimizationOptions::lr_power), kPower)},
      {"warmup-ratio",
       {"warmup-proportion"},
       kOptimization,
       "Part of all updates over which the rate rises from 0.",
       real_value(optimization(&OptimizationOptions::warmup_ratio), kPart)},
      {"warmup-steps",
       {"num-warmup-steps"},
       kOptimization,
       "Updates over which the rate rises from 0, in place of --warmup-ratio.",
       optional_integer_value(optimization(&OptimizationOptions::warmup_steps), {0, kAnyCount})},
      {"optimizer",
       {"optim", "optimizer-type"},
       kOptimization,
       "AdamW, or LAMB for batches of thousands.",
       optimizer_value()},
      {"adam-beta1",
       {},
       kOptimization,
       "How slowly the mean of the gradients forgets.",
       real_value(optimization(&OptimizationOptions::adam_beta1), kBelowOne)},
      {"adam-beta2",
       {},
       kOptimization,
       "How slowly the mean of their squares forgets.",
       real_value(optimization(&OptimizationOptions::adam_beta2), kBelowOne)},
      {"adam-epsilon",
       {},
       kOptimization,
       "Added to the root of that mean; BERT was trained with 1e-6.",
       real_value(optimization(&OptimizationOptions::adam_epsilon), kDecay)},
      {"weight-decay",
       {"weight-decay-rate"},
       kOptimization,
       "Decay of the weights; biases and layer norms are exempt.",
       real_value(optimization(&OptimizationOptions::weight_decay), kNotNegative)},
      {"max-grad-norm",
       {},
       kOptimization,
       "Gradients with a larger norm are scaled down to it; 0 means no clipping.",
       real_value(optimization(&OptimizationOptions::max_grad_norm), kNotNegative)},
      {"layerwise-lr-decay",
       {"layer-decay"},
       kOptimization,
       "Rate of a layer over that of the one above it; the head has the whole rate.",
       real_value(optimization(&OptimizationOptions::layerwise_lr_decay), kDecay)},
      {"label-smoothing",
       {"label-smoothing-factor"},
       kOptimization,
       "Part of each target that is spread over all classes, in training.",
       real_value(optimization(&OptimizationOptions::label_smoothing), kBelowOne)},
      {"class-weights",
       {},
       kOptimization,
       "What each class counts in the loss: balanced, or a number for each label in their order.",
       text_value("W,W,...", optimization(&OptimizationOptions::class_weights)),
       "all count alike"},
      {"freeze-embeddings",
       {},
       kOptimization,
       "The embeddings keep their values.",
       switch_value(optimization(&OptimizationOptions::freeze_embeddings))},
      {"freeze-encoder-layers",
       {},
       kOptimization,
       "So many of the lowest layers keep their values, and the embeddings with them.",
       integer_value(optimization(&OptimizationOptions::freeze_encoder_layers), {0, 1024})},
      {"lora-rank",
       {"lora-r"},
       kOptimization,
       "Low-rank adaptation: only the head and adapters of this rank, beside dense layers of each "
       "layer, learn; 0 means the whole model does. The exported model has them merged.",
       integer_value(adapter(&LoraOptions::rank), {0, 1024})},
      {"lora-alpha",
       {},
       kOptimization,
       "The adapters' outputs are scaled by this over their rank.",
       real_value(adapter(&LoraOptions::alpha), kAlpha)},
      {"lora-target-modules",
       {},
       kOptimization,
       "Dense layers that have adapters, as PEFT names them: query, key, value, "
       "attention.output.dense, intermediate.dense, output.dense, with commas; or a part of the "
       "name behind a dot that several share (dense), or all-linear.",
       text_value("NAMES", adapter(&LoraOptions::target_modules)),
       "each layer's query and value"},
      {"lora-dropout",
       {},
       kOptimization,
       "Part of the adapters' inputs that is dropped, in training.",
       real_value(adapter(&LoraOptions::dropout), kBelowOne)},
      {"export-adapter",
       {},
       kOptimization,
       "Keep the adapters, too, as PEFT's files in the finished model's folder adapter.",
       switch_value(
           place(&CommandLine::settings, &Settings::output, &OutputOptions::export_adapter))},
  };
}

}  // namespace berth
