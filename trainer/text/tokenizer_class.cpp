#include "trainer/text/tokenizer_class.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/text/json_reading.h"
#include "trainer/text/load_kinds.h"

namespace berth {

namespace {

struct KindName {
  std::string_view name;  // model_type in config.json, or the class without "Tokenizer"
  TokenizerKind kind;
  bool rebuilds = true;
};

// Classes that transformers 5 has under another name than the model's.
constexpr KindName kClasses[] = {
    {"bart", TokenizerKind::kRoberta},        {"convbert", TokenizerKind::kBert, false},
    {"gpt2", TokenizerKind::kRoberta, false}, {"herbert", TokenizerKind::kHerbert},
    {"layoutlm", TokenizerKind::kBert},       {"led", TokenizerKind::kRoberta},
    {"lxmert", TokenizerKind::kBert},         {"pretrained", TokenizerKind::kUnknown, false},
    {"squeezebert", TokenizerKind::kBert},    {"tokenizersbackend", TokenizerKind::kUnknown, false},
};

constexpr KindName kModels[] = {
    {"albert", TokenizerKind::kAlbert},
    {"bert", TokenizerKind::kBert},
    {"camembert", TokenizerKind::kCamembert},
    {"deberta", TokenizerKind::kDeberta},
    {"debertav2", TokenizerKind::kDebertaV2},
    {"distilbert", TokenizerKind::kBert},
    {"electra", TokenizerKind::kBert},
    {"longformer", TokenizerKind::kRoberta},
    {"mobilebert", TokenizerKind::kBert},
    {"mpnet", TokenizerKind::kMpnet},
    {"mt5", TokenizerKind::kT5},
    {"nomicbert", TokenizerKind::kBert},
    {"roberta", TokenizerKind::kRoberta},
    {"t5", TokenizerKind::kT5},
    {"xlmroberta", TokenizerKind::kXlmRoberta},
    {"xlmrobertaxl", TokenizerKind::kXlmRoberta, false},
};

// For these models transformers 5 does not believe the class that a file names.
constexpr std::string_view kWithoutClass[] = {"modernbert", "modernbertdecoder"};

// "XLMRobertaTokenizerFast" and "xlm-roberta" both become "xlmroberta".
std::string plain_name(std::string name) {
  std::erase_if(name, [](char c) { return c == '-' || c == '_'; });
  name = lower_ascii(name);
  for (const std::string_view ending : {"fast", "tokenizer"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name;
}

const KindName* named(const std::string& name, std::span<const KindName> rows) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const KindName& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

std::string text_in(const FileLookup& file, const char* file_name, const char* key) {
  std::string text;
  read_if_present(file(file_name), file_name, [&](const std::string& content) {
    text = string_member(parse_object(content), key).value_or("");
  });
  return text;
}

std::string model_type(const FileLookup& file) {
  return plain_name(text_in(file, "config.json", "model_type"));
}

}  // namespace

TokenizerClass tokenizer_class(const FileLookup& file) {
  TokenizerClass found;
  found.name = text_in(file, "tokenizer_config.json", "tokenizer_class");
  if (found.name.empty()) {
    found.name = text_in(file, "config.json", "tokenizer_class");
    found.of_model = !found.name.empty();
  }
  const std::string type = model_type(file), plain = plain_name(found.name);
  const KindName* of_model = named(type, kModels);
  const KindName* row = of_model;
  if (!found.name.empty()) {
    row = named(plain, kClasses);
    if (row == nullptr) row = named(plain, kModels);
    if (row == nullptr) {
      throw Error(Code::kBadData,
                  cat("the tokenizer is a ", found.name, ", a class that berth does not know"),
                  found.of_model ? "config.json" : "tokenizer_config.json",
                  "if tokenizer.json says all of it, name the class PreTrainedTokenizerFast there");
    }
  }
  if (row != nullptr) found.kind = row->kind, found.rebuilds = row->rebuilds;
  if (std::find(std::begin(kWithoutClass), std::end(kWithoutClass), type) !=
      std::end(kWithoutClass)) {
    found.rebuilds = false;
  }
  // Such a class has tokenizer.json. Without one, the model's kind is what is left.
  if (found.kind == TokenizerKind::kUnknown && of_model != nullptr) found.kind = of_model->kind;
  return found;
}

bool is_distilbert(const FileLookup& file) {
  return plain_name(text_in(file, "tokenizer_config.json", "tokenizer_class")) == "distilbert" ||
         model_type(file) == "distilbert";
}

}  // namespace berth
