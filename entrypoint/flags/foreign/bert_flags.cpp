#include "entrypoint/flags/foreign/foreign_flag.h"
#include "entrypoint/flags/foreign/foreign_rules.h"

namespace berth {

std::span<const ForeignFlag> bert_flags() {
  static constexpr std::string_view kNoBar = "there is a progress bar on a terminal only";
  static constexpr std::string_view kOwnTpu = "berth uses the TPU of the machine on which it runs";

  static constexpr ForeignFlag kRows[] = {
      // Of its first version for PyTorch.
      {"bert_model", Form::kValue, Fate::kRule, {}, {}, rules::name_sizes},
      {"optimize_on_cpu", Form::kSwitch, Fate::kIgnored,
       "the moments of the optimizer lie where the job computes"},
      {"amp", Form::kSwitch, Fate::kRule, {}, {}, rules::leave_precision},
      {"eval_script", Form::kValue, Fate::kIgnored, "berth scores the answers itself"},
      {"json_summary", Form::kValue, Fate::kIgnored, "metrics.json has the scores"},
      {"disable_progress_bar", Form::kSwitch, Fate::kIgnored, kNoBar},
      {"skip_checkpoint", Form::kSwitch, Fate::kIgnored, "berth always writes the model"},
      {"skip_cache", Form::kSwitch, Fate::kIgnored, "berth reads the rows anew in every job"},
      // Of google-research/bert.
      {"predict_file", Form::kValue, Fate::kSame, "predict-data-file"},
      {"predict_batch_size", Form::kValue, Fate::kSame, "eval-batch-size"},
      {"input_file", Form::kValue, Fate::kRefused,
       "berth masks texts anew in every epoch instead of reading masked examples: give --task mlm "
       "and --train-data-file with the text, or shards that --mode prepare made of it"},
      {"max_query_length", Form::kValue, Fate::kRefused,
       "a question is always cut at 64 tokens; leave the flag out", "64"},
      {"max_predictions_per_seq", Form::kValue, Fate::kIgnored,
       "berth masks --mlm-probability of the tokens, without another limit"},
      {"max_eval_steps", Form::kValue, Fate::kIgnored, "berth evaluates on all rows of the file"},
      {"verbose_logging", Form::kSwitch, Fate::kIgnored, "--log-level debug tells more"},
      // TPUs.
      {"use_tpu", Form::kSwitch, Fate::kMeans, "--device=tpu"},
      {"num_tpu_cores", Form::kValue, Fate::kIgnored,
       "all TPUs of the machine share every batch; --devices takes fewer"},
      {"iterations_per_loop", Form::kValue, Fate::kIgnored, "the loop runs one update at a time"},
      {"tpu_zone", Form::kValue, Fate::kIgnored, kOwnTpu},
      {"gcp_project", Form::kValue, Fate::kIgnored, kOwnTpu},
      {"tpu_job_name", Form::kValue, Fate::kIgnored, kOwnTpu},
      {"master", Form::kValue, Fate::kIgnored, kOwnTpu},
  };
  return kRows;
}

}  // namespace berth
