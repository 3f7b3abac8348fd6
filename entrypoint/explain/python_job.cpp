#include "entrypoint/explain/python_job.h"

#include <algorithm>
#include <array>
#include <set>

#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/named_inputs.h"
#include "entrypoint/explain/python_reader.h"
#include "entrypoint/explain/sentence_losses.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// Arguments of fit() that change no update.
constexpr std::string_view kHarmless[] = {
    "train_objectives", "show_progress_bar",     "callback",
    "checkpoint_path",  "checkpoint_save_steps", "checkpoint_save_total_limit"};

constexpr std::string_view kOrganization = "sentence-transformers/";
// Encoders of transformers whose names have no organization.
constexpr std::string_view kPlainModels[] = {
    "albert-base-v1",
    "albert-base-v2",
    "albert-large-v1",
    "albert-large-v2",
    "albert-xlarge-v1",
    "albert-xlarge-v2",
    "albert-xxlarge-v1",
    "albert-xxlarge-v2",
    "bert-base-cased",
    "bert-base-cased-finetuned-mrpc",
    "bert-base-chinese",
    "bert-base-german-cased",
    "bert-base-german-dbmdz-cased",
    "bert-base-german-dbmdz-uncased",
    "bert-base-multilingual-cased",
    "bert-base-multilingual-uncased",
    "bert-base-uncased",
    "bert-large-cased",
    "bert-large-cased-whole-word-masking",
    "bert-large-cased-whole-word-masking-finetuned-squad",
    "bert-large-uncased",
    "bert-large-uncased-whole-word-masking",
    "bert-large-uncased-whole-word-masking-finetuned-squad",
    "camembert-base",
    "distilbert-base-cased",
    "distilbert-base-cased-distilled-squad",
    "distilbert-base-german-cased",
    "distilbert-base-multilingual-cased",
    "distilbert-base-uncased",
    "distilbert-base-uncased-distilled-squad",
    "distilbert-base-uncased-finetuned-sst-2-english",
    "distilroberta-base",
    "roberta-base",
    "roberta-large",
    "roberta-large-mnli",
    "xlm-roberta-base",
    "xlm-roberta-large",
};
// Organizations whose encoders come without files of sentence-transformers and take 512 tokens.
constexpr std::string_view kPlainOrganizations[] = {
    "google-bert/", "FacebookAI/", "distilbert/", "albert/", "microsoft/mpnet-base", "nreimers/"};

bool is_plain(const std::string& model) {
  return is_one_of(kPlainModels, lower_ascii(model)) ||
         std::ranges::any_of(kPlainOrganizations, [&](std::string_view beginning) {
           return model.starts_with(beginning);
         });
}

// Whether the argument has the default of fit(), which is berth's, too.
bool is_default(std::string_view name, const PythonValue& value) {
  const std::string& text = value.text;
  if (name == "scheduler") return lower_ascii(text) == "warmuplinear";
  if (name == "max_grad_norm") return text == "1" || text == "1.0";
  return (name == "steps_per_epoch" || name == "evaluator") && text == "None";
}

void take_argument(const PythonCall& fit, const std::string& name, const PythonValue& value,
                   Launch& launch) {
  const std::string text = joined(value);
  const auto take = [&](std::string_view flag, std::string_view own) {
    if (value.is_known()) return launch.add_flag(flag, text);
    launch.refuse(name, cat("is computed in the program; add --", own, " to the line"));
  };
  if (name == "epochs") return take("num_train_epochs", "epochs N");
  if (name == "warmup_steps") return take("warmup_steps", "warmup-steps N");
  if (name == "evaluation_steps") return take("eval_steps", "eval-steps N");
  if (name == "weight_decay") return take("weight_decay", "weight-decay X");
  if (name == "use_amp") return take("fp16", "precision NAME");
  if (name == "output_path") {
    return launch.add_flag("output_dir", value.is_known() ? text : "model");
  }
  if (is_one_of(kHarmless, name) || is_default(name, value)) return;
  if (name == "save_best_model") return;  // of the models that an evaluator finds
  const std::string line = cat(" (line ", fit.line, ")");
  if (name == "optimizer_params") {
    return launch.refuse(name + line, "is not read; add --learning-rate X to the line");
  }
  if (name == "evaluator") {
    return launch.refuse(name + line,
                         "scores rows of its own; add --eval-data-file FILE to the line");
  }
  if (name == "scheduler") {
    return launch.refuse(name + line, "is another one; add --lr-scheduler-type NAME");
  }
  if (name == "steps_per_epoch") {
    return launch.refuse(name + line, "ends an epoch early; add --max-steps N to the line");
  }
  if (name == "max_grad_norm") return take("max_grad_norm", "max-grad-norm X");
  launch.refuse(name + line, "is an argument of fit() that berth does not know");
}

// Adds the flags of `fit`, a call of model.fit(train_objectives=[...]) of sentence-transformers
// before version 3. Arguments that berth does not read are remarks, and refused.
void read_fit(const PythonProgram& program, const PythonCall& fit, Launch& launch) {
  for (const auto& [name, value] : fit.keywords) take_argument(fit, name, value, launch);
  if (fit.find("output_path") == nullptr) launch.add_flag("output_dir", "model");
  if (fit.find("warmup_steps") == nullptr) launch.add_flag("warmup_steps", "10000");
  if (fit.find("evaluator") == nullptr) launch.add_flag("do_train", "true");  // on all rows
  const auto loader = std::ranges::find_if(
      program.calls, [](const PythonCall& call) { return last_name(call.name) == "DataLoader"; });
  const PythonValue* batch = loader == program.calls.end() ? nullptr : loader->find("batch_size");
  if (batch == nullptr || batch->kind != PythonValue::Kind::kWord) {
    launch.refuse("batch_size", "is computed in the program; add --batch-size N to the line");
  } else {
    launch.add_flag("train_batch_size", batch->text);
  }
}

// The name of the model that SentenceTransformer(name) loads: the library puts its organization in
// front of a name without one, unless transformers has a model of this name.
std::string sentence_model(const std::string& name) {
  const bool is_alone = name.find_first_of("/\\$~") == std::string::npos && !name.starts_with('.');
  return is_alone && !is_plain(name) ? cat(kOrganization, name) : name;
}

// Says how long texts may be where the program does not: as the model's files say, or as its
// positions allow. A model of which neither is known is refused.
void take_sentence_length(const std::string& model, Launch& launch) {
  if (is_plain(model)) return launch.add_flag("max_seq_length", "512");
  if (model.starts_with(kOrganization)) {
    return launch.remark("the length of texts",
                         "is max_seq_length in the model's files, which berth takes without a "
                         "flag");
  }
  launch.refuse("the length of texts",
                "is max_seq_length in the files of a model of sentence-transformers, else its "
                "tokenizer's length; add --max-seq-length N to the line");
}

struct OwnCall {
  std::string_view name, text;
  bool is_method = true;
};

// Calls that change the rows, the loss or the optimizer in ways that only the program knows.
constexpr OwnCall kOwnCode[] = {
    {"select", "takes a part of the rows; write them into a file and name it"},
    {"filter", "leaves rows out; write the others into a file and name it"},
    {"train_test_split",
     "divides the rows by chance; --validation-split divides them in berth, "
     "but not into the same halves"},
    {"shard", "takes a part of the rows; write them into a file and name it"},
    {"take", "takes a part of the rows; write them into a file and name it"},
    {"skip", "takes a part of the rows; write them into a file and name it"},
    {"align_labels_with_mapping",
     "gives the labels other numbers; --label-names names the labels in their order"},
    {"concatenate_datasets", "joins data sets; write the rows into a file and name it", false},
    {"interleave_datasets", "joins data sets; write the rows into a file and name it", false},
    {"sample_dataset", "takes a part of the rows; write them into a file and name it", false},
    {"add_tokens", "changes the vocabulary; save the tokenizer and the model, and name its folder"},
};

// Whether a function with these calls does nothing to a row but to tokenize it, and to give words
// or answers their tokens.
bool only_tokenizes(const std::vector<std::string>& calls) {
  constexpr std::string_view kHelpers[] = {
      "append", "copy",     "dict",  "enumerate",    "extend", "get",    "index",
      "int",    "items",    "keys",  "len",          "list",   "max",    "min",
      "pop",    "print",    "range", "sequence_ids", "set",    "tolist", "tuple",
      "values", "word_ids", "zip",   "lstrip",       "strip",  "sum",    "chain"};
  if (calls.size() >= kMostInner) return false;
  const auto is_tokenizer = [](std::string_view name) {
    const std::string last = lower_ascii(last_name(name));
    return last.find("token") != last.npos || last == "encode_plus" || last == "batch_encode_plus";
  };
  return std::ranges::any_of(calls, is_tokenizer) &&
         std::ranges::all_of(calls, [&](const std::string& name) {
           return is_tokenizer(name) || is_one_of(kHelpers, last_name(name));
         });
}

// Refuses a call of dataset.map() whose function changes texts or labels, or is not in the program.
void check_map(const PythonProgram& program, const PythonCall& call, Launch& launch) {
  const PythonValue* function = call.find("function");
  if (!call.positional.empty()) function = &call.positional[0];
  const std::string name = function == nullptr ? std::string() : function->name;
  const auto body = program.bodies.find(name);
  // Functions that cut joined texts into blocks; see PythonJob::read_length().
  if (name.find("group") != name.npos || name.find("chunk") != name.npos) return;
  const bool is_plain = call.has_lambda
                            ? only_tokenizes(call.inner)
                            : body != program.bodies.end() && only_tokenizes(body->second);
  if (is_plain) return;
  launch.refuse(
      cat("map (line ", call.line, ")"),
      "does more than to tokenize the rows, or is not in the program; write its rows into "
      "a file, and name the file with --train-data-file");
}

void refuse_frozen(Launch& launch) {
  launch.refuse("requires_grad",
                "is off for some parameters; add --freeze-encoder-layers N or "
                "--freeze-embeddings to the line, which keep layers as they are");
}

// As in the notebooks of transformers that find entities.
void refuse_all_tokens(const PythonProgram& program, Launch& launch) {
  constexpr std::string_view kSwitch = "label_all_tokens";
  const auto is_on = [](const PythonValue* value) {
    return value != nullptr && value->text == "True";
  };
  const bool is_default = std::ranges::any_of(
      program.calls, [&](const PythonCall& call) { return is_on(call.find(kSwitch)); });
  if (!is_default && !is_on(program.assigned(kSwitch))) return;
  launch.refuse(kSwitch,
                "is on, so that all tokens of a word count; in berth the first one carries its "
                "tag. Turn it off, or accept other scores");
}

void take_patience(const PythonCall& call, Launch& launch) {
  const PythonValue* value = call.find("early_stopping_patience");
  if (!call.positional.empty()) value = &call.positional[0];
  launch.add_flag("early_stopping_patience", value == nullptr ? "1" : value->text);
}

void take_adapters(const PythonCall& call, Launch& launch) {
  const auto take = [&](std::string_view keyword, std::string_view flag, std::string_view none) {
    const PythonValue* value = call.find(keyword);
    if (value == nullptr) {
      if (!none.empty()) launch.add_flag(flag, none);
    } else if (value->is_known()) {
      launch.add_flag(flag, joined(*value));
    } else {
      launch.refuse(keyword, cat("is computed in the program; add --", flag));
    }
  };
  take("r", "lora-rank", "8");
  take("lora_alpha", "lora-alpha", "8");
  take("lora_dropout", "lora-dropout", "");
  take("target_modules", "lora-target-modules", "");
}

void take_masks(const PythonCall& call, Launch& launch) {
  const PythonValue* masks = call.find("mlm");
  if (masks != nullptr && masks->text == "False") {
    launch.refuse("mlm", "is off, so that the program trains a decoder, and berth trains encoders");
  }
  if (const PythonValue* share = call.find("mlm_probability")) {
    if (share->is_known()) launch.add_flag("mlm_probability", share->text);
  }
}

// Adds the flags of callbacks, adapters and masks that a program makes. Code of its own that
// changes the rows, the loss or the parameters that train is refused.
void read_own_code(const PythonProgram& program, bool is_similarity, Launch& launch) {
  for (const auto& [name, base] : program.classes) {
    if (base.ends_with("Trainer")) {
      launch.refuse(name, "is a Trainer of the program's own, whose loss berth does not know");
    }
  }
  refuse_all_tokens(program, launch);
  for (const PythonCall& call : program.calls) {
    const std::string_view name = last_name(call.name);
    if (name.starts_with(kDefinition)) continue;
    for (const OwnCall& row : kOwnCode) {
      if (name == row.name && (!row.is_method || call.name.find('.') != std::string::npos)) {
        launch.refuse(cat(name, " (line ", call.line, ")"), row.text);
      }
    }
    if (name == "map" && call.name.find('.') != std::string::npos) {
      check_map(program, call, launch);
    }
    if (call.find("optimizers") != nullptr) {
      launch.refuse("optimizers",
                    "are made in the program; --optimizer, --learning-rate and "
                    "--lr-scheduler-type say what they are");
    }
    const bool is_other =
        name.ends_with("Trainer") && name != "Trainer" && name != "SentenceTransformerTrainer";
    const bool is_own =
        std::ranges::any_of(program.classes, [&](const auto& row) { return row.first == name; });
    if (is_other && !is_own) {
      launch.refuse(cat(name, " (line ", call.line, ")"),
                    "is no Trainer of transformers, and berth does not know its loss or method");
    }
    if (call.find("compute_loss_func") != nullptr) {
      launch.refuse("compute_loss_func", "is a loss of the program's own");
    }
    if (is_similarity && name.ends_with("Trainer") && call.find("evaluator") != nullptr) {
      launch.remark("evaluator", "has metrics of its own; berth reports the task's metrics");
    }
    const bool is_frozen =
        name == "requires_grad_" && !call.positional.empty() && call.positional[0].text == "False";
    if (is_frozen) refuse_frozen(launch);
    if (name == "EarlyStoppingCallback") take_patience(call, launch);
    if (name == "LoraConfig") take_adapters(call, launch);
    if (name.starts_with("DataCollatorForLanguageModeling")) take_masks(call, launch);
    if (name == "DataCollatorForWholeWordMask") launch.add_flag("whole_word_masking", "true");
  }
  for (const auto& [name, value] : program.assignments) {
    if (name.ends_with(".requires_grad") && value.text != "True") refuse_frozen(launch);
  }
}

struct NamedText {
  std::string_view name, text;
};

constexpr NamedText kTasks[] = {
    {"ForSequenceClassification", "sequence_classification"},
    {"ForTokenClassification", "token_classification"},
    {"ForQuestionAnswering", "question_answering"},
    {"ForMaskedLM", "masked_lm"},
};

constexpr NamedText kOtherModels[] = {
    {"ForMultipleChoice", "berth has no multiple choice yet"},
    {"ForNextSentencePrediction", "berth does not predict next sentences"},
    {"ForPreTraining", "berth does not predict next sentences; --task mlm masks tokens alone"},
    {"ForCausalLM", "this is a decoder, and berth trains encoders"},
    {"ForSeq2SeqLM", "this is a decoder, and berth trains encoders"},
    {"ForConditionalGeneration", "this is a decoder, and berth trains encoders"},
    {"ForImageClassification", "berth trains encoders of texts"},
    {"SetFitModel", "SetFit trains on pairs of few texts and then a head on their embeddings"},
};

// Arguments of from_pretrained() that leave the model as its files say.
constexpr std::array<std::string_view, 24> kPlainKeywords = {"pretrained_model_name_or_path",
                                                             "num_labels",
                                                             "id2label",
                                                             "label2id",
                                                             "problem_type",
                                                             "ignore_mismatched_sizes",
                                                             "cache_dir",
                                                             "token",
                                                             "use_auth_token",
                                                             "trust_remote_code",
                                                             "torch_dtype",
                                                             "dtype",
                                                             "low_cpu_mem_usage",
                                                             "local_files_only",
                                                             "return_dict",
                                                             "output_attentions",
                                                             "output_hidden_states",
                                                             "attn_implementation",
                                                             "config",
                                                             "force_download",
                                                             "use_safetensors",
                                                             "finetuning_task",
                                                             "labels",
                                                             "device_map"};

// Data sets that load_dataset() loads only by the name of a configuration.
constexpr std::array<std::string_view, 12> kSeveral = {
    "glue", "super_glue", "xtreme", "tweet_eval", "wikitext", "wikipedia",
    "c4",   "oscar",      "mc4",    "xnli",       "cc100",    "amazon_reviews_multi"};

class PythonJob {
 public:
  PythonJob(const PythonProgram& program, std::string model)
      : program_(program), splits_(program.subscripts), model_(std::move(model)) {}

  std::optional<Launch> find() {
    const PythonCall* estimator = find_last("HuggingFace");
    if (estimator != nullptr && estimator->find("entry_point") != nullptr) {
      read_estimator(*estimator);
      return std::move(launch_);
    }
    arguments_ = find_last("TrainingArguments");
    const PythonCall* sentences = find_last("SentenceTransformerTrainingArguments");
    const PythonCall* fit = find_fit();
    is_similarity_ = sentences != nullptr || fit != nullptr;
    if (sentences != nullptr) arguments_ = sentences;
    if (arguments_ == nullptr && fit == nullptr) return std::nullopt;
    launch_.script = fit != nullptr && arguments_ == nullptr ? "fit" : "Trainer";
    read_model();
    read_data();
    read_length();
    if (arguments_ != nullptr) read_arguments();
    if (arguments_ == nullptr) read_fit(program_, *fit, launch_);
    read_own_code(program_, is_similarity_, launch_);
    if (!is_similarity_) return std::move(launch_);
    launch_.add_flag("task", "similarity");
    read_sentence_losses(program_, launch_);
    return std::move(launch_);
  }

 private:
  // HuggingFace(entry_point="run_glue.py", hyperparameters={...}) of sagemaker, which starts the
  // script elsewhere, with these flags.
  void read_estimator(const PythonCall& estimator) {
    const auto text = [&](std::string_view keyword) {
      const PythonValue* value = estimator.find(keyword);
      return value == nullptr ? std::string() : value->text;
    };
    launch_.script = last_part(text("entry_point"));
    const PythonValue* flags = estimator.find("hyperparameters");
    if (flags == nullptr || flags->kind != PythonValue::Kind::kMapping) {
      launch_.refuse("hyperparameters", "are computed in the program; add them as flags");
    } else {
      for (size_t i = 0; i < flags->items.size(); ++i) {
        launch_.add_flag(flags->keys[i], joined(flags->items[i]));
      }
    }
    take_machine(text("instance_type"), text("instance_count"));
    const PythonCall* fit = find_last("fit");
    if (fit != nullptr && !(fit->positional.empty() && fit->keywords.empty())) {
      launch_.refuse(cat("fit (line ", fit->line, ")"),
                     "names data that SageMaker puts into its channels; name the rows with "
                     "--train-data-file and --eval-data-file");
    }
  }

  void take_machine(const std::string& type, const std::string& count) {
    constexpr std::string_view kOneGpu[] = {
        "ml.p3.2xlarge", "ml.g4dn.xlarge",  "ml.g4dn.2xlarge", "ml.g4dn.4xlarge", "ml.g4dn.8xlarge",
        "ml.g5.xlarge",  "ml.g5.2xlarge",   "ml.g5.4xlarge",   "ml.g5.8xlarge",   "ml.g5.16xlarge",
        "ml.g6.xlarge",  "ml.g6.2xlarge",   "ml.g6.4xlarge",   "ml.g6.8xlarge",   "ml.g6.16xlarge",
        "ml.p2.xlarge",  "ml.g4dn.16xlarge"};
    if (count != "1") {
      launch_.refuse("instance_count",
                     "is not 1 in the program; docs/workers.md says how several machines train");
    }
    const bool has_gpus = type.starts_with("ml.p") || type.starts_with("ml.g");
    if (type.empty()) {
      launch_.refuse("instance_type", "is computed; say by --device what the job trains on");
    }
    launch_.device = has_gpus ? AskedDevice::kGpu : AskedDevice::kCpu;
    if (has_gpus) launch_.visible = is_one_of(kOneGpu, type) ? "1" : "all";
  }

  // A program that makes arguments twice trains with the last ones.
  const PythonCall* find_last(std::string_view name) const {
    const PythonCall* last = nullptr;
    for (const PythonCall& call : program_.calls) {
      if (last_name(call.name) == name) last = &call;
    }
    return last;
  }

  // model.fit(train_objectives=[...]) of sentence-transformers before version 3.
  const PythonCall* find_fit() const {
    for (const PythonCall& call : program_.calls) {
      if (last_name(call.name) == "fit" && call.find("train_objectives") != nullptr) return &call;
    }
    return nullptr;
  }

  void read_arguments() {
    if (!arguments_->positional.empty()) take_argument("output_dir", arguments_->positional[0]);
    for (const auto& [name, value] : arguments_->keywords) take_argument(name, value);
    const auto count = [&](std::string_view end) {
      return std::ranges::count_if(program_.calls, [&](const PythonCall& call) {
        return std::string_view(call.name).ends_with(end);
      });
    };
    const bool scores = count(".evaluate") > 0;
    if (count("TrainingArguments") > 1 && count(".train") > 1) {
      launch_.refuse("TrainingArguments",
                     "are made several times, for several trainings; write each training into a "
                     "file of its own");
    }
    launch_.add_flag("do_train", count(".train") > 0 || !scores ? "true" : "false");
    if (scores) launch_.add_flag("do_eval", "true");
  }

  void take_argument(const std::string& name, const PythonValue& value) {
    if (name == "do_train" || name == "do_eval" || name == "do_predict") return;
    if (name == "batch_sampler") {
      return launch_.remark(name, "keeps equal texts out of a batch there, and berth does not");
    }
    const bool has_items = std::ranges::all_of(value.items, &PythonValue::is_known);
    if (!value.is_known() || !has_items || value.kind == PythonValue::Kind::kMapping) {
      return launch_.refuse(name, cat("is computed in the program (line ", arguments_->line,
                                      "); add its value to the line as a flag"));
    }
    if (value.kind == PythonValue::Kind::kWord && value.text == "None") return;
    launch_.add_flag(name, joined(value));
  }

  void read_model() {
    for (const PythonCall& call : program_.calls) {
      const std::string_view name = call.name;
      if (name == "SentenceTransformer" && is_similarity_) return name_model(call);
      if (!name.ends_with(".from_pretrained")) continue;
      const std::string_view type = name.substr(0, name.size() - 16);
      for (const NamedText& row : kOtherModels) {
        if (type.ends_with(row.name)) return launch_.refuse(type, row.text);
      }
      for (const NamedText& row : kTasks) {
        if (!type.ends_with(row.name) || type.starts_with("TF")) continue;
        add_task(call, row.text);
        check_keywords(call);
        return name_model(call);
      }
    }
    launch_.refuse("the model",
                   "is not named in the program as berth reads it; add --model NAME and "
                   "--task TASK to the line");
  }

  void check_keywords(const PythonCall& model) {
    for (const PythonCall& call : program_.calls) {
      const bool is_configuration = call.name.ends_with("Config.from_pretrained");
      if (&call != &model && !is_configuration) continue;
      for (const auto& [keyword, value] : call.keywords) {
        if (keyword == "revision" && value.kind == PythonValue::Kind::kText) {
          launch_.add_flag("model_revision", value.text);
        } else if (!is_one_of(kPlainKeywords, keyword)) {
          launch_.refuse(cat(keyword, " (line ", call.line, ")"),
                         "changes the model; write it into a config.json and name that with "
                         "--model-config");
        }
      }
    }
  }

  void add_task(const PythonCall& call, std::string_view task) {
    const PythonValue* problem = call.find("problem_type");
    const PythonValue* labels = call.find("num_labels");
    if (problem != nullptr && problem->text == "multi_label_classification") task = "multi_label";
    const bool is_score = (problem != nullptr && problem->text == "regression") ||
                          (labels != nullptr && labels->text == "1");
    if (is_score && task == "sequence_classification") task = "regression";
    launch_.add_flag("task", task);
    task_ = task;
  }

  void name_model(const PythonCall& call) {
    const PythonValue* model = call.find("pretrained_model_name_or_path");
    if (!call.positional.empty()) model = &call.positional[0];
    if (model == nullptr || model->kind != PythonValue::Kind::kText) {
      return launch_.refuse("the model", cat("is computed in the program (line ", call.line,
                                             "); add --model NAME to the line"));
    }
    model_ = is_similarity_ ? sentence_model(model->text) : model->text;
    launch_.add_flag("model_name_or_path", model_);
  }

  void read_data() {
    const PythonCall* load = nullptr;
    for (const PythonCall& call : program_.calls) {
      if (last_name(call.name) == "InputExample" && is_similarity_) {
        return launch_.refuse("the data", cat("are made in the program (line ", call.line,
                                              "); write the rows into a file and name it with "
                                              "--train-data-file"));
      }
      if (last_name(call.name) != "load_dataset") continue;
      if (load != nullptr && !is_same_data(*load, call)) {
        return launch_.refuse("the data",
                              "are several data sets or files; name one with --train-data-file");
      }
      load = &call;
      check_rows(call);
    }
    if (load == nullptr) {
      if (const PythonCall* saved = find_last("load_from_disk")) return name_saved(*saved);
    }
    if (load == nullptr || load->positional.empty() ||
        load->positional[0].kind != PythonValue::Kind::kText) {
      return launch_.refuse("the data",
                            "are not named in the program as berth reads it; name the rows "
                            "with --train-data-file");
    }
    if (const PythonValue* files = load->find("data_files")) return name_files(*files);
    const std::string& name = load->positional[0].text;
    launch_.add_flag("dataset_name", name);
    if (const PythonValue* config = configuration_of(*load)) {
      if (config->kind != PythonValue::Kind::kText) {
        return launch_.refuse("the data",
                              "have a configuration that the program computes; name the rows "
                              "with --train-data-file");
      }
      launch_.add_flag("dataset_config_name", config->text);
    } else if (is_one_of(kSeveral, last_part(name))) {
      launch_.refuse("the data set " + name,
                     "has several configurations, and the program names none; give "
                     "--train-data-file hf://datasets/ORGANIZATION/NAME/CONFIGURATION");
    }
    if (!evaluates()) return;
    check_split(find_hub_data_set(name, "").splits);
    const bool names_other = std::ranges::any_of(splits_, [](const std::string& text) {
      return text.find("test") != text.npos || text.find("val") != text.npos ||
             text.find("dev") != text.npos || text.find("eval") != text.npos;
    });
    if (!splits_.empty() && !names_other) {
      launch_.refuse("the rows to evaluate on",
                     "belong to the split train, or are computed in the program; name them with "
                     "--eval-data-file");
    }
  }

  // A folder that save_to_disk() wrote, which berth reads.
  void name_saved(const PythonCall& call) {
    if (call.positional.empty() || call.positional[0].kind != PythonValue::Kind::kText) {
      return launch_.refuse("load_from_disk",
                            "reads a folder that the program computes; name it with "
                            "--train-data-file");
    }
    launch_.add_flag("train_file", call.positional[0].text);
    if (evaluates()) check_split(HubSplits::kUnknown);
  }

  static const PythonValue* configuration_of(const PythonCall& load) {
    return load.positional.size() > 1 ? &load.positional[1] : load.find("name");
  }

  // What load_dataset() takes of the rows, and how it reads them.
  void check_rows(const PythonCall& load) {
    constexpr std::array<std::string_view, 14> kHarmlessForRows = {
        "data_files",        "name",
        "cache_dir",         "token",
        "use_auth_token",    "trust_remote_code",
        "download_mode",     "keep_in_memory",
        "num_proc",          "streaming",
        "verification_mode", "ignore_verifications",
        "features",          "save_infos"};
    for (const auto& [keyword, value] : load.keywords) {
      if (keyword == "split") {
        const bool is_part = value.text.find_first_of("[+") != std::string::npos;
        if (!value.is_known() || is_part) {
          launch_.refuse("split", "takes a part of the rows; write them into a file and name it");
        }
        splits_.insert(value.text);
      } else if ((keyword == "delimiter" || keyword == "sep") && value.is_known()) {
        launch_.add_flag("delimiter", value.text == "\t" ? "tab" : value.text);
      } else if (!is_one_of(kHarmlessForRows, keyword)) {
        launch_.refuse(
            cat(keyword, " (line ", load.line, ")"),
            "changes how the rows are read; name them with --train-data-file, and --help "
            "says what berth needs to know of them");
      }
    }
  }

  static bool is_same_data(const PythonCall& one, const PythonCall& other) {
    const auto text = [](const PythonCall& call, size_t i) {
      return i < call.positional.size() ? call.positional[i].text : std::string();
    };
    const PythonValue *files = one.find("data_files"), *others = other.find("data_files");
    const bool has_same_files =
        files == nullptr ? others == nullptr : others != nullptr && files->text == others->text;
    return text(one, 0) == text(other, 0) && text(one, 1) == text(other, 1) && has_same_files;
  }

  bool evaluates() const {
    if (arguments_ == nullptr) return false;
    for (const char* keyword : {"eval_strategy", "evaluation_strategy"}) {
      const PythonValue* strategy = arguments_->find(keyword);
      if (strategy != nullptr && strategy->text != "no") return true;
    }
    return std::ranges::any_of(
        program_.calls, [](const PythonCall& call) { return call.name.ends_with(".evaluate"); });
  }

  // Where a program evaluates on the split test and the data set has another one.
  void check_split(HubSplits splits) {
    const bool has_test = splits_.contains("test");
    const bool has_other = std::ranges::any_of(splits_, [](const std::string& text) {
      return text.starts_with("validation") || text == "dev";
    });
    if (has_test && !has_other && splits != HubSplits::kTest) {
      launch_.refuse("the split test",
                     "is what the program evaluates on, and berth takes the split validation where "
                     "the data set has one; name the rows with --eval-data-file");
    }
  }

  void name_files(const PythonValue& files) {
    if (files.kind == PythonValue::Kind::kText) return launch_.add_flag("train_file", files.text);
    if (files.kind != PythonValue::Kind::kMapping) {
      return launch_.refuse("data_files",
                            "are several or computed; name the rows with --train-data-file");
    }
    for (size_t i = 0; i < files.items.size(); ++i) {
      const PythonValue& file = files.items[i];
      const std::string& role = files.keys[i];
      if (file.kind != PythonValue::Kind::kText) {
        launch_.refuse(role,
                       "is several files or computed; name it with a pattern as --train-data-file");
      } else if (role == "train") {
        launch_.add_flag("train_file", file.text);
      } else if (role == "validation" || role == "dev" || role == "eval") {
        launch_.add_flag("validation_file", file.text);
      } else if (role == "test" && !program_.subscripts.contains("validation")) {
        launch_.add_flag("validation_file", file.text);
      }
    }
  }

  void read_length() {
    const PythonValue* length = program_.assigned("model.max_seq_length");
    for (const PythonCall& call : program_.calls) {
      if (call.name != "tokenizer" && !call.name.ends_with(".tokenizer")) continue;
      if (call.find("max_length") != nullptr) length = call.find("max_length");
    }
    const bool joins = std::ranges::any_of(program_.functions, [](const std::string& name) {
      return name.find("group") != name.npos || name.find("chunk") != name.npos;
    });
    if (task_ == "masked_lm" && joins) {
      launch_.add_flag("attend_across_documents", "true");
      length = program_.assigned("block_size");
      if (length == nullptr) length = program_.assigned("chunk_size");
    } else if (task_ == "masked_lm") {
      launch_.add_flag("line_by_line", "true");
      launch_.remark("--line-by-line",
                     "makes several sequences of a long row, of which the program drops all but "
                     "the first");
    }
    if (length != nullptr && length->kind == PythonValue::Kind::kWord) {
      return launch_.add_flag("max_seq_length", length->text);
    }
    if (length != nullptr) {
      return launch_.refuse("the length of texts",
                            "is not a number in the program; add --max-seq-length N to the line");
    }
    if (is_similarity_) return take_sentence_length(model_, launch_);
    // Without a length, a tokenizer cuts where its files say.
    if (is_plain(model_)) return launch_.add_flag("max_seq_length", "512");
    launch_.refuse("the length of texts",
                   "is model_max_length in the tokenizer's files, which berth does not know here; "
                   "add --max-seq-length N to the line");
  }

  const PythonProgram& program_;
  std::set<std::string> splits_;  // texts that may name splits
  const PythonCall* arguments_ = nullptr;
  bool is_similarity_ = false;
  std::string model_, task_;
  Launch launch_;
};

}  // namespace

std::optional<Launch> find_python_job(std::string_view program, const std::string& model) {
  const PythonProgram read = read_python(program);
  return PythonJob(read, model).find();
}

}  // namespace berth
