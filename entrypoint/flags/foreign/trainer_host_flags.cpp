#include "entrypoint/flags/foreign/foreign_flag.h"
#include "entrypoint/flags/foreign/foreign_rules.h"

namespace berth {

std::span<const ForeignFlag> trainer_host_flags() {
  static constexpr std::string_view kOneMachine =
      "one process drives all devices of the machine, each with the whole model";
  static constexpr std::string_view kNoHub =
      "berth uploads nothing to the hub; after the job, `hf upload REPO JOB_DIR/model` does";
  static constexpr std::string_view kHubDetail = "berth uploads nothing to the hub";
  static constexpr std::string_view kNoTracker =
      "berth writes TensorBoard summaries into --summary-dir, and reports to no tracking service";
  static constexpr std::string_view kLogs = "the log and the summaries always tell it";

  static constexpr ForeignFlag kRows[] = {
      // Devices and processes.
      {"no_cuda", Form::kSwitch, Fate::kMeans, "--device=cpu"},
      {"use_cpu", Form::kSwitch, Fate::kMeans, "--device=cpu"},
      {"use_mps_device", Form::kSwitch, Fate::kRefused,
       "leave it out; the devices are --device cpu, "
       "tpu and gpu"},
      {"use_habana", Form::kSwitch, Fate::kRefused,
       "berth trains on CPUs, TPUs and GPUs of NVIDIA"},
      {"ipu_config_name", Form::kValue, Fate::kRefused,
       "berth trains on CPUs, TPUs and GPUs of NVIDIA"},
      {"gaudi_config_name", Form::kValue, Fate::kIgnored, "berth has kernels of its own"},
      {"use_ipex", Form::kSwitch, Fate::kIgnored, "berth has kernels of its own"},
      {"tpu_num_cores", Form::kValue, Fate::kIgnored,
       "all TPUs of the machine share every batch; --devices takes fewer"},
      {"tpu_metrics_debug", Form::kSwitch, Fate::kIgnored, "--log-level debug tells more"},
      {"local_rank", Form::kValue, Fate::kIgnored, kOneMachine},
      {"accelerator_config", Form::kValue, Fate::kIgnored, kOneMachine},
      {"parallelism_config", Form::kValue, Fate::kIgnored, kOneMachine},
      {"ddp_backend", Form::kValue, Fate::kIgnored, kOneMachine},
      {"xpu_backend", Form::kValue, Fate::kIgnored, kOneMachine},
      {"ddp_broadcast_buffers", Form::kSwitch, Fate::kIgnored, kOneMachine},
      {"ddp_bucket_cap_mb", Form::kValue, Fate::kIgnored, kOneMachine},
      {"ddp_find_unused_parameters", Form::kSwitch, Fate::kIgnored, kOneMachine},
      {"ddp_static_graph", Form::kSwitch, Fate::kIgnored, kOneMachine},
      {"ddp_timeout", Form::kValue, Fate::kIgnored, kOneMachine},
      {"deepspeed", Form::kValue, Fate::kIgnored, kOneMachine},
      {"fsdp", Form::kList, Fate::kIgnored, kOneMachine},
      {"fsdp_config", Form::kValue, Fate::kIgnored, kOneMachine},
      {"fsdp_min_num_params", Form::kValue, Fate::kIgnored, kOneMachine},
      {"fsdp_transformer_layer_cls_to_wrap", Form::kValue, Fate::kIgnored, kOneMachine},
      {"sharded_ddp", Form::kList, Fate::kIgnored, kOneMachine},
      {"mp_parameters", Form::kValue, Fate::kIgnored, kOneMachine},
      {"ray_scope", Form::kValue, Fate::kIgnored,
       "a study is run by a tuning service; --hypertune-metric names what it reads"},
      {"torch_empty_cache_steps", Form::kValue, Fate::kIgnored,
       "the memory of a job is planned before the first update"},
      {"skip_memory_metrics", Form::kSwitch, Fate::kIgnored,
       "the memory of a job is planned before the first update"},
      {"use_legacy_prediction_loop", Form::kSwitch, Fate::kIgnored, "there is one such loop here"},
      {"debug", Form::kList, Fate::kIgnored, "--log-level debug tells more"},
      // Reports.
      {"report_to", Form::kList, Fate::kRefused,
       "berth writes TensorBoard summaries into --summary-dir; `wandb sync` reads them, and "
       "--report_to tensorboard is accepted, and so is mlflow, where MLFLOW_TRACKING_URI names a "
       "server",
       "tensorboard,all,mlflow"},
      {"logging_strategy", Form::kValue, Fate::kRule, {}, {}, rules::choose_logging},
      {"logging_first_step", Form::kSwitch, Fate::kIgnored,
       "--logging-steps 1 logs the first update and all others"},
      {"logging_nan_inf_filter", Form::kSwitch, Fate::kIgnored,
       "an update whose loss is not finite is skipped, and the log says so"},
      {"log_level_replica", Form::kValue, Fate::kIgnored, kOneMachine},
      {"log_on_each_node", Form::kSwitch, Fate::kIgnored, kOneMachine},
      {"disable_tqdm", Form::kSwitch, Fate::kIgnored,
       "there is a progress bar on a terminal only; --log-format json has none"},
      {"include_num_input_tokens_seen", Form::kValue, Fate::kIgnored, kLogs},
      {"include_tokens_per_second", Form::kSwitch, Fate::kIgnored, kLogs},
      {"run_name", Form::kValue, Fate::kIgnored, "a job is named by its --job-dir"},
      {"project", Form::kValue, Fate::kIgnored, kNoTracker},
      {"trackio_space_id", Form::kValue, Fate::kIgnored, kNoTracker},
      {"trackio_bucket_id", Form::kValue, Fate::kIgnored, kNoTracker},
      {"trackio_static_space_id", Form::kValue, Fate::kIgnored, kNoTracker},
      // The hub.
      {"push_to_hub", Form::kSwitch, Fate::kRefused, kNoHub},
      {"push_to_hub_model_id", Form::kValue, Fate::kRefused, kNoHub},
      {"push_to_hub_organization", Form::kValue, Fate::kRefused, kNoHub},
      {"push_to_hub_token", Form::kValue, Fate::kIgnored, kHubDetail},
      {"hub_model_id", Form::kValue, Fate::kIgnored, kHubDetail},
      {"hub_token", Form::kValue, Fate::kIgnored, kHubDetail},
      {"hub_strategy", Form::kValue, Fate::kIgnored, kHubDetail},
      {"hub_revision", Form::kValue, Fate::kIgnored, kHubDetail},
      {"hub_private_repo", Form::kSwitch, Fate::kIgnored, kHubDetail},
      {"hub_always_push", Form::kSwitch, Fate::kIgnored, kHubDetail},
  };
  return kRows;
}

}  // namespace berth
