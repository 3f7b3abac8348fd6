#include "entrypoint/flags/foreign/foreign_flag.h"
#include "entrypoint/flags/foreign/foreign_rules.h"

namespace berth {

std::span<const ForeignFlag> trainer_flags() {
  static constexpr std::string_view kNoScaling = "berth has no fp16, and bf16 needs no scaling";
  static constexpr std::string_view kCompiles = "--device decides whether programs are compiled";
  static constexpr std::string_view kMetrics =
      "berth computes the metrics of the task as it evaluates";
  static constexpr std::string_view kResumes = "a checkpoint holds all that a resumed job needs";
  static constexpr std::string_view kLoader =
      "berth prepares batches on one thread beside training";
  static constexpr std::string_view kNoPadding =
      "batches have no padding, so texts of different lengths waste nothing";

  static constexpr ForeignFlag kRows[] = {
      // What to do.
      {"do_train", Form::kSwitch, Fate::kRule, {}, {}, rules::choose_mode},
      {"do_eval", Form::kSwitch, Fate::kRule, {}, {}, rules::choose_mode},
      {"do_predict", Form::kSwitch, Fate::kRule, {}, {}, rules::choose_mode},
      {"overwrite_output_dir", Form::kSwitch, Fate::kIgnored,
       "berth deletes no job; the same command resumes the one in --job-dir, and another command "
       "is refused there"},
      {"resume_from_checkpoint", Form::kValue, Fate::kRule, {}, {}, rules::resume},
      {"ignore_data_skip", Form::kSwitch, Fate::kIgnored,
       "a resumed job goes on with the row where it stopped, without reading the others"},
      {"restore_callback_states_from_checkpoint", Form::kSwitch, Fate::kIgnored, kResumes},
      // Batches.
      {"per_device_train_batch_size", Form::kValue, Fate::kRule, {}, {}, rules::multiply_batch},
      {"per_gpu_train_batch_size", Form::kValue, Fate::kRule, {}, {}, rules::multiply_batch},
      {"per_device_eval_batch_size", Form::kValue, Fate::kSame, "eval-batch-size"},
      {"per_gpu_eval_batch_size", Form::kValue, Fate::kSame, "eval-batch-size"},
      {"auto_find_batch_size", Form::kSwitch, Fate::kIgnored,
       "a batch that does not fit ends the job before the first update, with the one that does"},
      {"group_by_length", Form::kSwitch, Fate::kIgnored, kNoPadding},
      {"length_column_name", Form::kValue, Fate::kIgnored, kNoPadding},
      {"train_sampling_strategy", Form::kValue, Fate::kRefused,
       "berth shuffles the rows anew in every epoch", "random,group_by_length"},
      {"average_tokens_across_devices", Form::kSwitch, Fate::kIgnored,
       "a loss is always the mean over all words or texts of an update"},
      {"data_seed", Form::kValue, Fate::kIgnored, "--seed decides the order of the rows, too"},
      {"full_determinism", Form::kSwitch, Fate::kIgnored,
       "results always repeat bit for bit on the same kind of machine"},
      {"dataloader_num_workers", Form::kValue, Fate::kIgnored, kLoader},
      {"dataloader_in_order", Form::kSwitch, Fate::kIgnored, kLoader},
      {"dataloader_multiprocessing_context", Form::kValue, Fate::kIgnored, kLoader},
      {"dataloader_persistent_workers", Form::kSwitch, Fate::kIgnored, kLoader},
      {"dataloader_pin_memory", Form::kSwitch, Fate::kIgnored, kLoader},
      {"dataloader_prefetch_factor", Form::kValue, Fate::kIgnored, kLoader},
      {"remove_unused_columns", Form::kSwitch, Fate::kIgnored,
       "columns that training does not need are not read"},
      // Precision.
      {"bf16", Form::kSwitch, Fate::kMeans, "--precision=bf16"},
      {"bf16_full_eval", Form::kSwitch, Fate::kIgnored, "--precision holds for evaluation, too"},
      {"fp16", Form::kSwitch, Fate::kRule, {}, {}, rules::leave_precision},
      {"fp16_full_eval", Form::kSwitch, Fate::kRule, {}, {}, rules::leave_precision},
      {"fp16_backend", Form::kValue, Fate::kIgnored, kNoScaling},
      {"fp16_opt_level", Form::kValue, Fate::kIgnored, kNoScaling},
      {"half_precision_backend", Form::kValue, Fate::kIgnored, kNoScaling},
      {"tf32", Form::kSwitch, Fate::kRule, {}, {}, rules::leave_precision},
      // The model, the loss and the optimizer.
      {"activation_checkpointing", Form::kSwitch, Fate::kMeans, "--recompute"},
      {"activation_checkpointing_kwargs", Form::kValue, Fate::kIgnored,
       "--recompute has no variants"},
      {"gradient_checkpointing_kwargs", Form::kValue, Fate::kIgnored,
       "--recompute has no variants"},
      {"adafactor", Form::kSwitch, Fate::kRefused, "the optimizers are --optimizer adamw and lamb"},
      {"optim_args", Form::kValue, Fate::kRefused,
       "the optimizer's numbers are --adam-beta1, --adam-beta2 and --adam-epsilon"},
      {"optim_target_modules", Form::kList, Fate::kRefused,
       "the optimizers are --optimizer adamw and lamb, for all parameters alike"},
      {"lr_scheduler_kwargs", Form::kValue, Fate::kRefused,
       "--lr-end and --lr-power shape the schedule", "{}"},
      {"neftune_noise_alpha", Form::kValue, Fate::kRefused,
       "berth adds no noise to embeddings; leave the flag out"},
      {"use_cache", Form::kSwitch, Fate::kIgnored, "an encoder has no cache of keys and values"},
      {"past_index", Form::kValue, Fate::kIgnored, "an encoder has no past states"},
      {"torch_compile", Form::kSwitch, Fate::kIgnored, kCompiles},
      {"torch_compile_backend", Form::kValue, Fate::kIgnored, kCompiles},
      {"torch_compile_mode", Form::kValue, Fate::kIgnored, kCompiles},
      {"torchdynamo", Form::kValue, Fate::kIgnored, kCompiles},
      {"jit_mode_eval", Form::kSwitch, Fate::kIgnored, kCompiles},
      {"use_liger_kernel", Form::kSwitch, Fate::kIgnored, "berth has kernels of its own"},
      {"liger_kernel_config", Form::kValue, Fate::kIgnored, "berth has kernels of its own"},
      // Evaluation.
      {"eval_strategy", Form::kValue, Fate::kRule, {}, {}, rules::choose_evaluations},
      {"evaluation_strategy", Form::kValue, Fate::kRule, {}, {}, rules::choose_evaluations},
      {"evaluate_during_training", Form::kSwitch, Fate::kRule, {}, {}, rules::evaluate_at_logs},
      {"eval_all_checkpoints", Form::kSwitch, Fate::kIgnored,
       "the summaries have the scores of every evaluation; --eval-steps says how often to "
       "evaluate"},
      {"eval_delay", Form::kValue, Fate::kIgnored, "evaluations begin with the training"},
      {"eval_on_start", Form::kSwitch, Fate::kIgnored,
       "berth evaluates after the first updates; --mode eval scores a model without training"},
      {"eval_accumulation_steps", Form::kValue, Fate::kIgnored,
       "predictions of an evaluation leave the device with each batch"},
      {"eval_do_concat_batches", Form::kSwitch, Fate::kIgnored, kMetrics},
      {"eval_use_gather_object", Form::kSwitch, Fate::kIgnored, kMetrics},
      {"batch_eval_metrics", Form::kSwitch, Fate::kIgnored, kMetrics},
      {"include_for_metrics", Form::kList, Fate::kIgnored, kMetrics},
      {"include_inputs_for_metrics", Form::kSwitch, Fate::kIgnored, kMetrics},
      {"prediction_loss_only", Form::kSwitch, Fate::kIgnored, kMetrics},
      {"greater_is_better", Form::kSwitch, Fate::kIgnored,
       "berth knows of each metric whether more is better"},
      // Checkpoints.
      {"save_strategy", Form::kValue, Fate::kRule, {}, {}, rules::choose_saves},
      {"save_only_model", Form::kSwitch, Fate::kIgnored, kResumes},
      {"save_safetensors", Form::kSwitch, Fate::kIgnored, "berth always writes safetensors"},
      {"save_on_each_node", Form::kSwitch, Fate::kIgnored, "a job has one machine"},
      {"enable_jit_checkpoint", Form::kSwitch, Fate::kIgnored,
       "SIGTERM always makes a job save before it ends"},
  };
  return kRows;
}

}  // namespace berth
