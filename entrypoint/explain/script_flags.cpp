#include "entrypoint/explain/script_flags.h"

#include <algorithm>
#include <array>
#include <string>

#include "entrypoint/explain/shell_text.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// A flag that only some scripts have, by parts of their names, and what others have for it.
struct ScriptFlag {
  std::string_view name, scripts, instead = {};
};

constexpr std::string_view kEarlyMaskScripts = "run_language_modeling,run_lm_finetuning";
constexpr std::string_view kMaskScripts = "run_mlm,run_language_modeling,run_lm_finetuning";
constexpr std::string_view kTagScripts = "run_ner,run_flax_ner";
constexpr std::string_view kAnswerScripts = "run_qa,run_squad";
constexpr std::string_view kClassScripts = "run_classification";
constexpr std::string_view kRowScripts =
    "run_mlm,run_glue,run_flax_glue,run_ner,run_flax_ner,run_qa,"
    "run_squad,run_classification,run_xnli,run_swag";
constexpr std::string_view kBareRowScripts =
    "run_glue_no_trainer,run_ner_no_trainer,run_swag_no_trainer";
constexpr std::string_view kTestScripts =
    "run_glue,run_flax_glue,run_ner,run_flax_ner,run_qa,"
    "run_classification";

constexpr ScriptFlag kScriptFlags[] = {
    {"mlm", kEarlyMaskScripts, "it always masks tokens, without a flag"},
    {"block_size", kEarlyMaskScripts, "its length of texts is --max_seq_length"},
    {"train_data_file", kEarlyMaskScripts, "its rows are --train_file"},
    {"eval_data_file", kEarlyMaskScripts, "its rows to evaluate on are --validation_file"},
    {"whole_word_mask", kEarlyMaskScripts, "run_mlm_wwm.py masks whole words"},
    {"chinese_ref_file", kEarlyMaskScripts},
    {"max_length", kBareRowScripts, "its length of texts is --max_seq_length"},
    {"mlm_probability", kMaskScripts},
    {"line_by_line", "run_mlm,run_language_modeling"},
    {"validation_split_percentage", "run_mlm"},
    {"config_overrides", "run_mlm"},
    {"torch_dtype", "run_mlm"},
    {"low_cpu_mem_usage", "run_mlm"},
    {"streaming", "run_mlm"},
    {"train_ref_file", "run_mlm_wwm"},
    {"validation_ref_file", "run_mlm_wwm"},
    {"train_file", kRowScripts, "its rows are --train_data_file"},
    {"validation_file", kRowScripts, "its rows to evaluate on are --eval_data_file"},
    {"data_dir", "run_glue,run_ner,run_squad,run_xnli",
     "its rows are --train_file and --validation_file"},
    {"test_file", kTestScripts},
    {"doc_stride", kAnswerScripts},
    {"n_best_size", kAnswerScripts},
    {"max_answer_length", kAnswerScripts},
    {"null_score_diff_threshold", kAnswerScripts},
    {"version_2_with_negative", kAnswerScripts},
    {"max_query_length", "run_squad"},
    {"predict_file", "run_squad", "its rows to evaluate on are --validation_file"},
    {"label_all_tokens", kTagScripts},
    {"return_entity_level_metrics", kTagScripts},
    {"task_type", kTagScripts},
    {"text_column_name", "run_ner,run_flax_ner,run_classification"},
    {"label_column_name", "run_ner,run_flax_ner,run_classification"},
    {"text_column_names", kClassScripts},
    {"text_column_delimiter", kClassScripts},
    {"metric_name", kClassScripts},
    {"do_regression", kClassScripts},
    {"remove_splits", kClassScripts},
    {"train_split_name", kClassScripts},
    {"validation_split_name", kClassScripts},
    {"test_split_name", kClassScripts},
    {"shuffle_train_dataset", kClassScripts},
    {"language", "run_xnli"},
    {"train_language", "run_xnli"},
    {"labels", kTagScripts},
};

// Scripts whose --debug keeps the first 100 rows of each split.
constexpr std::string_view kShortScripts = "run_ner_no_trainer,run_swag_no_trainer";

// Flags that some scripts lack though others of their kind have them.
constexpr ScriptFlag kLackedFlags[] = {
    {"max_seq_length", kBareRowScripts, "its length of texts is --max_length"},
    {"max_seq_len", kBareRowScripts, "its length of texts is --max_length"},
    {"data_dir", kBareRowScripts, "its rows are --train_file and --validation_file"},
    {"max_seq_length", kEarlyMaskScripts, "its length of texts is --block_size"},
};

// Flags of berth and of other projects that no script of transformers has.
constexpr ScriptFlag kForeignFlags[] = {
    {"batch_size", "", "its batch is --per_device_train_batch_size"},
    {"train_batch_size", "", "its batch is --per_device_train_batch_size"},
    {"eval_batch_size", "", "its batch of an evaluation is --per_device_eval_batch_size"},
    {"epochs", "", "its flag is --num_train_epochs"},
    {"num_epochs", "", "its flag is --num_train_epochs"},
    {"lr", "", "its flag is --learning_rate"},
    {"num_train_steps", "", "its flag is --max_steps"},
    {"warmup_proportion", "", "its flag is --warmup_ratio"},
    {"amp", "", "its flag is --fp16"},
};

// Flags of berth that a changed script may have, and mean something else by.
constexpr std::string_view kOwnFlags =
    "lora_rank lora_alpha lora_dropout lora_target_modules class_weights focal_gamma "
    "layerwise_lr_decay data_fraction skip_bad_rows weight_column freeze_embeddings "
    "freeze_encoder_layers early_stopping_patience validation_split token_budget positive_weight "
    "distillation_weight distillation_temperature attend_across_documents whole_word_masking "
    "doc_step";
constexpr ScriptFlag kOwnFlag = {
    "", "", "a script that has it is a changed one, and with hyphens it is berth's flag"};
// The same of one word, which no hyphen tells apart.
constexpr std::string_view kOwnWords =
    "optimizer teacher seeds guide pooling probe prompt generator elastic compress encoding "
    "text recompute profile json";
constexpr ScriptFlag kOwnWord = {
    "", "", "a script that has it is a changed one; a flag of berth belongs to berth's line"};

constexpr ScriptFlag kTypeFlag = {
    "", "", "where a script has it, it keeps the parameters in 16 bits, and berth in 32"};

// Arguments of Trainer that the scripts for Flax do not have.
constexpr std::string_view kNotFlax =
    "fp16 bf16 tf32 gradient_accumulation_steps max_steps warmup_ratio lr_scheduler_type "
    "evaluation_strategy eval_strategy save_strategy save_total_limit load_best_model_at_end "
    "metric_for_best_model max_grad_norm label_smoothing_factor group_by_length";
// Arguments of Trainer that the scripts without Trainer do not have.
constexpr std::string_view kNotBare =
    "do_train do_eval overwrite_output_dir fp16 bf16 tf32 max_steps warmup_steps warmup_ratio "
    "evaluation_strategy eval_strategy eval_steps save_strategy save_steps save_total_limit "
    "logging_steps logging_dir load_best_model_at_end metric_for_best_model max_grad_norm "
    "label_smoothing_factor label_smoothing group_by_length adam_beta1 adam_beta2 adam_epsilon "
    "optim no_cuda use_cpu local_rank gradient_checkpointing dataloader_drop_last "
    "dataloader_num_workers torch_compile auto_find_batch_size eval_accumulation_steps eval_delay "
    "accelerator_config run_name debug fsdp sharded_ddp deepspeed fp16_opt_level disable_tqdm "
    "logging_first_step remove_unused_columns";

bool is_of(std::string_view script, std::string_view scripts) {
  return std::ranges::any_of(parted(scripts, ","), [&](const std::string& beginning) {
    return script.starts_with(beginning);
  });
}

// The row of a flag of berth that no script has, by its name or berth's name for it.
const ScriptFlag* own_flag(std::string_view name) {
  std::string words(name);
  std::ranges::replace(words, '-', '_');
  if (is_one_of(kOwnFlags, words)) return &kOwnFlag;
  return is_one_of(kOwnWords, words) ? &kOwnWord : nullptr;
}

// The row of a flag that the script does not have; nullptr: it may have it.
const ScriptFlag* unknown_flag(std::string_view script, std::string_view name) {
  for (const ScriptFlag& row : kScriptFlags) {
    if (row.name == name && !is_of(script, row.scripts)) return &row;
  }
  for (const ScriptFlag& row : kLackedFlags) {
    if (row.name == name && is_of(script, row.scripts)) return &row;
  }
  if (const ScriptFlag* own = own_flag(name)) return own;
  const auto* const foreign = std::ranges::find(kForeignFlags, name, &ScriptFlag::name);
  return foreign == std::end(kForeignFlags) ? nullptr : foreign;
}

}  // namespace

void check_script_flags(const TrainingScript& script, std::string_view path,
                        const TypedCommand& typed, Remarks& remarks) {
  const bool is_example = script.batch == BatchOf::kDevice && script.name.starts_with("run_");
  if (!is_example) return;
  const bool is_bare = script.name.find("no_trainer") != script.name.npos;
  const bool is_flax = script.devices == ScriptDevices::kAll || path.find("flax") != path.npos;
  const std::string type = typed.value("torch_dtype").value_or("");
  if (type == "float16" || type == "bfloat16") {
    remarks.refuse("--torch_dtype", "keeps the parameters in 16 bits, and berth in fp32");
  }
  for (const TypedArgument& argument : typed.arguments()) {
    if (argument.typed.size() < 3) continue;
    std::string name = argument.typed.substr(2);
    const bool is_own = argument.foreign == nullptr && name.find('-') != std::string::npos;
    if (is_own) continue;  // as berth writes it: the user has added it to the line
    std::ranges::replace(name, '-', '_');
    if (name == "debug" && is_of(script.name, kShortScripts)) {
      remarks.refuse(argument.typed,
                     "keeps the first 100 rows of each split; name files that hold these rows");
      continue;
    }
    const ScriptFlag* row = unknown_flag(script.name, name);
    const bool is_optim = name == "optim";
    const bool has_trainer_name = is_optim || name == "gradient_checkpointing";
    if (row == nullptr && argument.own != nullptr && !has_trainer_name) {
      row = own_flag(argument.own->name);
    }
    if (name == "dtype" && !is_flax) row = &kTypeFlag;
    if (is_optim && !argument.values.empty() && argument.values[0] == "lamb") {
      remarks.refuse(argument.typed, "is lamb, which is no optimizer of the Trainer");
    }
    const bool is_of_trainer =
        (is_bare && is_one_of(kNotBare, name)) || (is_flax && is_one_of(kNotFlax, name));
    if (row == nullptr && !is_of_trainer) continue;
    const std::string_view instead = row == nullptr ? std::string_view() : row->instead;
    remarks.refuse(argument.typed, cat("is no flag of ", script.name, ", which ends there",
                                       instead.empty() ? "" : "; ", instead));
  }
}

}  // namespace berth
