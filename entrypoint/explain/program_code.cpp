#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "entrypoint/explain/program_parts.h"
#include "entrypoint/explain/shell_text.h"
#include "storage/base/text.h"

namespace berth {
namespace {

struct TrainingCall {
  std::string_view name, text;
};

constexpr std::string_view kSearch =
    "trains many models with other values; write the values of one of them into the program";
constexpr std::string_view kFolds =
    "divides the rows for several trainings; write the rows of one into files, and name them with "
    "--train-data-file and --eval-data-file";
constexpr std::string_view kSampler = "draws rows in another way than each once in an epoch";
constexpr std::string_view kAdapter =
    "makes adapters that berth does not have: --lora-rank trains LoRA adapters";

constexpr std::string_view kMakesOptimizer =
    "makes an optimizer and a schedule in the program; --optimizer, --learning-rate and "
    "--lr-scheduler-type say what they are";

// The arguments of a Trainer that are read.
constexpr std::string_view kTrainerArguments =
    "model args data_collator train_dataset eval_dataset processing_class tokenizer model_init "
    "compute_loss_func compute_metrics callbacks optimizers optimizer_cls_and_kwargs "
    "preprocess_logits_for_metrics loss evaluator prediction_loss_only";

// Parts of a head that adapters may train along, as berth does.
constexpr std::string_view kHeads =
    "classifier score qa_outputs pre_classifier pooler cls lm_head head vocab_projector "
    "vocab_transform vocab_layer_norm";
// Tasks of PEFT for which get_peft_model() trains the head.
constexpr std::string_view kTasksWithHead = "SEQ_CLS TOKEN_CLS QUESTION_ANS";

// Calls of any receiver that change a training.
constexpr TrainingCall kTrainingCalls[] = {
    {"hyperparameter_search", kSearch},
    {"create_study", kSearch},
    {"create_optimizer_and_scheduler", kMakesOptimizer},
    {"set_default_dtype", "changes the type of the parameters, which berth keeps in fp32"},
    {"KFold", kFolds},
    {"StratifiedKFold", kFolds},
    {"GroupKFold", kFolds},
    {"StratifiedGroupKFold", kFolds},
    {"RepeatedStratifiedKFold", kFolds},
    {"MultilabelStratifiedKFold", kFolds},
    {"StratifiedShuffleSplit", kFolds},
    {"WeightedRandomSampler", kSampler},
    {"PromptTuningConfig", kAdapter},
    {"PrefixTuningConfig", kAdapter},
    {"PromptEncoderConfig", kAdapter},
    {"IA3Config", kAdapter},
    {"AdaLoraConfig", kAdapter},
    {"BitsAndBytesConfig", "rounds the model to fewer bits, and berth trains in fp32 and bf16"},
    {"train_adapter", kAdapter},
    {"train_adapter_fusion", kAdapter},
    {"add_adapter", kAdapter},
    {"half", "rounds the parameters to 16 bits, which berth keeps in fp32"},
    {"load_state_dict",
     "reads parameters of another file; save them with save_pretrained(), and name that folder "
     "with --model"},
    {"init_weights", "draws parameters anew; --init random does so for a whole model"},
    {"set_lr_scheduler", "sets arguments after they are made; add their flags to the line"},
    {"set_optimizer", "sets arguments after they are made; add their flags to the line"},
    {"set_training", "sets arguments after they are made; add their flags to the line"},
    {"set_evaluate", "sets arguments after they are made; add their flags to the line"},
    {"set_dataloader", "sets arguments after they are made; add their flags to the line"},
};

constexpr std::string_view kCollators =
    "DataCollatorWithPadding DataCollatorForTokenClassification DataCollatorForLanguageModeling "
    "DataCollatorForWholeWordMask DefaultDataCollator SentenceTransformerDataCollator "
    "default_data_collator";

// Callbacks that change no update.
constexpr std::string_view kPlainCallbacks =
    "EarlyStoppingCallback TensorBoardCallback WandbCallback MLflowCallback CometCallback "
    "PrinterCallback ProgressCallback CodeCarbonCallback AzureMLCallback ClearMLCallback "
    "NeptuneCallback DVCLiveCallback SwanLabCallback DefaultFlowCallback NotebookProgressCallback "
    "FlyteCallback";

// Settings of a tokenizer that change no token of a text.
constexpr std::string_view kPlainTokenizer =
    "pad_token pad_token_id eos_token eos_token_id bos_token model_max_length "
    "init_kwargs chat_template deprecation_warnings";

// Settings of a configuration that change no parameter and no loss.
constexpr std::string_view kPlainSettings =
    "id2label label2id use_cache num_labels pad_token_id output_attentions output_hidden_states "
    "_name_or_path";

constexpr std::string_view kChangesModel =
    "changes the model; write it into a config.json and name that with --model-config";

// Whether a class with this base is a model.
bool is_model_class(std::string_view base) {
  if (base == "Module" || base == "LightningModule" || base.ends_with("PreTrainedModel")) {
    return true;
  }
  return base.ends_with("ForSequenceClassification") || base.ends_with("ForTokenClassification") ||
         base.ends_with("ForQuestionAnswering") || base.ends_with("ForMaskedLM") ||
         (base.ends_with("Model") && base != "BaseModel");
}

// Whether a mapping begins at this token, or the name of one that the program made of data sets.
bool has_several_sets(const PythonProgram& program, size_t at) {
  const std::vector<PythonToken>& tokens = program.tokens;
  if (tokens[at].is_sign('{')) return true;
  if (tokens[at].kind != PythonToken::Kind::kName) return false;
  for (size_t i = 0; i + 4 < tokens.size(); ++i) {
    if (!tokens[i].is_name(tokens[at].text) || !tokens[i + 1].is_sign('=')) continue;
    const bool is_made = tokens[i + 2].is_name("DatasetDict") && tokens[i + 3].is_sign('(');
    const bool is_subscript = tokens[at + 1].is_sign('[');  // one of the data sets
    if (!is_subscript && tokens[i + (is_made ? 4 : 2)].is_sign('{')) return true;
  }
  return false;
}

class CodeReader {
 public:
  CodeReader(const PythonProgram& program, bool is_similarity, Launch& launch)
      : program_(program), is_similarity_(is_similarity), launch_(launch) {}

  void read() {
    for (const auto& [name, base] : program_.classes) read_class(name, base);
    for (const PythonCall& call : program_.calls) {
      if (!call.name.starts_with(kDefinition)) read_call(call);
    }
    for (const auto& [name, value] : program_.assignments) read_assignment(name, value);
    check_several();
    read_environment();
    find_frozen();
    find_removed();
    find_masks();
  }

  // Settings that are made twice, of which the Trainer may get either.
  void check_several() {
    constexpr std::string_view kSettings =
        "LoraConfig EarlyStoppingCallback DataCollatorForLanguageModeling "
        "DataCollatorForWholeWordMask";
    const auto text = [&](const PythonCall& call) {
      std::string words;
      for (size_t i = call.arguments.begin; i < call.arguments.end; ++i) {
        words += program_.tokens[i].text + " ";
      }
      return words;
    };
    std::map<std::string_view, std::pair<size_t, std::string>> last;  // lines and texts
    for (const PythonCall& call : program_.calls) {
      const std::string_view name = last_name(call.name);
      if (is_one_of(kSettings, name)) last[name] = {call.line, text(call)};
    }
    for (const PythonCall& call : program_.calls) {
      const auto other = last.find(last_name(call.name));
      if (other == last.end() || text(call) == other->second.second) continue;
      refuse(call, cat("has other arguments than in line ", other->second.first,
                       "; write the one that is meant into the program"));
    }
  }

  // A Trainer without such a collator masks nothing, and has no labels.
  void find_masks() {
    const bool masks = std::ranges::any_of(program_.calls, [](const PythonCall& call) {
      const std::string_view name = last_name(call.name);
      return name.starts_with("DataCollatorForLanguageModeling") ||
             name == "DataCollatorForWholeWordMask";
    });
    if (masks || !is_one_of(launch_.flags, "--task=masked_lm")) return;
    launch_.refuse("the masks",
                   "are not made by DataCollatorForLanguageModeling, as berth makes them; where "
                   "its masks will do, add --mlm-probability X to the line");
  }

  // "parameter.requires_grad = False", also behind a loop's header
  void find_frozen() {
    for (size_t i = 1; i + 2 < program_.tokens.size(); ++i) {
      const bool sets = program_.tokens[i].is_name("requires_grad") &&
                        program_.tokens[i - 1].is_sign('.') && program_.tokens[i + 1].is_sign('=');
      const PythonToken& value = program_.tokens[i + 2];
      if (sets && !value.is_sign('=') && !value.is_name("True")) return refuse_frozen();
    }
  }

  // "del model.encoder.layer[6:]"
  void find_removed() {
    for (size_t i = 0; i + 2 < program_.tokens.size(); ++i) {
      const bool removes = program_.tokens[i].is_name("del") &&
                           program_.tokens[i + 1].is_name("model") &&
                           program_.tokens[i + 2].is_sign('.');
      if (!removes) continue;
      launch_.refuse(cat("del (line ", program_.tokens[i].line, ")"),
                     "removes a part of the model; save the model without it, and name its folder "
                     "with --model");
    }
  }

 private:
  void refuse(const PythonCall& call, std::string_view text) {
    launch_.refuse(cat(last_name(call.name), " (line ", call.line, ")"), text);
  }

  void read_class(const std::string& name, const std::string& base) {
    if (base.ends_with("Trainer")) {
      launch_.refuse(name, "is a Trainer of the program's own, whose loss berth does not know");
    } else if (base.ends_with("TrainerCallback")) {
      launch_.refuse(name,
                     "is a callback of the program's own, which berth does not run; explain the "
                     "program without it where it changes no update");
    } else if (base.ends_with("Dataset")) {
      launch_.refuse(name, "makes the rows in the program; name their file with --train-data-file");
    } else if (base.ends_with("Sampler")) {
      launch_.refuse(name, kSampler);
    } else if (base.find("Collator") != std::string::npos ||
               name.find("Collator") != std::string::npos) {
      launch_.refuse(name, "puts batches together in a way that berth does not know");
    } else if (is_model_class(base)) {
      launch_.refuse(name, "is a model of the program's own, and docs/models.md lists berth's");
    }
  }

  bool is_own(std::string_view name) const {
    return std::ranges::any_of(program_.classes,
                               [&](const auto& row) { return row.first == name; });
  }

  void read_call(const PythonCall& call) {
    const std::string_view name = last_name(call.name);
    const bool adds_lora = name == "add_adapter" && !call.positional.empty() &&
                           call.positional[0].name == "LoraConfig()";
    for (const TrainingCall& row : kTrainingCalls) {
      if (name == row.name && !adds_lora) refuse(call, row.text);
    }
    if (adds_lora && !is_similarity_) {
      refuse(call,
             "keeps the task's head as it is, and berth trains it with the adapters; "
             "get_peft_model() with a task_type does so, too");
    }
    for (const char* keyword : {"optimizers", "optimizer_cls_and_kwargs"}) {
      const PythonValue* made = call.find(keyword);
      const bool has_default =
          made != nullptr && !made->items.empty() &&
          std::ranges::all_of(made->items, [](const PythonValue& v) { return v.text == "None"; });
      if (made == nullptr || has_default) continue;
      launch_.refuse(keyword,
                     "are made in the program; --optimizer, --learning-rate and "
                     "--lr-scheduler-type say what they are");
    }
    const bool is_other =
        name.ends_with("Trainer") && name != "Trainer" && name != "SentenceTransformerTrainer";
    if (is_other && !is_own(name)) {
      refuse(call, "is no Trainer of transformers, and berth does not know its loss or method");
    }
    if (name == "Trainer" || name == "SentenceTransformerTrainer") check_trainer(call);
    if (call.find("compute_loss_func") != nullptr) {
      launch_.refuse("compute_loss_func", "is a loss of the program's own");
    }
    if (is_similarity_) check_sentences(call);
    check_collator(call);
    check_callbacks(call);
    check_parts(call);
    check_data_sets(call);
    const bool has_prompt = !call.positional.empty() && call.positional[0].text == "True";
    if (name == "set_pooling_include_prompt" && !has_prompt) {
      refuse(call, "leaves the tokens of a prompt out of the embedding, and berth does not");
    }
    if (name.starts_with("freeze") || is_off(call, "requires_grad_")) refuse_frozen();
    if (name == "EarlyStoppingCallback") take_patience(call);
    if (name == "LoraConfig") take_adapters(call);
    const bool is_whole = name == "DataCollatorForWholeWordMask";
    if (is_whole || name.starts_with("DataCollatorForLanguageModeling")) take_masks(call);
    if (is_whole) launch_.add_flag("whole_word_masking", "true");
    const PythonValue* padding = call.find("label_pad_token_id");
    if (name == "DataCollatorForTokenClassification" && padding != nullptr &&
        padding->text != "-100") {
      refuse(call, "counts the tokens that fill a batch, which have no tag in berth");
    }
  }

  void check_trainer(const PythonCall& call) {
    if (has_unpacked(program_, call)) {
      refuse(call, "has arguments that the program computes; write them out");
    }
    for (const auto& [keyword, value] : call.keywords) {
      if (!is_one_of(kTrainerArguments, keyword)) {
        refuse(call, cat("has ", keyword, ", which is no argument of a Trainer that berth knows"));
      }
    }
    const PythonValue* metrics = call.find("compute_metrics");
    if (is_similarity_ && metrics != nullptr && metrics->text != "None") {
      refuse(call, "has compute_metrics, and berth reports the metrics of docs/embeddings.md");
    }
    const PythonValue* scores = call.find("preprocess_logits_for_metrics");
    if (scores == nullptr || scores->text == "None") return;
    const auto span = program_.spans.find(scores->name);
    const bool takes_largest =
        span != program_.spans.end() &&
        std::any_of(program_.tokens.begin() + static_cast<ptrdiff_t>(span->second.begin),
                    program_.tokens.begin() + static_cast<ptrdiff_t>(span->second.end),
                    [](const PythonToken& token) { return token.is_name("argmax"); });
    if (takes_largest) return;
    launch_.refuse("preprocess_logits_for_metrics",
                   "changes the outputs before the metrics, in a way that berth does not know");
  }

  // os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
  void read_environment() {
    const std::vector<PythonToken>& tokens = program_.tokens;
    for (size_t i = 0; i + 3 < tokens.size(); ++i) {
      const bool is_named =
          tokens[i].kind == PythonToken::Kind::kText && tokens[i].text == "CUDA_VISIBLE_DEVICES";
      const bool is_item = tokens[i + 1].is_sign(']') && tokens[i + 2].is_sign('=');
      const bool is_argument = tokens[i + 1].is_sign(',') || tokens[i + 1].is_sign(':');
      if (!is_named || (!is_item && !is_argument)) continue;
      const PythonToken& value = tokens[i + (is_item ? 3 : 2)];
      const std::string& devices = value.text;
      const bool is_known = value.kind == PythonToken::Kind::kText;
      const bool has_none = is_known && (devices.empty() || devices == "-1");
      launch_.mask_gpus(has_none   ? "0"
                        : is_known ? std::to_string(parted(devices, ",").size())
                                   : "all");
    }
  }

  void check_sentences(const PythonCall& call) {
    const std::string_view name = last_name(call.name);
    const PythonValue* evaluator = call.find("evaluator");
    if (name.ends_with("Trainer") && evaluator != nullptr && evaluator->text != "None" &&
        !scores_given_rows()) {
      launch_.refuse("evaluator",
                     "scores rows of its own; add --eval-data-file FILE with them to the line, or "
                     "--eval-retrieval DIR for a search");
    }
    const bool adds = name == "append" || name == "add_module" || name == "insert";
    const bool is_module = std::ranges::any_of(
        call.inner, [](const std::string& made) { return made.starts_with("models."); });
    const bool makes_list = std::ranges::any_of(program_.calls, [](const PythonCall& other) {
      return last_name(other.name) == "Transformer";
    });
    if (!adds || !is_module || makes_list) return;
    refuse(call,
           "adds a module to the model; save the SentenceTransformer with it, and name its folder "
           "with --model");
  }

  // Whether the evaluator compares the columns of the rows that the Trainer evaluates on, as in
  // EmbeddingSimilarityEvaluator(rows["sentence1"], rows["sentence2"], rows["score"]).
  bool scores_given_rows() const {
    constexpr std::string_view kTrainer = "SentenceTransformerTrainer";
    const std::vector<PythonToken>& tokens = program_.tokens;
    const PythonSpan rows = find_argument(program_, kTrainer, "eval_dataset");
    const PythonCall* made = find_call_of(program_, find_argument(program_, kTrainer, "evaluator"));
    if (made == nullptr || last_name(made->name) != "EmbeddingSimilarityEvaluator") return false;
    const PythonValue* similarity = made->find("main_similarity");
    const bool is_cosine = similarity == nullptr || similarity->text == "cosine" ||
                           last_name(similarity->name) == "COSINE";
    if (!is_cosine || !made->inner.empty() || rows.end != rows.begin + 1) return false;
    size_t columns = 0;
    for (size_t i = made->arguments.begin; i + 3 < made->arguments.end + 1; ++i) {
      if (tokens[i].kind != PythonToken::Kind::kName || !tokens[i + 1].is_sign('[')) continue;
      const bool is_column = tokens[i].text == tokens[rows.begin].text &&
                             tokens[i + 2].kind == PythonToken::Kind::kText &&
                             tokens[i + 3].is_sign(']');
      if (!is_column) return false;
      ++columns;
    }
    return columns == 3;
  }

  static bool is_off(const PythonCall& call, std::string_view name) {
    return last_name(call.name) == name && !call.positional.empty() &&
           call.positional[0].text == "False";
  }

  void check_collator(const PythonCall& call) {
    const std::string_view name = last_name(call.name);
    const bool is_maker = name.find("DataCollator") != name.npos && !is_own(name);
    if (is_maker && !is_one_of(kCollators, name)) {
      refuse(call, "puts batches together in a way that berth does not know");
    }
    const PythonValue* collator = call.find("data_collator");
    if (name == "Trainer" && call.positional.size() > 2) collator = &call.positional[2];
    if (collator == nullptr || collator->is_known()) return;
    std::string_view made = last_name(collator->name);
    if (made.ends_with("()")) made.remove_suffix(2);
    if (!made.empty() && (is_one_of(kCollators, made) || is_own(made))) return;
    launch_.refuse("data_collator",
                   "is a function of the program's own, or is made elsewhere, and berth does not "
                   "know its batches");
  }

  void refuse_callback(std::string_view name) {
    if (name.ends_with("()")) name.remove_suffix(2);
    if (is_one_of(kPlainCallbacks, name) || is_own(name)) return;
    launch_.refuse(name,
                   "is a callback that berth does not know, and does not run; explain the "
                   "program without it where it changes no update");
  }

  // callbacks=[...] of a Trainer, and trainer.add_callback(...).
  void check_callbacks(const PythonCall& call) {
    const bool adds = last_name(call.name) == "add_callback" && !call.positional.empty();
    if (adds && !call.positional[0].name.empty()) {
      refuse_callback(last_name(call.positional[0].name));
    }
    for (size_t i = 0; i < call.keywords.size(); ++i) {
      if (call.keywords[i].first != "callbacks") continue;
      PythonSpan span = call.spans[i];
      if (!find_list(span)) {
        launch_.refuse("callbacks",
                       "are computed in the program; write their list into the call of the "
                       "Trainer");
        continue;
      }
      check_named_callbacks(span);
      for (const PythonCall& inner : program_.calls) {
        const bool is_item = inner.arguments.begin > span.begin && inner.arguments.end < span.end;
        if (!is_item) continue;
        const bool is_value = std::ranges::any_of(program_.calls, [&](const PythonCall& outer) {
          return outer.arguments.begin > span.begin &&
                 outer.arguments.begin < inner.arguments.begin &&
                 outer.arguments.end > inner.arguments.end && outer.arguments.end < span.end;
        });
        if (!is_value) refuse_callback(last_name(inner.name));
      }
    }
  }

  // The list that the program assigns to a name. false: the value is no list.
  bool find_list(PythonSpan& span) const {
    const bool is_name =
        span.end == span.begin + 1 && program_.tokens[span.begin].kind == PythonToken::Kind::kName;
    if (is_name && program_.tokens[span.begin].text == "None") return true;
    if (is_name) span = find_assigned(program_, program_.tokens[span.begin].text);
    return span.begin < span.end && program_.tokens[span.begin].is_sign('[') &&
           program_.tokens[span.end - 1].is_sign(']');
  }

  // Items that are names: of a class, or of what a call has made.
  void check_named_callbacks(PythonSpan list) {
    for (size_t i = list.begin + 1; i + 1 < list.end; ++i) {
      const PythonToken &before = program_.tokens[i - 1], &after = program_.tokens[i + 1];
      const bool is_item = program_.tokens[i].kind == PythonToken::Kind::kName &&
                           (before.is_sign('[') || before.is_sign(',')) &&
                           (after.is_sign(']') || after.is_sign(','));
      if (!is_item) continue;
      const PythonCall* made = find_call_of(program_, {i, i + 1});
      refuse_callback(made == nullptr ? std::string_view(program_.tokens[i].text)
                                      : last_name(made->name));
    }
  }

  // Several data sets of a Trainer: {"a": ..., "b": ...}.
  void check_data_sets(const PythonCall& call) {
    for (size_t i = 0; i < call.keywords.size(); ++i) {
      const std::string& keyword = call.keywords[i].first;
      if (keyword != "train_dataset" && keyword != "eval_dataset") continue;
      if (!has_several_sets(program_, call.spans[i].begin)) continue;
      const bool may_mix = is_similarity_ && keyword == "train_dataset";
      if (may_mix) take_sampling();
      if (may_mix && !find_sources(program_).empty()) continue;
      launch_.refuse(keyword, may_mix ? "names several data sets; add --train-source FILE to the "
                                        "line for each one but the first"
                                      : "names several data sets, and a job of berth scores one; "
                                        "add --eval-data-file FILE to the line");
    }
  }

  // Which of its data sets the program takes the rows of an update of.
  void take_sampling() {
    for (const PythonCall& call : program_.calls) {
      const PythonValue* sampler = call.find("multi_dataset_batch_sampler");
      if (sampler == nullptr) continue;
      const std::string way =
          lower_ascii(sampler->is_known() ? sampler->text : last_name(sampler->name));
      if (way == "round_robin") launch_.add_flag("source-sampling", way);
      if (way == "round_robin" || way == "proportional") continue;
      launch_.refuse("multi_dataset_batch_sampler",
                     "takes rows in a way that berth does not have: --source-sampling is "
                     "proportional or round_robin");
    }
  }

  // Calls that change parameters or parts of a model.
  void check_parts(const PythonCall& call) {
    const std::string_view name = last_name(call.name);
    if (name == "setattr") {
      const bool freezes = call.positional.size() > 1 && call.positional[1].text == "requires_grad";
      if (freezes) return refuse_frozen();
      refuse(call, "sets a part of the model or of Trainer that berth does not know");
    }
    if (call.name.find("nn.init.") != std::string::npos || call.name == "model.apply") {
      refuse(call, "draws parameters anew; --init random does so for a whole model");
    }
    if (name == "update" && call.name.ends_with("config.update")) check_settings(call);
    const bool is_number = !call.positional.empty() && call.positional[0].is_known();
    if (name == "resize_token_embeddings" && is_number) {
      refuse(call, "changes the vocabulary; save the tokenizer and the model, and name its folder");
    }
    const PythonValue* from = call.find("resume_from_checkpoint");
    const bool is_training = lower_ascii(call.name).ends_with("trainer.train");
    if (from == nullptr && is_training && !call.positional.empty()) from = &call.positional[0];
    if (name != "train" || from == nullptr || from->kind == PythonValue::Kind::kWord) return;
    refuse(call,
           "goes on from a checkpoint of another program; name it with --model, and the "
           "optimizer begins anew");
  }

  // config.update({"hidden_dropout_prob": 0.3})
  void check_settings(const PythonCall& call) {
    const bool is_mapping = call.positional.size() == 1 && !call.positional[0].keys.empty();
    const bool is_plain =
        is_mapping && std::ranges::all_of(call.positional[0].keys, [](const std::string& key) {
          return is_one_of(kPlainSettings, key);
        });
    if (is_plain) return;
    refuse(call, kChangesModel);
  }

  void refuse_frozen() {
    launch_.refuse("requires_grad",
                   "is off for some parameters; add --freeze-encoder-layers N or "
                   "--freeze-embeddings to the line, which keep layers as they are");
  }

  void take_patience(const PythonCall& call) {
    const PythonValue* value = call.find("early_stopping_patience");
    if (!call.positional.empty()) value = &call.positional[0];
    const PythonValue* threshold = call.find("early_stopping_threshold");
    if (call.positional.size() > 1) threshold = &call.positional[1];
    if (value == nullptr) launch_.add_flag("early_stopping_patience", "1");
    if (value != nullptr) add_number("early-stopping-patience", *value);
    if (threshold != nullptr) add_number("early-stopping-threshold", *threshold);
  }

  void add_number(std::string_view flag, const PythonValue& value) {
    if (value.kind == PythonValue::Kind::kWord) return launch_.add_flag(flag, value.text);
    launch_.refuse(cat("--", flag),
                   "is computed in the program; add it with its number to the line");
  }

  void take_adapters(const PythonCall& call) {
    constexpr std::string_view kKnownOptions =
        "r lora_alpha lora_dropout target_modules bias task_type inference_mode "
        "base_model_name_or_path peft_type modules_to_save";
    if (!is_similarity_) check_head_of_adapters(call);
    if (has_unpacked(program_, call)) {
      refuse(call, "has arguments that the program computes; write them out");
    }
    const auto take = [&](std::string_view keyword, std::string_view flag, std::string_view none) {
      const PythonValue* value = call.find(keyword);
      if (value == nullptr) {
        if (!none.empty()) launch_.add_flag(flag, none);
      } else if (value->is_known()) {
        launch_.add_flag(flag, joined(*value));
      } else {
        launch_.refuse(keyword, cat("is computed in the program; add --", flag));
      }
    };
    take("r", "lora-rank", "8");
    take("lora_alpha", "lora-alpha", "8");
    take("lora_dropout", "lora-dropout", "");
    take("target_modules", "lora-target-modules", "");
    for (const auto& [keyword, value] : call.keywords) {
      const bool trains_bias = keyword == "bias" && value.text != "none";
      const bool is_plain = value.text == "False" || value.text == "None";
      if ((is_one_of(kKnownOptions, keyword) && !trains_bias) || is_plain) continue;
      refuse(call, cat("has ", keyword,
                       ", which changes the adapters in a way that berth does not have"));
    }
  }

  // berth trains the task's head with the adapters.
  void check_head_of_adapters(const PythonCall& call) {
    const PythonValue *task = call.find("task_type"), *saved = call.find("modules_to_save");
    const std::string_view type = task == nullptr    ? ""
                                  : task->is_known() ? std::string_view(task->text)
                                                     : last_name(task->name);
    const bool has_modules = saved != nullptr && saved->text != "None";
    const bool has_heads = has_modules && saved->kind == PythonValue::Kind::kList &&
                           std::ranges::all_of(saved->items, [](const PythonValue& v) {
                             return is_one_of(kHeads, v.text);
                           });
    if (has_modules && !has_heads) {
      refuse(call, "trains other modules than the task's head beside the adapters");
    } else if (!has_modules && !is_one_of(kTasksWithHead, type)) {
      refuse(call,
             "keeps the task's head as it is, because it has no task_type of a head; berth trains "
             "the head with the adapters. Where this will do, add --lora-rank N to the line");
    } else if (!has_modules && type == "SEQ_CLS") {
      launch_.remark("--lora-rank",
                     "trains the whole head. PEFT trains the layer named classifier, and keeps "
                     "BERT's pooler as it is");
    }
  }

  void take_masks(const PythonCall& call) {
    const PythonValue* masks = call.find("mlm");
    const PythonValue* share = call.find("mlm_probability");
    if (call.positional.size() > 1) masks = &call.positional[1];
    if (call.positional.size() > 2) share = &call.positional[2];
    if (masks != nullptr && masks->text == "False") {
      launch_.refuse("mlm",
                     "is off, so that the program trains a decoder, and berth trains encoders");
    }
    for (const auto& [keyword, value] : call.keywords) {
      const bool is_usual = (keyword == "mask_replace_prob" && value.text == "0.8") ||
                            (keyword == "random_replace_prob" && value.text == "0.1");
      if (!keyword.ends_with("_replace_prob") || is_usual) continue;
      refuse(call, cat("has ", keyword,
                       ", and berth replaces 80 % of the chosen tokens by the mask "
                       "and 10 % by others"));
    }
    const PythonValue* whole = call.find("whole_word_mask");
    if (whole != nullptr && whole->text == "True") launch_.add_flag("whole_word_masking", "true");
    if (whole != nullptr && !whole->is_known()) {
      launch_.refuse("whole_word_mask",
                     "is computed in the program; add --whole-word-masking or "
                     "--no-whole-word-masking to the line");
    }
    if (share == nullptr) return;
    if (share->is_known()) return launch_.add_flag("mlm_probability", share->text);
    launch_.refuse("mlm_probability",
                   "is computed in the program; add --mlm-probability X to the line");
  }

  // "model.classifier = ...", "config.hidden_dropout_prob = 0.2", "trainer.optimizer = ...".
  void read_assignment(const std::string& name, const PythonValue& value) {
    const size_t dot = name.rfind('.');
    if (dot == std::string::npos) return;
    const std::string_view receiver = std::string_view(name).substr(0, dot);
    const std::string_view setting = last_name(name);
    const std::string_view owner = last_name(receiver);
    if (owner == "config" && receiver != "self" && !is_one_of(kPlainSettings, setting)) {
      if (receiver != "config" && receiver.find("model") == receiver.npos) return;
      return launch_.refuse(name, setting == "problem_type"
                                      ? "chooses the loss; add --task TASK to the line"
                                      : kChangesModel);
    }
    const bool is_part = (owner == "model" || receiver.find("model.") == 0) && owner != "config";
    if (is_part && setting != "max_seq_length" && setting != "config" && setting != "tokenizer") {
      return launch_.refuse(name,
                            "replaces a part of the model; save the model with it, and name its "
                            "folder with --model");
    }
    if (owner == "args" && receiver.find("trainer") != receiver.npos) {
      return launch_.refuse(setting,
                            "is set after the Trainer is made; add its value to the line "
                            "as a flag");
    }
    if ((owner == "trainer" || owner.ends_with("Trainer") || receiver.starts_with("trainer.")) &&
        setting != "tokenizer") {
      return launch_.refuse(name, "replaces a part of Trainer, and berth does not know it");
    }
    if (setting == "truncation_side" && value.text == "left") {
      return launch_.refuse(name, "cuts texts at their beginning, and berth at their end");
    }
    const bool is_side = setting == "truncation_side" || setting == "padding_side";
    if (!lower_ascii(owner).ends_with("tokenizer") || is_one_of(kPlainTokenizer, setting)) return;
    if (is_side && value.text == "right") return;
    launch_.refuse(name,
                   "changes the tokenizer; save it with the model, and name their folder in the "
                   "program");
  }

  const PythonProgram& program_;
  const bool is_similarity_;
  Launch& launch_;
};

}  // namespace

// "args.num_train_epochs = 5", "dataclasses.replace(args, num_train_epochs=5)"
void check_later_settings(const PythonProgram& program, const PythonCall& arguments,
                          Launch& launch) {
  size_t at = arguments.arguments.begin;  // behind "NAME = TrainingArguments("
  while (at > 0 && !program.tokens[at].is_sign('=') &&
         program.tokens[at].kind != PythonToken::Kind::kLineEnd) {
    --at;
  }
  if (at == 0 || !program.tokens[at].is_sign('=')) return;
  const std::string& owner = program.tokens[at - 1].text;
  for (const auto& [name, value] : program.assignments) {
    if (!name.starts_with(owner + ".")) continue;
    const std::string setting(last_name(name));
    launch.refuse(setting, cat("is set after ", owner,
                               " is made; add its value to the line as "
                               "a flag"));
  }
  for (const PythonCall& call : program.calls) {
    const std::string_view name = last_name(call.name);
    const bool changes = (name == "replace" || name == "setattr") && !call.positional.empty();
    if (!changes || !program.tokens[call.arguments.begin].is_name(owner)) continue;
    launch.refuse(cat(name, " (line ", call.line, ")"),
                  cat("changes ", owner, " after it is made; write the values into its call"));
  }
}

void read_own_code(const PythonProgram& program, bool is_similarity, Launch& launch) {
  CodeReader(program, is_similarity, launch).read();
}

}  // namespace berth
