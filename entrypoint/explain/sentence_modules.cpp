#include <algorithm>
#include <array>
#include <string_view>

#include "entrypoint/explain/program_parts.h"
#include "entrypoint/explain/shell_text.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// Encoders of transformers whose names have no organization.
constexpr std::string_view kPlainModels =
    "albert-base-v1 albert-base-v2 albert-large-v1 albert-large-v2 albert-xlarge-v1 "
    "albert-xlarge-v2 albert-xxlarge-v1 albert-xxlarge-v2 bert-base-cased "
    "bert-base-cased-finetuned-mrpc bert-base-chinese bert-base-german-cased "
    "bert-base-german-dbmdz-cased bert-base-german-dbmdz-uncased bert-base-multilingual-cased "
    "bert-base-multilingual-uncased bert-base-uncased bert-large-cased "
    "bert-large-cased-whole-word-masking bert-large-cased-whole-word-masking-finetuned-squad "
    "bert-large-uncased bert-large-uncased-whole-word-masking "
    "bert-large-uncased-whole-word-masking-finetuned-squad camembert-base distilbert-base-cased "
    "distilbert-base-cased-distilled-squad distilbert-base-german-cased "
    "distilbert-base-multilingual-cased distilbert-base-uncased "
    "distilbert-base-uncased-distilled-squad distilbert-base-uncased-finetuned-sst-2-english "
    "distilroberta-base roberta-base roberta-large roberta-large-mnli xlm-roberta-base "
    "xlm-roberta-large";
// Organizations whose encoders come without files of sentence-transformers and take 512 tokens.
constexpr std::string_view kPlainOrganizations[] = {
    "google-bert/", "FacebookAI/", "distilbert/", "albert/", "microsoft/mpnet-base", "nreimers/"};

constexpr std::string_view kOtherModules = "CNN LSTM BoW Dropout WeightedLayerPooling";
// Arguments of models.Pooling that name a way, and the value of --pooling for it.
struct PoolingSwitch {
  std::string_view keyword, flag;
};
constexpr PoolingSwitch kPoolingSwitches[] = {
    {"pooling_mode_mean_tokens", "mean"},     {"pooling_mode_cls_token", "cls"},
    {"pooling_mode_max_tokens", "max"},       {"pooling_mode_mean_sqrt_len_tokens", ""},
    {"pooling_mode_weightedmean_tokens", ""}, {"pooling_mode_lasttoken", ""},
};
// Columns of public data sets that hold the first text of a row, and another one.
constexpr std::string_view kFirstColumns = "anchor query question title sentence1 sentence_A";
constexpr std::string_view kSecondColumns =
    "positive answer document passage context text sentence2 sentence_B";
// Arguments of SentenceTransformer that leave the model as its files say.
constexpr std::string_view kPlainModel =
    "model_name_or_path modules device cache_folder token use_auth_token local_files_only "
    "model_card_data trust_remote_code";

void refuse(const PythonCall& call, std::string_view text, Launch& launch) {
  launch.refuse(cat(last_name(call.name), " (line ", call.line, ")"), text);
}

void read_pooling(const PythonCall& call, Launch& launch) {
  std::string mode = "mean";
  const PythonValue* named = call.find("pooling_mode");
  if (named == nullptr && call.positional.size() > 1) named = &call.positional[1];
  if (named != nullptr) mode = named->text;
  for (const auto& [keyword, value] : call.keywords) {
    const auto* const row = std::ranges::find(kPoolingSwitches, keyword, &PoolingSwitch::keyword);
    if (row != std::end(kPoolingSwitches) && value.text == "True") mode = row->flag;
    if (row != std::end(kPoolingSwitches) && !value.is_known()) mode.clear();
    if (keyword == "include_prompt" && value.text != "True") {
      refuse(call, "leaves the tokens of a prompt out of the embedding, and berth does not",
             launch);
    }
  }
  if (mode == "mean" || mode == "cls" || mode == "max") return launch.add_flag("pooling", mode);
  refuse(call, "pools in a way that berth does not have: --pooling is mean, cls or max", launch);
}

// The name at this token, where it is a whole argument; empty: no such name.
std::string name_at(const PythonProgram& program, size_t at) {
  const PythonToken& token = program.tokens[at];
  const PythonToken& next = program.tokens[std::min(at + 1, program.tokens.size() - 1)];
  const bool is_whole = next.is_sign(',') || next.is_sign(')');
  return token.kind == PythonToken::Kind::kName && is_whole ? token.text : "";
}

}  // namespace

bool is_plain_model(const std::string& model) {
  return is_one_of(kPlainModels, lower_ascii(model)) ||
         std::ranges::any_of(kPlainOrganizations, [&](std::string_view beginning) {
           return model.starts_with(beginning);
         });
}

std::string sentence_model(const std::string& name) {
  const bool is_alone = name.find_first_of("/\\$~") == std::string::npos && !name.starts_with('.');
  return is_alone && !is_plain_model(name) ? cat(kSentenceOrganization, name) : name;
}

const PythonCall* find_made_model(const PythonProgram& program, std::string_view name, size_t end) {
  const PythonCall* made = nullptr;
  for (const PythonCall& call : program.calls) {
    const size_t begin = call.arguments.begin;  // behind "NAME = SentenceTransformer("
    if (call.name != "SentenceTransformer" || begin < 4 || begin > end) continue;
    const bool is_assigned = program.tokens[begin - 3].is_sign('=') &&
                             program.tokens[begin - 4].is_name(name) &&
                             (begin == 4 || !program.tokens[begin - 5].is_sign('.'));
    if (!is_assigned) continue;
    if (made != nullptr) return nullptr;
    made = &call;
  }
  return made;
}

const PythonCall* find_trained_model(const PythonProgram& program) {
  for (const PythonCall& call : program.calls) {
    std::string name;
    if (last_name(call.name) == "SentenceTransformerTrainer") {
      if (!call.positional.empty()) name = name_at(program, call.arguments.begin);
      for (size_t i = 0; i < call.keywords.size(); ++i) {
        if (call.keywords[i].first == "model") name = name_at(program, call.spans[i].begin);
      }
    } else if (call.name.ends_with(".fit") && call.find("train_objectives") != nullptr) {
      name = call.name.substr(0, call.name.rfind('.'));
    }
    if (!name.empty()) return find_made_model(program, name, call.arguments.begin);
  }
  return nullptr;
}

std::string read_sentence_modules(const PythonProgram& program, Launch& launch) {
  std::string encoder;
  for (const PythonCall& call : program.calls) {
    const std::string_view name = last_name(call.name);
    if (call.name.starts_with(kDefinition)) continue;
    if (name == "Transformer") {
      const PythonValue* model = call.find("model_name_or_path");
      if (!call.positional.empty()) model = &call.positional[0];
      const bool is_known = model != nullptr && model->kind == PythonValue::Kind::kText;
      encoder = is_known ? model->text : "";
      for (const auto& [keyword, value] : call.keywords) {
        const bool is_plain =
            is_one_of("model_name_or_path max_seq_length cache_dir backend", keyword) ||
            is_one_of("None False", value.text) ||
            (value.items.empty() && value.is_known() && value.kind == PythonValue::Kind::kMapping);
        if (!is_plain) {
          refuse(call,
                 cat("has ", keyword,
                     ", which changes the model or its tokenizer; save the "
                     "SentenceTransformer, and name its folder with --model"),
                 launch);
        }
      }
      if (is_known) {
        launch.add_flag("model_name_or_path", encoder);
      } else {
        launch.refuse("the model", cat("is computed in the program (line ", call.line,
                                       "); add --model NAME to the line"));
      }
    } else if (name == "Pooling") {
      read_pooling(call, launch);
    } else if (name == "Normalize" && call.positional.empty()) {
      launch.add_flag("normalize_embeddings", "true");
    } else if (name == "Dense" && call.name.find("models.") != std::string::npos) {
      refuse(call,
             "makes a new Dense module, and berth trains one that is in the model's folder: save "
             "the SentenceTransformer, and name its folder with --model",
             launch);
    } else if (is_one_of(kOtherModules, name) && call.name.find("models.") != std::string::npos) {
      refuse(call, "is a module of sentence-transformers that berth does not have", launch);
    }
  }
  return encoder;
}

void read_prompts(const PythonValue& prompts, Launch& launch) {
  if (prompts.kind == PythonValue::Kind::kText) {
    launch.add_flag("query-prompt", prompts.text);
    return launch.add_flag("passage-prompt", prompts.text);
  }
  std::string query, passage;
  bool has_negative = false, has_second = false, is_clear = !prompts.keys.empty();
  for (size_t i = 0; i < prompts.items.size() && is_clear; ++i) {
    const std::string& column = prompts.keys[i];
    const std::string& text = prompts.items[i].text;
    const bool is_first = is_one_of(kFirstColumns, column);
    const bool is_negative = column.starts_with("negative");
    const bool is_second = is_negative || is_one_of(kSecondColumns, column);
    const bool is_text = prompts.items[i].kind == PythonValue::Kind::kText;
    is_clear = is_text && (is_first || (is_second && (passage.empty() || passage == text)));
    (is_first ? query : passage) = text;
    has_negative = has_negative || is_negative;
    has_second = has_second || column == "positive";
  }
  // A prompt of the column `positive` alone leaves negatives without one.
  if (!is_clear || has_negative != has_second) {
    const bool is_computed = prompts.kind == PythonValue::Kind::kUnknown;
    return launch.refuse("prompts",
                         cat(is_computed ? "are computed in the program"
                                         : "are not read: their columns do not say which texts "
                                           "they are for",
                             "; add --query-prompt TEXT and --passage-prompt TEXT to the line"));
  }
  if (!query.empty()) launch.add_flag("query-prompt", query);
  if (!passage.empty()) launch.add_flag("passage-prompt", passage);
}

namespace {

// Whether arguments of from_pretrained() in braces leave the model as its files say.
bool keeps_model(const PythonValue& arguments) {
  constexpr std::string_view kPlain =
      "attn_implementation low_cpu_mem_usage use_safetensors device_map";
  if (arguments.kind != PythonValue::Kind::kMapping) return false;
  for (size_t i = 0; i < arguments.items.size(); ++i) {
    const PythonValue& value = arguments.items[i];
    const bool is_type = arguments.keys[i] == "torch_dtype" || arguments.keys[i] == "dtype";
    const bool is_wide = value.text == "float32" || last_name(value.name) == "float32";
    if (!is_one_of(kPlain, arguments.keys[i]) && !(is_type && is_wide)) return false;
  }
  return true;
}

}  // namespace

void check_sentence_model(const PythonCall& call, std::string_view flag, Launch& launch) {
  for (const auto& [keyword, value] : call.keywords) {
    if (is_one_of(kPlainModel, keyword) || value.text == "None") continue;
    if (keyword == "backend" && value.text == "torch") continue;
    const bool is_cosine = value.text == "cosine" || last_name(value.name) == "COSINE";
    if (keyword == "similarity_fn_name" && is_cosine) continue;
    if (keyword == "model_kwargs" && keeps_model(value)) continue;
    if (keyword == "revision" && flag == "--model" && value.kind == PythonValue::Kind::kText) {
      launch.add_flag("model_revision", value.text);
      continue;
    }
    refuse(
        call,
        cat("has ", keyword,
            ", which changes the model; save it with this change, and name its folder with ", flag),
        launch);
  }
}

}  // namespace berth
