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
  using enum Effect;
  using enum FlagGroup;
  return {
      {"learning-rate",
       {"lr"},
       kOptimization,
       "The peak learning rate, reached after warm-up. A narrow encoder needs a larger one, and so "
       "do random parameters. The defaults are for --optimizer adamw.",
       optional_real_value(optimization(&OptimizationOptions::learning_rate), kRate),
       {kDecides, kInTraining, kVaried},
       "by the encoder's width: 5e-5 from 768 on, 1.4e-4 for 384, 7.3e-4 for 128; in pre-training "
       "with --init random 2e-4 for 768, 5e-4 for 256, 8.9e-4 for 128"},
      {"lr-scheduler-type",
       {"lr-scheduler"},
       kOptimization,
       "How the learning rate changes after its peak: linear and cosine fall to --lr-end, "
       "polynomial falls to --lr-end or 1e-7, and constant_with_warmup stays at the peak. constant "
       "has no warm-up.",
       schedule_value(),
       {kDecides, kInTraining}},
      {"lr-end",
       {"end-lr"},
       kOptimization,
       "The learning rate at the end of the schedules that fall.",
       real_value(optimization(&OptimizationOptions::lr_end), kNotNegative),
       {kDecides, kInTraining}},
      {"lr-power",
       {},
       kOptimization,
       "The power of the polynomial schedule.",
       real_value(optimization(&OptimizationOptions::lr_power), kPower),
       {kDecides, kInTraining}},
      {"warmup-ratio",
       {"warmup-proportion"},
       kOptimization,
       "The fraction of all updates over which the learning rate rises from 0 to its peak.",
       real_value(optimization(&OptimizationOptions::warmup_ratio), kPart),
       {kDecides, kInTraining, kVaried}},
      {"warmup-steps",
       {"num-warmup-steps"},
       kOptimization,
       "The number of updates over which the learning rate rises, instead of --warmup-ratio.",
       optional_integer_value(optimization(&OptimizationOptions::warmup_steps), {0, kAnyCount}),
       {kDecides, kInTraining}},
      {"optimizer",
       {"optim", "optimizer-type"},
       kOptimization,
       "The optimizer: AdamW, or LAMB for batches of thousands of examples.",
       optimizer_value(),
       {kDecides, kInTraining}},
      {"adam-beta1",
       {},
       kOptimization,
       "The decay of the running mean of the gradients.",
       real_value(optimization(&OptimizationOptions::adam_beta1), kBelowOne),
       {kDecides, kInTraining}},
      {"adam-beta2",
       {},
       kOptimization,
       "The decay of the running mean of the squared gradients.",
       real_value(optimization(&OptimizationOptions::adam_beta2), kBelowOne),
       {kDecides, kInTraining}},
      {"adam-epsilon",
       {},
       kOptimization,
       "The term that is added to the root of the mean square. BERT was trained with 1e-6.",
       real_value(optimization(&OptimizationOptions::adam_epsilon), kDecay),
       {kDecides, kInTraining}},
      {"weight-decay",
       {"weight-decay-rate"},
       kOptimization,
       "The weight decay. Biases and layer norms do not decay.",
       real_value(optimization(&OptimizationOptions::weight_decay), kNotNegative),
       {kDecides, kInTraining, kVaried}},
      {"max-grad-norm",
       {},
       kOptimization,
       "Gradients whose norm is larger are scaled down to this norm. 0 means no clipping.",
       real_value(optimization(&OptimizationOptions::max_grad_norm), kNotNegative),
       {kDecides, kInTraining}},
      {"layerwise-lr-decay",
       {"layer-decay"},
       kOptimization,
       "The learning rate of each layer, as a fraction of the layer above it. The head has the "
       "full rate.",
       real_value(optimization(&OptimizationOptions::layerwise_lr_decay), kDecay),
       {kDecides, kInTraining}},
      {"label-smoothing",
       {"label-smoothing-factor"},
       kOptimization,
       "The fraction of each training target that is spread over all classes.",
       real_value(optimization(&OptimizationOptions::label_smoothing), kBelowOne),
       FlagRole(kDecides, kInTraining).heeded_by(tasks_that::have_cross_entropy)},
      {"class-weights",
       {},
       kOptimization,
       "The weight of each class in the loss: balanced, or one number for each label, in the order "
       "of the labels.",
       text_value("W,W,...", optimization(&OptimizationOptions::class_weights)),
       FlagRole(kDecides, kInTraining, kTaskIsRefusedLater).heeded_by(tasks_that::have_one_class),
       "every class has weight 1"},
      {"freeze-embeddings",
       {},
       kOptimization,
       "Do not train the embeddings.",
       switch_value(optimization(&OptimizationOptions::freeze_embeddings)),
       FlagRole(kDecides, kInTraining, kTaskIsRefusedLater)
           .heeded_by(tasks_that::train_one_network)},
      {"freeze-encoder-layers",
       {},
       kOptimization,
       "Do not train this many of the lowest layers, nor the embeddings.",
       integer_value(optimization(&OptimizationOptions::freeze_encoder_layers), {0, 1024}),
       FlagRole(kDecides, kInTraining, kTaskIsRefusedLater)
           .heeded_by(tasks_that::train_one_network)},
      {"lora-rank",
       {"lora-r"},
       kOptimization,
       "Low-rank adaptation: train only the head and adapters of this rank beside the dense "
       "layers. 0 trains the whole model. The adapters are merged into the exported model.",
       integer_value(adapter(&LoraOptions::rank), {0, 1024}),
       FlagRole(kDecides, kInTraining, kTaskIsRefusedLater)
           .heeded_by(tasks_that::train_one_network)},
      {"lora-alpha",
       {},
       kOptimization,
       "The outputs of the adapters are scaled by this number divided by the rank.",
       real_value(adapter(&LoraOptions::alpha), kAlpha),
       FlagRole(kDecides, kInTraining, kTaskIsRefusedLater)
           .heeded_by(tasks_that::train_one_network)
           .only_with("lora-rank", "adapter")},
      {"lora-target-modules",
       {},
       kOptimization,
       "The dense layers that get adapters, joined by commas, named as in PEFT: query, key, value, "
       "attention.output.dense, intermediate.dense, output.dense; or the end of a name that "
       "several share (dense), or all-linear.",
       text_value("NAMES", adapter(&LoraOptions::target_modules)),
       FlagRole(kDecides, kInTraining, kTaskIsRefusedLater)
           .heeded_by(tasks_that::train_one_network)
           .only_with("lora-rank", "adapter"),
       "each layer's query and value"},
      {"lora-dropout",
       {},
       kOptimization,
       "The dropout rate of the adapters' inputs in training.",
       real_value(adapter(&LoraOptions::dropout), kBelowOne),
       FlagRole(kDecides, kInTraining, kTaskIsRefusedLater)
           .heeded_by(tasks_that::train_one_network)
           .only_with("lora-rank", "adapter")},
      {"export-adapter",
       {},
       kOptimization,
       "Also write the adapters as PEFT files, into the folder adapter of the finished model.",
       switch_value(
           place(&CommandLine::settings, &Settings::output, &OutputOptions::export_adapter)),
       FlagRole(kDecides, kInTraining | kInExport, kTaskIsRefusedLater)
           .heeded_by(tasks_that::train_one_network)
           .only_with("lora-rank", "adapter")},
  };
}

}  // namespace berth
