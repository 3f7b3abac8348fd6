#include "entrypoint/explain/python_job.h"

#include <algorithm>
#include <array>

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
};

// Calls that change the rows, the loss or the optimizer in ways that only the program knows.
constexpr NamedText kOwnCode[] = {
    {"select", "takes a part of the rows; write them into a file and name it"},
    {"filter", "leaves rows out; write the others into a file and name it"},
    {"train_test_split",
     "divides the rows by chance; --validation-split divides them in berth, "
     "but not into the same halves"},
    {"concatenate_datasets", "joins data sets; write the rows into a file and name it"},
    {"add_tokens", "changes the vocabulary; save the tokenizer and the model, and name its folder"},
};

// Data sets of which the hub keeps a split for tests and none for validation.
constexpr std::array<std::string_view, 8> kOnlyTest = {
    "imdb",       "ag_news",         "yelp_review_full", "yelp_polarity",
    "dbpedia_14", "amazon_polarity", "banking77",        "trec"};

class PythonJob {
 public:
  explicit PythonJob(const PythonProgram& program) : program_(program) {}

  std::optional<Launch> find() {
    arguments_ = find_call("TrainingArguments");
    const PythonCall* sentences = find_call("SentenceTransformerTrainingArguments");
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
    read_own_code();
    return std::move(launch_);
  }

 private:
  const PythonCall* find_call(std::string_view name) const {
    for (const PythonCall& call : program_.calls) {
      if (last_name(call.name) == name) return &call;
    }
    return nullptr;
  }

  // model.fit(train_objectives=[...]) of sentence-transformers before version 3.
  const PythonCall* find_fit() const {
    for (const PythonCall& call : program_.calls) {
      if (last_name(call.name) == "fit" && call.find("train_objectives") != nullptr) return &call;
    }
    return nullptr;
  }

  void add(std::string_view flag, std::string_view value) {
    launch_.flags.push_back(cat("--", flag, "=", value));
  }
  void refuse(std::string word, std::string text) {
    launch_.remarks.push_back({std::move(word), std::move(text), true});
  }

  void read_arguments() {
    if (!arguments_->positional.empty()) take_argument("output_dir", arguments_->positional[0]);
    for (const auto& [name, value] : arguments_->keywords) take_argument(name, value);
    bool trains = false, evaluates = false;
    for (const PythonCall& call : program_.calls) {
      trains = trains || call.name.ends_with(".train");
      evaluates = evaluates || call.name.ends_with(".evaluate");
    }
    add("do_train", trains || !evaluates ? "true" : "false");
    if (evaluates) add("do_eval", "true");
  }

  void take_argument(const std::string& name, const PythonValue& value) {
    if (name == "do_train" || name == "do_eval" || name == "do_predict") return;
    if (name == "batch_sampler") return;
    const bool has_items = std::ranges::all_of(value.items, &PythonValue::is_known);
    if (!value.is_known() || !has_items || value.kind == PythonValue::Kind::kMapping) {
      return refuse(name, cat("is computed in the program (line ", arguments_->line,
                              "); add its value to the line as a flag"));
    }
    if (value.kind == PythonValue::Kind::kWord && value.text == "None") return;
    add(name, joined(value));
  }

  void read_model() {
    for (const PythonCall& call : program_.calls) {
      const std::string_view name = call.name;
      if (name == "SentenceTransformer" && is_similarity_) return name_model(call);
      if (!name.ends_with(".from_pretrained")) continue;
      const std::string_view type = name.substr(0, name.size() - 16);
      for (const NamedText& row : kOtherModels) {
        if (type.ends_with(row.name)) return refuse(std::string(type), std::string(row.text));
      }
      for (const NamedText& row : kTasks) {
        if (!type.ends_with(row.name) || type.starts_with("TF")) continue;
        add_task(call, row.text);
        return name_model(call);
      }
    }
    refuse("the model",
           "is not named in the program as berth reads it; add --model NAME and "
           "--task TASK to the line");
  }

  void add_task(const PythonCall& call, std::string_view task) {
    const PythonValue* problem = call.find("problem_type");
    const PythonValue* labels = call.find("num_labels");
    if (problem != nullptr && problem->text == "multi_label_classification") task = "multi_label";
    const bool is_score = (problem != nullptr && problem->text == "regression") ||
                          (labels != nullptr && labels->text == "1");
    if (is_score && task == "sequence_classification") task = "regression";
    add("task", task);
    task_ = task;
  }

  void name_model(const PythonCall& call) {
    const PythonValue* model = call.find("pretrained_model_name_or_path");
    if (!call.positional.empty()) model = &call.positional[0];
    if (model == nullptr || model->kind != PythonValue::Kind::kText) {
      return refuse("the model", cat("is computed in the program (line ", call.line,
                                     "); add --model NAME to the line"));
    }
    model_ = model->text;
    add("model_name_or_path", model_);
  }

  void read_data() {
    const PythonCall* load = nullptr;
    for (const PythonCall& call : program_.calls) {
      if (last_name(call.name) != "load_dataset") continue;
      if (load != nullptr && !is_same_data(*load, call)) {
        return refuse("the data", "are several data sets; name one with --train-data-file");
      }
      load = &call;
    }
    if (load == nullptr || load->positional.empty() ||
        load->positional[0].kind != PythonValue::Kind::kText) {
      return refuse("the data",
                    "are not named in the program as berth reads it; name the rows "
                    "with --train-data-file");
    }
    const PythonValue* split = load->find("split");
    if (split != nullptr && (!split->is_known() || split->text.find('[') != std::string::npos ||
                             split->text.find('+') != std::string::npos)) {
      refuse("split", "takes a part of the rows; write them into a file and name it");
    }
    if (const PythonValue* files = load->find("data_files")) return name_files(*files);
    const std::string& name = load->positional[0].text;
    add("dataset_name", name);
    if (load->positional.size() > 1) {
      const PythonValue& config = load->positional[1];
      if (config.kind != PythonValue::Kind::kText) {
        return refuse("the data",
                      "have a configuration that the program computes; name the rows "
                      "with --train-data-file");
      }
      add("dataset_config_name", config.text);
    }
    check_split(name);
  }

  static bool is_same_data(const PythonCall& one, const PythonCall& other) {
    const auto text = [](const PythonCall& call, size_t i) {
      return i < call.positional.size() ? call.positional[i].text : std::string();
    };
    return text(one, 0) == text(other, 0) && text(one, 1) == text(other, 1);
  }

  // Where a program evaluates on the split test and the data set has another one.
  void check_split(const std::string& name) {
    const bool has_test = program_.subscripts.contains("test");
    const bool has_other = std::ranges::any_of(program_.subscripts, [](const std::string& text) {
      return text.starts_with("validation") || text == "dev";
    });
    const std::string_view short_name = last_part(name);
    const bool is_only = std::ranges::find(kOnlyTest, short_name) != kOnlyTest.end();
    if (has_test && !has_other && !is_only) {
      refuse("the split test",
             "is what the program evaluates on, and berth takes the split validation where the "
             "data set has one; name the rows with --eval-data-file");
    }
  }

  void name_files(const PythonValue& files) {
    if (files.kind == PythonValue::Kind::kText) return add("train_file", files.text);
    if (files.kind != PythonValue::Kind::kMapping) {
      return refuse("data_files", "are several or computed; name the rows with --train-data-file");
    }
    for (size_t i = 0; i < files.items.size(); ++i) {
      const PythonValue& file = files.items[i];
      const std::string& role = files.keys[i];
      if (file.kind != PythonValue::Kind::kText) {
        refuse(role, "is several files or computed; name it with a pattern as --train-data-file");
      } else if (role == "train") {
        add("train_file", file.text);
      } else if (role == "validation" || role == "dev" || role == "eval") {
        add("validation_file", file.text);
      } else if (role == "test" && !program_.subscripts.contains("validation")) {
        add("validation_file", file.text);
      }
    }
  }

  void read_length() {
    const PythonValue* length = program_.assigned("model.max_seq_length");
    for (const PythonCall& call : program_.calls) {
      if (call.name != "tokenizer" && !call.name.ends_with(".tokenizer")) continue;
      if (call.find("max_length") != nullptr) length = call.find("max_length");
    }
    if (task_ == "masked_lm" && program_.functions.contains("group_texts")) {
      add("attend_across_documents", "true");
      length = program_.assigned("block_size");
      if (length == nullptr) length = program_.assigned("chunk_size");
    }
    if (length != nullptr && length->kind == PythonValue::Kind::kWord) {
      return add("max_seq_length", length->text);
    }
    const bool is_own = is_similarity_ && model_.find("sentence-transformers/") == 0;
    if (length != nullptr || is_own) {
      return refuse("the length of texts",
                    "is not a number in the program; add --max-seq-length N to the line");
    }
    // Without a length, tokenizers cut where the model's positions end.
    add("max_seq_length", "512");
  }

  void read_own_code() {
    for (const auto& [name, base] : program_.classes) {
      if (base.ends_with("Trainer")) {
        refuse(name, "is a Trainer of the program's own, whose loss berth does not know");
      }
    }
    for (const PythonCall& call : program_.calls) {
      const std::string_view name = last_name(call.name);
      for (const NamedText& row : kOwnCode) {
        if (name == row.name && call.name.find('.') != std::string::npos) {
          refuse(cat(name, " (line ", call.line, ")"), std::string(row.text));
        }
      }
      if (call.find("optimizers") != nullptr) {
        refuse("optimizers",
               "are made in the program; --optimizer, --learning-rate and "
               "--lr-scheduler-type say what they are");
      }
      if (name == "EarlyStoppingCallback") take_patience(call);
      if (name == "LoraConfig") take_adapters(call);
      if (name.starts_with("DataCollatorForLanguageModeling")) take_masks(call);
      if (name == "DataCollatorForWholeWordMask") add("whole_word_masking", "true");
    }
    if (is_similarity_) read_similarity_loss(program_, launch_);
  }

  void take_patience(const PythonCall& call) {
    const PythonValue* value = call.find("early_stopping_patience");
    if (!call.positional.empty()) value = &call.positional[0];
    add("early_stopping_patience", value == nullptr ? "1" : value->text);
  }

  void take_adapters(const PythonCall& call) {
    const auto take = [&](std::string_view keyword, std::string_view flag, std::string_view none) {
      const PythonValue* value = call.find(keyword);
      if (value == nullptr) {
        if (!none.empty()) add(flag, none);
      } else if (value->is_known()) {
        add(flag, joined(*value));
      } else {
        refuse(std::string(keyword), cat("is computed in the program; add --", flag));
      }
    };
    take("r", "lora-rank", "8");
    take("lora_alpha", "lora-alpha", "8");
    take("lora_dropout", "lora-dropout", "");
    take("target_modules", "lora-target-modules", "");
  }

  void take_masks(const PythonCall& call) {
    const PythonValue* masks = call.find("mlm");
    if (masks != nullptr && masks->text == "False") {
      refuse("mlm", "is off, so that the program trains a decoder, and berth trains encoders");
    }
    if (const PythonValue* share = call.find("mlm_probability")) {
      if (share->is_known()) add("mlm_probability", share->text);
    }
  }

  const PythonProgram& program_;
  const PythonCall* arguments_ = nullptr;
  bool is_similarity_ = false;
  std::string model_, task_;
  Launch launch_;
};

}  // namespace

std::optional<Launch> find_python_job(std::string_view program) {
  const PythonProgram read = read_python(program);
  return PythonJob(read).find();
}

}  // namespace berth
