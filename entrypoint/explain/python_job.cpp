#include "entrypoint/explain/python_job.h"

#include <algorithm>
#include <array>
#include <set>

#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/named_inputs.h"
#include "entrypoint/explain/program_parts.h"
#include "entrypoint/explain/python_reader.h"
#include "entrypoint/flags/foreign/translation.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// What makes a data set of the lines of a file in early versions of transformers.
constexpr std::string_view kLines = "LineByLineTextDataset";
constexpr std::string_view kSaved = "load_from_disk";

struct NamedText {
  std::string_view name, text;
};

constexpr NamedText kTasks[] = {
    {"ForSequenceClassification", "sequence_classification"},
    {"ForTokenClassification", "token_classification"},
    {"ForQuestionAnswering", "question_answering"},
    {"ForMaskedLM", "masked_lm"},
    {"AutoModelWithLMHead", "masked_lm"},  // of an encoder, in early versions
    {"BertForPreTraining", "mlm_nsp"},
};

// Whether a class of this name has the model of the row: one that ends so, or has the whole name.
bool has_model(std::string_view type, const NamedText& row) {
  return row.name.starts_with("For") ? type.ends_with(row.name) : last_name(type) == row.name;
}

constexpr NamedText kOtherModels[] = {
    {"ForMultipleChoice",
     "--task multiple_choice trains such models, and explain does not read their rows"},
    {"ForNextSentencePrediction",
     "berth does not train next sentences alone; --task mlm_nsp trains them with masked tokens"},
    {"ForPreTraining",
     "write the job as flags: --task mlm_nsp pre-trains a BERT, --task mlm_sop an ALBERT, --task "
     "electra an ELECTRA, and --task mlm others"},
    {"ForCausalLM", "this is a decoder, and berth trains encoders"},
    {"ForSeq2SeqLM", "this is a decoder, and berth trains encoders"},
    {"ForConditionalGeneration", "this is a decoder, and berth trains encoders"},
    {"ForImageClassification", "berth trains encoders of texts"},
    {"SetFitModel", "SetFit trains on pairs of few texts and then a head on their embeddings"},
};

// Arguments of from_pretrained() that leave the model as its files say.
constexpr std::string_view kPlainKeywords =
    "pretrained_model_name_or_path num_labels id2label label2id problem_type "
    "ignore_mismatched_sizes cache_dir token use_auth_token trust_remote_code torch_dtype dtype "
    "low_cpu_mem_usage local_files_only return_dict output_attentions output_hidden_states "
    "attn_implementation config force_download use_safetensors finetuning_task labels device_map";

// Data sets that load_dataset() loads only by the name of a configuration.
constexpr std::string_view kSeveral =
    "glue super_glue xtreme tweet_eval wikitext wikipedia c4 oscar mc4 xnli cc100 "
    "amazon_reviews_multi";

class PythonJob {
 public:
  PythonJob(const PythonProgram& program, const std::string& model)
      : program_(program), splits_(program.subscripts), model_(model), source_model_(model) {}

  std::optional<Launch> find() {
    if (read_estimator(program_, launch_)) return std::move(launch_);
    // A program that makes arguments twice trains with the last ones.
    arguments_ = find_last_call(program_, "TrainingArguments");
    const PythonCall* sentences = find_last_call(program_, "SentenceTransformerTrainingArguments");
    const PythonCall* fit = find_fit();
    is_similarity_ = sentences != nullptr || fit != nullptr;
    if (sentences != nullptr) arguments_ = sentences;
    const PythonCall* given = find_call_of(program_, find_argument(program_, trainer(), "args", 1));
    const bool has_given =
        given != nullptr && last_name(given->name).ends_with("TrainingArguments");
    if (has_given) arguments_ = given;
    if (arguments_ == nullptr && fit == nullptr) {
      name_other_library(program_, launch_);
      if (launch_.remarks.empty()) return std::nullopt;
      return std::move(launch_);
    }
    launch_.script = fit != nullptr && arguments_ == nullptr ? "fit" : "Trainer";
    read_model();
    read_data();
    if (!is_similarity_) check_scored_rows();
    read_length({program_, task_, model_, is_similarity_}, launch_);
    if (arguments_ != nullptr) read_training_arguments(program_, *arguments_, launch_);
    if (arguments_ == nullptr) read_fit(program_, *fit, launch_);
    const std::string source = source_model_;
    read_rows({program_, task_, source, is_similarity_}, launch_);
    if (task_ == "token_classification") check_token_tags(program_, launch_);
    if (!is_similarity_) check_metrics(program_, task_, launch_);
    read_own_code(program_, is_similarity_, launch_);
    check_runs(program_, launch_);
    check_flow(program_, launch_);
    if (const PythonCall* model = is_similarity_ ? nullptr : find_model()) {
      check_label_count(*model, task_, launch_);
    }
    if (arguments_ != nullptr) check_later_settings(program_, *arguments_, launch_);
    if (!is_similarity_) return std::move(launch_);
    launch_.add_flag("task", "similarity");
    read_sentence_losses(program_, launch_);
    return std::move(launch_);
  }

 private:
  // model.fit(train_objectives=[...]) of sentence-transformers before version 3.
  const PythonCall* find_fit() const {
    for (const PythonCall& call : program_.calls) {
      if (last_name(call.name) == "fit" && call.find("train_objectives") != nullptr) return &call;
    }
    return nullptr;
  }

  void read_model() {
    if (is_similarity_) {
      const bool has_modules = std::ranges::any_of(program_.calls, [](const PythonCall& call) {
        return last_name(call.name) == "Transformer" || last_name(call.name) == "Pooling";
      });
      if (has_modules) {
        model_ = source_model_ = read_sentence_modules(program_, launch_);
        return;
      }
    }
    if (const PythonCall* model = find_model()) return read_model_call(*model);
    if (find_last_call(program_, "DataCollatorForTokenClassification") != nullptr) {
      task_ = "token_classification";
      launch_.add_flag("task", task_);
    }
    if (const PythonCall* other = find_other_model()) {
      return launch_.refuse(cat(other->name, " (line ", other->line, ")"),
                            "makes a model of a kind that berth does not know, or without the head "
                            "of a task");
    }
    launch_.refuse("the model",
                   "is not named in the program as berth reads it; add --model NAME and "
                   "--task TASK to the line");
  }

  // A call that loads a model of another kind: SpanMarkerModel.from_pretrained().
  const PythonCall* find_other_model() const {
    const auto found = std::ranges::find_if(program_.calls, [](const PythonCall& call) {
      const size_t end = call.name.rfind(".from_pretrained");
      return end != std::string::npos && call.name.substr(0, end).ends_with("Model");
    });
    return found == program_.calls.end() ? nullptr : &*found;
  }

  // Whether a call makes a model as a training takes it.
  bool makes_model(const PythonCall& call) const {
    if (call.name.starts_with(kDefinition)) return false;
    if (is_similarity_) return call.name == "SentenceTransformer";
    std::string_view type = call.name;
    const bool is_loaded = type.ends_with(".from_pretrained");
    if (is_loaded) type.remove_suffix(16);
    const auto is_of = [&](const NamedText& row) { return has_model(type, row); };
    if (is_loaded && std::ranges::any_of(kOtherModels, is_of)) return true;
    if (is_loaded) return std::ranges::any_of(kTasks, is_of) && !type.starts_with("TF");
    return scratch_task(call) != nullptr;
  }

  // The last model that is made before the Trainer: earlier ones show what others have trained.
  const PythonCall* find_model() const {
    const PythonCall* trained =
        is_similarity_ ? find_trained_model(program_)
                       : find_call_of(program_, find_argument(program_, "Trainer", "model", 0));
    if (trained != nullptr && makes_model(*trained)) return trained;
    size_t end = program_.tokens.size();
    for (const PythonCall& call : program_.calls) {
      if (last_name(call.name).ends_with("Trainer")) end = call.arguments.begin;
    }
    const PythonCall *first = nullptr, *last = nullptr;
    for (const PythonCall& call : program_.calls) {
      if (!makes_model(call)) continue;
      if (first == nullptr) first = &call;
      if (call.arguments.begin < end) last = &call;
    }
    return last == nullptr || is_similarity_ ? first : last;
  }

  void read_model_call(const PythonCall& call) {
    if (is_similarity_) {
      check_sentence_model(call, "--model", launch_);
      return name_model(call);
    }
    if (note_scratch_model(call)) return;
    std::string_view type = call.name;
    type.remove_suffix(16);  // ".from_pretrained"
    for (const NamedText& row : kTasks) {
      if (!has_model(type, row)) continue;
      add_task(call, row.text);
      check_keywords(call);
      return name_model(call);
    }
    for (const NamedText& row : kOtherModels) {
      if (has_model(type, row)) return launch_.refuse(type, row.text);
    }
  }

  // The row of kTasks for a model with random parameters; nullptr: the call makes no such model.
  static const NamedText* scratch_task(const PythonCall& call) {
    std::string_view type = call.name;
    const bool is_from_config = type.ends_with(".from_config");
    if (is_from_config) type.remove_suffix(12);
    type = last_name(type);
    const auto* const row =
        std::ranges::find_if(kTasks, [&](const NamedText& task) { return has_model(type, task); });
    const bool is_made = is_from_config || call.name == type;
    const bool is_other = type.starts_with("DataCollator") || call.name.starts_with(kDefinition);
    const bool has_config = !call.positional.empty() || call.find("config") != nullptr;
    return row == std::end(kTasks) || !is_made || is_other || !has_config ? nullptr : row;
  }

  // BertForMaskedLM(config) or AutoModelForMaskedLM.from_config(config), with random parameters.
  bool note_scratch_model(const PythonCall& call) {
    const NamedText* row = scratch_task(call);
    if (row == nullptr) return false;
    add_task(call, row->text);
    launch_.refuse("the parameters", cat("are random at the beginning (line ", call.line,
                                         "); add --init random to the line"));
    launch_.refuse("the model",
                   "is made from a configuration; save it with the tokenizer, and add --model DIR "
                   "with their folder to the line");
    return true;
  }

  void check_keywords(const PythonCall& model) {
    if (model.positional.size() > 1 || has_unpacked(program_, model)) {
      launch_.refuse(cat("from_pretrained (line ", model.line, ")"),
                     "has arguments that the program computes; write them out");
    }
    for (const PythonCall& call : program_.calls) {
      const bool is_configuration = call.name.ends_with("Config.from_pretrained");
      if (&call != &model && !is_configuration) continue;
      for (const auto& [keyword, value] : call.keywords) {
        const bool is_short =
            keyword.ends_with("dtype") && (value.text + value.name).find("16") != std::string::npos;
        const bool is_config = keyword == "config";
        if (is_config && !value.name.ends_with("Config.from_pretrained()")) {
          launch_.refuse(cat(keyword, " (line ", call.line, ")"),
                         "is made in a way that berth does not read; save the model with it, and "
                         "name its folder in the program");
        } else if (keyword == "revision" && value.kind == PythonValue::Kind::kText) {
          launch_.add_flag("model_revision", value.text);
        } else if (keyword == "ignore_mismatched_sizes") {
          launch_.add_flag(keyword, joined(value));
        } else if (is_short) {
          launch_.refuse(cat(keyword, " (line ", call.line, ")"),
                         "keeps the parameters in 16 bits, and berth in 32; leave it out");
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
    source_model_ = model->text;
    const std::string name = is_similarity_ ? sentence_model(model->text) : model->text;
    if (model_.empty()) model_ = name;  // else the line names one
    launch_.add_flag("model_name_or_path", name);
  }

  void read_data() {
    const std::vector<SentenceSource> sources =
        is_similarity_ ? find_sources(program_) : std::vector<SentenceSource>();
    if (!sources.empty()) return name_sources(sources);
    if (task_ == "mlm_nsp") return name_lines("TextDatasetForNextSentencePrediction");
    const PythonCall* load = nullptr;
    bool are_several = false;
    for (const PythonCall& call : program_.calls) {
      if (last_name(call.name) == "InputExample" && is_similarity_) {
        return launch_.refuse("the data", cat("are made in the program (line ", call.line,
                                              "); write the rows into a file and name it with "
                                              "--train-data-file"));
      }
      if (last_name(call.name) != "load_dataset") continue;
      are_several = are_several || (load != nullptr && !is_same_data(*load, call));
      load = &call;
    }
    if (are_several) {
      load = choose_data();
    } else {
      for (const PythonCall& call : program_.calls) {
        if (last_name(call.name) == "load_dataset") check_rows(call);
      }
    }
    if (are_several && load == nullptr) {
      return launch_.refuse("the data",
                            "are several data sets or files; name one with --train-data-file");
    }
    if (load == nullptr) {
      if (find_last_call(program_, kLines) != nullptr) return name_lines(kLines);
      if (find_last_call(program_, kSaved) != nullptr) return name_saved();
    }
    if (load == nullptr || load->positional.empty() ||
        load->positional[0].kind != PythonValue::Kind::kText) {
      return launch_.refuse("the data",
                            "are not named in the program as berth reads it; name the rows "
                            "with --train-data-file");
    }
    if (load->find("data_files") != nullptr) return name_files(*load);
    const std::string& name = load->positional[0].text;
    launch_.add_flag("dataset_name", name);
    if (task_ == "question_answering" && name.ends_with("squad_v2")) {
      launch_.add_flag("version_2_with_negative", "true");
    }
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
    check_roles(name);
  }

  // The rows that the Trainer gets, by a keyword or by their place.
  PythonSpan given_rows(std::string_view argument) const {
    const size_t place = (is_similarity_ ? 2 : 3) + (argument == "eval_dataset" ? 1 : 0);
    return find_argument(program_, trainer(), argument, place);
  }

  std::string_view trainer() const {
    return is_similarity_ ? "SentenceTransformerTrainer" : "Trainer";
  }

  // The data set that the Trainer gets, of several. Refuses others that it evaluates on. nullptr:
  // the program does not say.
  const PythonCall* choose_data() {
    const PythonSpan scored = given_rows("eval_dataset");
    const PythonCall* rows = find_call_of(program_, given_rows("train_dataset"));
    const PythonCall* other = find_call_of(program_, scored);
    if (rows == nullptr || last_name(rows->name) != "load_dataset") return nullptr;
    splits_.clear();
    check_rows(*rows);
    if (other != nullptr && last_name(other->name) == "load_dataset" &&
        is_same_data(*rows, *other)) {
      check_rows(*other);
    } else if (other != nullptr && other->find("data_files") != nullptr) {
      check_rows(*other);
      name_file(*other, *other->find("data_files"), "validation_file");
    } else if (evaluates() && scored.end > 0) {
      splits_.insert("validation");  // which the sentence is about
      launch_.refuse("the rows to evaluate on",
                     "are of another data set, or computed in the program; add --eval-data-file "
                     "FILE to the line");
    }
    return rows;
  }

  // Whether the program trains on the split train of this data set, and evaluates on another one.
  void check_roles(const std::string& name) {
    const std::string taken = split_of("train_dataset");
    const bool trains_on_train = std::ranges::any_of(
        taken.empty() ? splits_ : std::set{taken},
        [](const std::string& text) { return text.find("train") != text.npos; });
    if (!trains_on_train) {
      launch_.refuse("the rows to train on",
                     "are not the split train, or the program does not say so; name them with "
                     "--train-data-file");
    }
    if (!evaluates()) return;
    const std::string scored = split_of("eval_dataset");
    if (scored.starts_with("train")) {
      return launch_.refuse("the rows to evaluate on",
                            "belong to the split train; name them with --eval-data-file");
    }
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

  // The rows of a program that trains on several data sets, each with its loss.
  void name_sources(const std::vector<SentenceSource>& sources) {
    const auto is_clear = [](const PythonCall& load) {
      const PythonValue *config = configuration_of(load), *split = load.find("split");
      return !load.positional.empty() && load.positional[0].kind == PythonValue::Kind::kText &&
             (config == nullptr ? !is_one_of(kSeveral, last_part(load.positional[0].text))
                                : config->kind == PythonValue::Kind::kText) &&
             split != nullptr && split->text == "train" && load.find("data_files") == nullptr;
    };
    for (const SentenceSource& source : sources) {
      if (is_clear(*source.rows)) continue;
      return launch_.refuse(cat("load_dataset (line ", source.rows->line, ")"),
                            "names other rows than the split train of a data set; name the rows "
                            "with --train-data-file FILE, and of all others with --train-source "
                            "FILE");
    }
    for (const SentenceSource& source : sources) {
      check_rows(*source.rows);
      const std::string& name = source.rows->positional[0].text;
      const PythonValue* config = configuration_of(*source.rows);
      const std::string configuration = config == nullptr ? "" : config->text;
      if (&source == &sources[0]) {
        launch_.add_flag("dataset_name", name);
        if (config != nullptr) launch_.add_flag("dataset_config_name", configuration);
      } else {
        launch_.add_flag("train-source", cat(find_hub_data_set(name, configuration).place,
                                             settings_of_source(program_, source, launch_)));
      }
    }
    const PythonSpan scored = given_rows("eval_dataset");
    if (!evaluates() || scored.end == 0 || !find_entries(program_, scored).empty()) return;
    launch_.refuse("eval_dataset",
                   "is scored beside several sources; add --eval-data-file FILE with its rows to "
                   "the line");
  }

  // The lines of files, as early versions of transformers read them, or saved folders: `maker`
  // makes a data set of each.
  void name_lines(std::string_view maker) {
    const auto is_made = [&](const PythonCall& call) {
      return last_name(call.name) == maker && !call.name.starts_with(kDefinition);
    };
    const auto made = std::ranges::count_if(program_.calls, is_made);
    const PythonCall* train = made == 1 ? &*std::ranges::find_if(program_.calls, is_made) : nullptr;
    const PythonCall* scored = nullptr;
    if (made > 1) {
      train = find_call_of(program_, given_rows("train_dataset"));
      scored = find_call_of(program_, given_rows("eval_dataset"));
    }
    if (train == nullptr || !is_made(*train)) {
      return launch_.refuse("the data",
                            "are made in a way that berth does not read; name the rows with "
                            "--train-data-file");
    }
    name_file_of(*train, "train_file");
    if (scored != nullptr && is_made(*scored)) {
      name_file_of(*scored, "validation_file");
    } else if (evaluates()) {
      refuse_scored();
    }
    if (task_ != "mlm_nsp") return;
    for (const char* share : {"short_seq_probability", "nsp_probability"}) {
      if (train->find(share) == nullptr) continue;
      launch_.refuse(share, "is set, and berth makes pairs as BERT does, with 0.1 and 0.5");
    }
    launch_.remark("--task mlm_nsp",
                   "makes new pairs in each epoch and cuts long ones, and the program makes its "
                   "pairs once");
  }

  void name_file_of(const PythonCall& call, std::string_view flag) {
    const bool is_folder = last_name(call.name) == kSaved;
    const PythonValue* file = call.find(is_folder ? "dataset_path" : "file_path");
    const size_t place = is_folder ? 0 : 1;
    if (file == nullptr && call.positional.size() > place) file = &call.positional[place];
    if (file != nullptr && file->kind == PythonValue::Kind::kText) {
      return launch_.add_flag(flag, file->text);
    }
    launch_.refuse(
        is_folder ? kSaved : "file_path",
        cat("is computed in the program (line ", call.line, "); add --",
            flag == "train_file" ? "train-data-file" : "eval-data-file", " FILE to the line"));
  }

  // Folders that save_to_disk() wrote, which berth reads: one of all splits, or one of each.
  void name_saved() {
    const auto folders = std::ranges::count_if(
        program_.calls, [](const PythonCall& call) { return last_name(call.name) == kSaved; });
    if (folders > 1) return name_lines(kSaved);
    name_file_of(*find_last_call(program_, kSaved), "train_file");
    if (evaluates()) check_split(HubSplits::kUnknown);
  }

  static const PythonValue* configuration_of(const PythonCall& load) {
    return load.positional.size() > 1 ? &load.positional[1] : load.find("name");
  }

  // What load_dataset() takes of the rows, and how it reads them.
  void check_rows(const PythonCall& load) {
    constexpr std::string_view kHarmlessForRows =
        "data_files name cache_dir token use_auth_token trust_remote_code download_mode "
        "keep_in_memory num_proc verification_mode ignore_verifications features "
        "save_infos";
    for (const auto& [keyword, value] : load.keywords) {
      if (keyword == "split") {
        const bool is_mapping = value.kind == PythonValue::Kind::kMapping;
        const std::string splits =
            is_mapping ? berth::joined(value.items, ",", &PythonValue::text) : joined(value);
        const bool is_part = splits.find_first_of("[+") != std::string::npos;
        const bool is_list = value.kind == PythonValue::Kind::kList;
        const bool is_train = !value.items.empty() && value.items[0].text == "train";
        if (is_list && !is_train && split_of("train_dataset").empty()) {
          launch_.refuse("the rows to train on",
                         "are one of several splits that the program loads together; name them "
                         "with --train-data-file");
        }
        const bool has_items = std::ranges::all_of(value.items, &PythonValue::is_known);
        if (!value.is_known() || !has_items || is_part) {
          launch_.refuse("split", "takes a part of the rows; write them into a file and name it");
        }
        for (std::string& split : parted(splits, ",")) splits_.insert(std::move(split));
      } else if ((keyword == "delimiter" || keyword == "sep") && value.is_known()) {
        launch_.add_flag("delimiter", value.text == "\t" ? "tab" : value.text);
      } else if (!is_one_of(kHarmlessForRows, keyword) && value.text != "False") {
        launch_.refuse(
            cat(keyword, " (line ", load.line, ")"),
            "changes how the rows are read; name them with --train-data-file, and --help "
            "says what berth needs to know of them");
      }
    }
  }

  static bool is_same_data(const PythonCall& one, const PythonCall& other) {
    const auto name = [](const PythonCall& call) {
      return call.positional.empty() ? std::string() : call.positional[0].text;
    };
    const auto config = [](const PythonCall& call) {
      const PythonValue* value = configuration_of(call);
      return value == nullptr ? std::string() : cat(value->text, value->name);
    };
    const PythonValue *files = one.find("data_files"), *others = other.find("data_files");
    const bool has_same_files =
        (files == nullptr) == (others == nullptr) &&
        (files == nullptr || (files->keys == others->keys && joined(*files) == joined(*others) &&
                              std::ranges::equal(files->items, others->items, {},
                                                 &PythonValue::text, &PythonValue::text)));
    return name(one) == name(other) && config(one) == config(other) && has_same_files;
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

  // The split that the Trainer gets as this argument. Empty: the program does not show it.
  std::string split_of(std::string_view argument) const {
    const PythonSpan rows = given_rows(argument);
    const std::string split = berth::split_of(program_, rows);
    return split.empty() ? subscript_in(program_, rows) : split;
  }

  // Where a program evaluates on the split test and the data set has another one.
  void check_split(HubSplits splits) {
    if (find_last_call(program_, "train_test_split") != nullptr)
      return;  // it makes one, and is refused
    const std::string scored = split_of("eval_dataset");
    const std::set<std::string> named = scored.empty() ? splits_ : std::set{scored};
    const bool has_test = named.contains("test");
    const bool has_other = std::ranges::any_of(named, [](const std::string& text) {
      return text.starts_with("validation") || text == "dev";
    });
    if (has_test && !has_other && splits != HubSplits::kTest) {
      launch_.refuse("the split test",
                     "is what the program evaluates on, and berth takes the split validation where "
                     "the data set has one; name the rows with --eval-data-file");
    }
  }

  // The rows that the Trainer evaluates on must be given to it, and no others be scored.
  void check_scored_rows() {
    const PythonCall* made = find_last_call(program_, "Trainer");
    if (made == nullptr) return;
    const PythonValue* rows = made->find("eval_dataset");
    if (rows == nullptr && made->positional.size() > 4) rows = &made->positional[4];
    const bool has_rows = rows != nullptr && rows->text != "None";
    bool scores_others = false;
    for (const PythonCall& call : program_.calls) {
      const bool predicts = is_of_trainer(program_, call, "predict");
      const bool is_read = predicts || is_of_trainer(program_, call, "evaluate");
      const std::vector<PythonArgument> given =
          is_read ? arguments_of(program_, call) : std::vector<PythonArgument>();
      const bool has_own =
          !given.empty() && (given[0].keyword.empty() || given[0].keyword.ends_with("_dataset"));
      if (!has_own) continue;
      scores_others = scores_others || !predicts;
      const bool is_other = predicts ? !has_rows || !is_scored(given[0].value)
                                     : has_rows && !is_scored(given[0].value);
      if (is_other) refuse_other_rows(call);
    }
    const bool is_told = std::ranges::any_of(launch_.remarks, [](const Remark& remark) {
      return remark.flag == "the rows to evaluate on";
    });
    const bool asks = arguments_ != nullptr && evaluates();
    if (!asks || has_rows || scores_others || is_told) return;
    launch_.refuse("the rows to evaluate on",
                   "are not given to the Trainer, which ends there; name them with "
                   "--eval-data-file");
  }

  void refuse_other_rows(const PythonCall& call) {
    const std::string_view name = last_name(call.name);
    launch_.refuse(
        cat(name, " (line ", call.line, ")"),
        cat("scores other rows than the Trainer evaluates on; explain the program without "
            "it, and score them afterwards: berth --mode ",
            name == "predict" ? "predict --predict-data-file FILE, or --mode " : "",
            "eval --eval-data-file FILE"));
  }

  // Whether these are the rows that the Trainer evaluates on.
  bool is_scored(PythonSpan rows) const {
    const PythonSpan scored = given_rows("eval_dataset");
    const auto text = [&](PythonSpan span) {
      std::string words;
      for (size_t i = span.begin; i < span.end; ++i) words += program_.tokens[i].text + " ";
      return words;
    };
    if (scored.end == 0 || text(rows) == text(scored)) return true;
    const std::string split = subscript_in(program_, rows);
    return !split.empty() && split == split_of("eval_dataset");
  }

  void name_file(const PythonCall& load, const PythonValue& file, std::string_view flag) {
    const bool is_named = !load.positional.empty() && load.positional[0].is_known();
    if (is_named && file.kind == PythonValue::Kind::kText) {
      return launch_.add_flag(flag, place_of_file(load.positional[0].text, file.text));
    }
    launch_.refuse("data_files", "are several or computed; name the rows with --train-data-file");
  }

  void name_files(const PythonCall& load) {
    const PythonValue& files = *load.find("data_files");
    const std::string& source = load.positional[0].text;
    if (configuration_of(load) != nullptr && place_of_file(source, "a") != "a") {
      launch_.refuse(cat("load_dataset (line ", load.line, ")"),
                     "names a configuration beside files, which may say how they are read; name "
                     "the rows with --train-data-file");
    }
    const std::string scored = scored_role(files.keys);
    if (files.kind != PythonValue::Kind::kMapping) name_file(load, files, "train_file");
    for (size_t i = 0; i < files.keys.size(); ++i) {
      const bool is_scored = files.keys[i] == scored;
      if (!is_scored && files.keys[i] != "train") continue;
      if (files.items[i].kind == PythonValue::Kind::kText) {
        launch_.add_flag(is_scored ? "validation_file" : "train_file",
                         place_of_file(source, files.items[i].text));
      } else {
        launch_.refuse(files.keys[i],
                       "is several files or computed; name it with a pattern as --train-data-file");
      }
    }
    const bool divides =
        find_last_call(program_, "train_test_split") != nullptr;  // which is refused
    if (evaluates() && scored.empty() && !divides) refuse_scored();
  }

  // The role of the file that the program evaluates on: one that it names elsewhere, too, first.
  std::string scored_role(const std::vector<std::string>& roles) const {
    constexpr std::array<const char*, 6> kScoredNames = {"validation", "valid", "val",
                                                         "dev",        "eval",  "test"};
    if (const std::string scored = split_of("eval_dataset"); is_one_of(roles, scored))
      return scored;
    for (const bool is_named : {true, false}) {
      for (const char* role : kScoredNames) {
        if (is_one_of(roles, role) && (splits_.contains(role) || !is_named)) return role;
      }
    }
    return "";
  }

  void refuse_scored() {
    launch_.refuse("the rows to evaluate on",
                   "are not named in the program as berth reads it; add --eval-data-file FILE to "
                   "the line");
  }

  const PythonProgram& program_;
  std::set<std::string> splits_;  // texts that may name splits
  const PythonCall* arguments_ = nullptr;
  bool is_similarity_ = false;
  std::string model_, task_;
  std::string source_model_;  // as the program names it
  Launch launch_;
};

}  // namespace

std::optional<Launch> find_python_job(std::string_view program, std::vector<std::string>& flags) {
  PythonProgram read = read_python(program);
  std::vector<std::string> others = flags;
  const std::map<std::string, PythonValue> options = take_options(read, others);
  if (!options.empty()) read = read_python(program, options);
  std::optional<Launch> job =
      PythonJob(read, TypedCommand(others).value("model").value_or("")).find();
  if (job) flags = std::move(others);
  return job;
}

}  // namespace berth
