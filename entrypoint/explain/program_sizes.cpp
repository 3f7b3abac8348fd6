#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "entrypoint/explain/named_inputs.h"
#include "entrypoint/explain/program_parts.h"
#include "entrypoint/flags/foreign/translation.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// Says how long texts may be where the program does not: as the model's files say, or as its
// positions allow. A model of which neither is known is refused.
void take_sentence_length(const std::string& model, Launch& launch) {
  if (is_plain_model(model)) return launch.add_flag("max_seq_length", "512");
  if (model.starts_with(kSentenceOrganization)) {
    return launch.remark("the length of texts",
                         "is max_seq_length in the model's files, which berth takes without a "
                         "flag");
  }
  launch.refuse("the length of texts",
                "is max_seq_length in the files of a model of sentence-transformers, else its "
                "tokenizer's length; add --max-seq-length N to the line");
}

class LengthReader {
 public:
  LengthReader(const ProgramRows& rows, Launch& launch)
      : program_(rows.program),
        task_(rows.task),
        model_(rows.model),
        is_similarity_(rows.is_similarity),
        launch_(launch) {}

  void read() {
    const PythonValue* length = program_.assigned("model.max_seq_length");
    if (length == nullptr && sets_length()) {
      return launch_.refuse("max_seq_length",
                            "is set for a part of the model; add --max-seq-length N to the line");
    }
    std::set<std::string> lengths;
    size_t rank = 0;
    for (const PythonCall& call : program_.calls) {
      size_t found_rank = 0;
      const PythonValue* found = tokenized_length(call, found_rank);
      if (found == nullptr || found_rank < rank || found->text == "None") continue;
      if (found_rank > rank) lengths.clear();
      rank = found_rank;
      length = found;
      lengths.insert(found->text);
    }
    for (const auto& [name, value] : program_.assignments) {
      if (rank < 2 && !is_similarity_ && name.ends_with("okenizer.model_max_length")) {
        length = &value;
        lengths = {value.text};
      }
    }
    if (lengths.size() > 1) {
      return launch_.refuse("the length of texts",
                            "differs between calls in the program; add --max-seq-length N to the "
                            "line");
    }
    const bool joins = joins_texts(program_);
    if (task_ == "masked_lm" && joins) {
      launch_.add_flag("attend_across_documents", "true");
      length = block_length("block_size");
      if (length == nullptr) length = block_length("chunk_size");
      if (length == nullptr) {
        return launch_.refuse("the length of blocks",
                              "is in the function that cuts them; add --max-seq-length N to the "
                              "line");
      }
    } else if (task_ == "masked_lm") {
      launch_.add_flag("line_by_line", "true");
      launch_.refuse(
          "--line-by-line",
          "makes several sequences of a long row, and the program drops all but the first. "
          "Where no row is longer, add --line-by-line to the line");
    }
    if (length != nullptr && length->kind == PythonValue::Kind::kWord) {
      return launch_.add_flag("max_seq_length", length->text);
    }
    if (length != nullptr) {
      return launch_.refuse("the length of texts",
                            "is not a number in the program; add --max-seq-length N to the line");
    }
    if (is_similarity_) return take_sentence_length(model_, launch_);
    if (!tokenizes()) {
      return launch_.refuse("the length of texts",
                            "is in code that the program does not hold, which tokenizes its rows; "
                            "add --max-seq-length N to the line");
    }
    // Without a length, a tokenizer cuts where its files say.
    if (is_plain_model(model_)) return launch_.add_flag("max_seq_length", "512");
    launch_.refuse("the length of texts",
                   "is model_max_length in the tokenizer's files, which berth does not know here; "
                   "add --max-seq-length N to the line");
  }

 private:
  // Whether the program calls a tokenizer, or a class that does.
  bool tokenizes() const {
    return std::ranges::any_of(program_.calls, [](const PythonCall& call) {
      const std::string name = lower_ascii(last_name(call.name));
      return name.ends_with("tokenizer") || name.starts_with("token") ||
             name.ends_with("encode_plus") || name.ends_with("encode") ||
             name.find("textdataset") != std::string::npos;
    });
  }

  // The length of blocks that map() gives its function, or that this one or the program has.
  const PythonValue* block_length(std::string_view name) const {
    const PythonValue* usual = nullptr;
    const auto cuts = [](const std::string& function) {
      return function.find("group") != function.npos || function.find("chunk") != function.npos;
    };
    for (const PythonCall& call : program_.calls) {
      const bool has_own =
          call.name.starts_with(kDefinition) && cuts(call.name) && call.find(name) != nullptr;
      if (has_own) usual = call.find(name);
      const PythonValue* given = call.find("fn_kwargs");
      if (given == nullptr) continue;
      const bool is_other = !call.positional.empty() && !cuts(call.positional[0].name);
      if (!given->is_known() && !is_other) return given;
      const auto key = std::ranges::find(given->keys, name);
      if (key != given->keys.end()) {
        return &given->items[static_cast<size_t>(key - given->keys.begin())];
      }
    }
    return usual == nullptr ? program_.assigned(name) : usual;
  }

  // The length that a call of a tokenizer cuts at, or that a tokenizer is made with. A call of
  // higher `rank` cuts what one of a lower rank has left.
  static const PythonValue* tokenized_length(const PythonCall& call, size_t& rank) {
    const std::string_view name = call.name;
    if (name.starts_with(kDefinition)) return nullptr;
    const std::string last = lower_ascii(last_name(name));
    const bool makes_tokenizer = name.ends_with("Tokenizer.from_pretrained") ||
                                 name.ends_with("TokenizerFast.from_pretrained");
    if (makes_tokenizer) {
      rank = 1;
      const PythonValue* length = call.find("model_max_length");
      return length != nullptr ? length : call.find("max_len");
    }
    rank = 2;
    if (last == "transformer") return call.find("max_seq_length");
    const PythonValue *cuts = call.find("truncation"), *fills = call.find("padding");
    if (cuts != nullptr && (cuts->text == "False" || cuts->text == "do_not_truncate")) {
      return nullptr;
    }
    // max_length alone also cuts, unless texts are filled up.
    const bool fills_up = fills != nullptr && fills->text != "False" && fills->text != "do_not_pad";
    if (fills_up && (cuts == nullptr || cuts->text == "None")) return nullptr;
    if (last.ends_with("tokenizer") || last.ends_with("encode_plus")) {
      return call.find("max_length");
    }
    rank = 3;
    const bool makes_lines =
        last == "linebylinetextdataset" || last == "textdatasetfornextsentenceprediction";
    if (!makes_lines) return nullptr;
    const PythonValue* length = call.find("block_size");
    return length == nullptr && call.positional.size() > 2 ? &call.positional[2] : length;
  }

  // "model[0].max_seq_length = 75"
  bool sets_length() const {
    const std::vector<PythonToken>& tokens = program_.tokens;
    for (size_t i = 1; i + 2 < tokens.size(); ++i) {
      if (tokens[i - 1].is_sign('.') && tokens[i].is_name("max_seq_length") &&
          tokens[i + 1].is_sign('=') && !tokens[i + 2].is_sign('=')) {
        return true;
      }
    }
    return false;
  }

  const PythonProgram& program_;
  const std::string_view task_;
  const std::string model_;
  const bool is_similarity_;
  Launch& launch_;
};

// Whether a model without `num_labels` has two outputs: one that was pre-trained only.
bool has_two(const PythonCall& model) {
  const PythonValue* name = model.find("pretrained_model_name_or_path");
  if (!model.positional.empty()) name = &model.positional[0];
  const bool is_set = model.find("config") != nullptr || model.find("id2label") != nullptr ||
                      model.find("label2id") != nullptr || model.find("labels") != nullptr;
  return !is_set && name != nullptr && is_plain_model(name->text) &&
         name->text.find("finetuned") == std::string::npos && !name->text.ends_with("-mnli");
}

}  // namespace

void read_length(const ProgramRows& rows, Launch& launch) { LengthReader(rows, launch).read(); }

void check_label_count(const PythonCall& model, std::string_view task, Launch& launch) {
  const PythonValue* given = model.find("num_labels");
  const bool has_classes = task == "sequence_classification" || task == "token_classification";
  const bool is_number = given != nullptr && given->kind == PythonValue::Kind::kWord;
  const PythonValue* names = model.find("id2label");
  const bool names_all = given == nullptr && names != nullptr && !names->keys.empty();
  const std::string count = is_number   ? given->text
                            : names_all ? std::to_string(names->keys.size())
                            : given == nullptr && has_two(model) ? "2"
                                                                 : "";
  if (task == "regression" && is_number && count != "1") {
    launch.refuse("num_labels", cat("is ", count, ", and a regression of berth has one output"));
  }
  if (!has_classes) return;
  const TypedCommand typed(launch.flags);
  const std::string data = typed.value("dataset_name").value_or("");
  const std::string config = typed.value("dataset_config_name").value_or("");
  const size_t known = label_count(data, config, typed.value("label-column").value_or("label"));
  if (known == 1) {
    return launch.refuse("num_labels",
                         "is not 1, and the labels of the rows are numbers, which num_labels=1 "
                         "learns; add --task regression to the line where this is meant");
  }
  if (count.empty()) return;
  if (known == 0) {
    if (!is_number) return;
    return launch.remark("num_labels",
                         cat("is ", count,
                             ": berth makes an output for each label of the rows. Where these have "
                             "fewer, --label-names names all labels, joined by commas"));
  }
  if (count == std::to_string(known)) return;
  const std::string_view source = is_number   ? "is "
                                  : names_all ? "is not given, and id2label has "
                                              : "is not given, so the model has ";
  launch.refuse("num_labels", cat(source, count,
                                  is_number   ? ""
                                  : names_all ? " names"
                                              : " outputs",
                                  ", and the rows have ", known, " labels, for which berth makes ",
                                  known, " outputs; add --label-names NAMES with all of them"));
}

}  // namespace berth
