#include "entrypoint/flags/foreign/foreign_flag.h"
#include "entrypoint/flags/foreign/foreign_rules.h"

namespace berth {

std::span<const ForeignFlag> example_flags() {
  static constexpr std::string_view kNoDataSets =
      "berth takes files, folders of `datasets` and hf://datasets/ORG/NAME for --train-data-file; "
      "`berth explain` before this command line shows how to make a folder";
  static constexpr std::string_view kSplits =
      "each split is a file: --train-data-file, --eval-data-file and --predict-data-file";
  static constexpr std::string_view kHubToken =
      "the hub's token comes from the variable HF_TOKEN, or from `hf auth login`";
  static constexpr std::string_view kReads = "berth reads and tokenizes the rows anew in every job";
  static constexpr std::string_view kTokenizer =
      "berth has one tokenizer of each kind, and it is fast";
  static constexpr std::string_view kAllRows =
      "berth evaluates on all rows; name a file that holds the first rows only";
  static constexpr std::string_view kNoReferences =
      "berth finds the words of a text itself, and reads no file of their places";
  static constexpr std::string_view kLanguages =
      "name the rows of a language: --train-data-file hf://datasets/facebook/xnli/de";
  static constexpr std::string_view kDType =
      "parameters are fp32; --precision is the type of products";
  static constexpr std::string_view kMemory =
      "the memory of a job is planned before the first update";

  static constexpr std::string_view kNoDebugger = "it names a debugger of Python";

  static constexpr ForeignFlag kRows[] = {
      // The model.
      {"model_type", Form::kValue, Fate::kRule, {}, {}, rules::name_architecture},
      {"tokenizer_name", Form::kValue, Fate::kRule, {}, {}, rules::name_tokenizer},
      {"config_overrides", Form::kValue, Fate::kRefused,
       "write the sizes into a config.json and name it with --model-config"},
      {"model_revision", Form::kValue, Fate::kRule, {}, {}, rules::name_revision},
      {"token", Form::kValue, Fate::kIgnored, kHubToken},
      {"use_auth_token", Form::kSwitch, Fate::kIgnored, kHubToken},
      {"trust_remote_code", Form::kSwitch, Fate::kIgnored, "berth runs no code that is in files"},
      {"use_fast_tokenizer", Form::kSwitch, Fate::kIgnored, kTokenizer},
      {"use_slow_tokenizer", Form::kSwitch, Fate::kIgnored, kTokenizer},
      {"use_fast", Form::kSwitch, Fate::kIgnored, kTokenizer},
      {"torch_dtype", Form::kValue, Fate::kIgnored, kDType},
      {"low_cpu_mem_usage", Form::kSwitch, Fate::kIgnored, kMemory},
      // The data.
      {"dataset_name", Form::kValue, Fate::kRefused, kNoDataSets},
      {"dataset_config_name", Form::kValue, Fate::kRefused, kNoDataSets},
      {"train_split_name", Form::kValue, Fate::kRefused, kSplits, "train"},
      {"validation_split_name", Form::kValue, Fate::kRefused, kSplits, "validation"},
      {"test_split_name", Form::kValue, Fate::kRefused, kSplits, "test"},
      {"remove_splits", Form::kValue, Fate::kIgnored, kSplits},
      {"remove_columns", Form::kValue, Fate::kIgnored,
       "columns that training does not need are not read"},
      {"text_column_names", Form::kValue, Fate::kRule, {}, {}, rules::name_columns},
      {"text_column_delimiter", Form::kValue, Fate::kIgnored,
       "texts of two columns are a pair, with the separator of the tokenizer between them"},
      {"max_eval_samples", Form::kValue, Fate::kRefused, kAllRows},
      {"max_predict_samples", Form::kValue, Fate::kRefused, kAllRows},
      {"max_val_samples", Form::kValue, Fate::kRefused, kAllRows},
      {"max_test_samples", Form::kValue, Fate::kRefused, kAllRows},
      {"block_size", Form::kValue, Fate::kRule, {}, {}, rules::name_block},
      {"train_ref_file", Form::kValue, Fate::kRefused, kNoReferences},
      {"validation_ref_file", Form::kValue, Fate::kRefused, kNoReferences},
      {"chinese_ref_file", Form::kValue, Fate::kRefused, kNoReferences},
      {"language", Form::kValue, Fate::kRefused, kLanguages},
      {"train_language", Form::kValue, Fate::kRefused, kLanguages},
      {"validation_split_percentage", Form::kValue, Fate::kRule, {}, {}, rules::split_percentage},
      {"shuffle_train_dataset", Form::kSwitch, Fate::kIgnored,
       "the rows are shuffled anew in every epoch"},
      {"shuffle_seed", Form::kValue, Fate::kIgnored, "--seed decides the order of the rows, too"},
      {"streaming", Form::kSwitch, Fate::kIgnored,
       "a table may be larger than memory; it is read once, into a temporary file"},
      {"overwrite_cache", Form::kSwitch, Fate::kIgnored, kReads},
      {"preprocessing_num_workers", Form::kValue, Fate::kIgnored, kReads},
      {"pad_to_max_length", Form::kSwitch, Fate::kIgnored, "batches have no padding"},
      // The task.
      {"mlm", Form::kSwitch, Fate::kMeans, "--task=masked_lm"},
      {"whole_word_mask", Form::kSwitch, Fate::kMeans, "--whole-word-masking"},
      {"do_regression", Form::kSwitch, Fate::kMeans, "--task=regression"},
      {"metric_name", Form::kValue, Fate::kRefused,
       "the task has its metrics; --metric-for-best-model chooses one",
       "accuracy,f1,precision,recall,matthews_correlation,pearsonr,spearmanr,mse,glue"},
      {"label_all_tokens", Form::kSwitch, Fate::kRefused,
       "the first token of a word carries its tag; leave the flag out"},
      {"return_entity_level_metrics", Form::kSwitch, Fate::kIgnored,
       "metrics.json always has the scores of every class"},
      // Of early transformers.
      {"labels", Form::kValue, Fate::kRule, {}, {}, rules::name_tags},
      {"task_type", Form::kValue, Fate::kRefused,
       "run_ner.py finds entities here; --task pos tags parts of speech", "ner"},
      {"lang_id", Form::kValue, Fate::kRefused, "berth has no models with embeddings of languages"},
      {"server_ip", Form::kValue, Fate::kIgnored, kNoDebugger},
      {"server_port", Form::kValue, Fate::kIgnored, kNoDebugger},
      // Of the scripts without Trainer.
      {"checkpointing_steps", Form::kValue, Fate::kRule, {}, {}, rules::checkpoint_steps},
      {"with_tracking", Form::kSwitch, Fate::kIgnored,
       "berth always writes TensorBoard summaries into --summary-dir"},
  };
  return kRows;
}

}  // namespace berth
