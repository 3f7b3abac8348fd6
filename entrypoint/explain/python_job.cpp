#include "entrypoint/explain/python_job.h"

#include <algorithm>
#include <array>
#include <set>

#include "entrypoint/explain/hub_data_set.h"
#include "entrypoint/explain/python_own_code.h"
#include "entrypoint/explain/python_reader.h"
#include "entrypoint/explain/python_similarity.h"
#include "storage/base/text.h"

namespace berth {
namespace {

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

class PythonJob {
 public:
  PythonJob(const PythonProgram& program, std::string model)
      : program_(program), splits_(program.subscripts), model_(std::move(model)) {}

  std::optional<Launch> find() {
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
    if (is_similarity_) read_similarity_loss(program_, launch_);
    return std::move(launch_);
  }

 private:
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
        if (type.ends_with(row.name))
          return launch_.refuse(std::string(type), std::string(row.text));
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
        } else if (std::ranges::find(kPlainKeywords, keyword) == kPlainKeywords.end()) {
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
    }
    if (evaluates()) check_split(find_hub_data_set(name, "").splits);
  }

  static const PythonValue* configuration_of(const PythonCall& load) {
    return load.positional.size() > 1 ? &load.positional[1] : load.find("name");
  }

  // What load_dataset() takes of the rows, and how it reads them.
  void check_rows(const PythonCall& load) {
    constexpr std::array<std::string_view, 14> kHarmless = {
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
      } else if (std::ranges::find(kHarmless, keyword) == kHarmless.end()) {
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
    // Without a length, tokenizers cut where the model's positions end.
    launch_.add_flag("max_seq_length", "512");
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
