#include "trainer/text/tokenizer_class.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/text/foreign_classes.h"
#include "trainer/text/json_reading.h"
#include "trainer/text/load_kinds.h"

namespace berth {

namespace {

struct KindName {
  std::string_view name;  // model_type in config.json, or a class
  TokenizerKind kind;
  bool rebuilds = true;
};

// The classes of transformers 5, without Fast. It has no MT5Tokenizer, and reads all of
// tokenizer.json then.
constexpr KindName kClasses[] = {
    {"AlbertTokenizer", TokenizerKind::kAlbert},
    {"BartTokenizer", TokenizerKind::kRoberta},
    {"BertTokenizer", TokenizerKind::kBert},
    {"CamembertTokenizer", TokenizerKind::kCamembert},
    {"ConvBertTokenizer", TokenizerKind::kBert, false},
    {"DebertaTokenizer", TokenizerKind::kDeberta},
    {"DebertaV2Tokenizer", TokenizerKind::kDebertaV2},
    {"DistilBertTokenizer", TokenizerKind::kBert},
    {"ElectraTokenizer", TokenizerKind::kBert},
    {"GPT2Tokenizer", TokenizerKind::kGpt2},
    {"HerbertTokenizer", TokenizerKind::kHerbert},
    {"LEDTokenizer", TokenizerKind::kRoberta},
    {"LayoutLMTokenizer", TokenizerKind::kBert},
    {"LongformerTokenizer", TokenizerKind::kRoberta},
    {"LxmertTokenizer", TokenizerKind::kBert},
    {"MPNetTokenizer", TokenizerKind::kMpnet},
    {"MT5Tokenizer", TokenizerKind::kUnknown, false},
    {"MobileBertTokenizer", TokenizerKind::kBert},
    {"PreTrainedTokenizer", TokenizerKind::kUnknown, false},
    {"RobertaTokenizer", TokenizerKind::kRoberta},
    {"SqueezeBertTokenizer", TokenizerKind::kBert},
    {"T5Tokenizer", TokenizerKind::kT5},
    {"XLMRobertaTokenizer", TokenizerKind::kXlmRoberta},
    {"TokenizersBackend", TokenizerKind::kUnknown, false},
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

// What transformers 5 has for other models that no file names a class for.
constexpr KindName kTypes[] = {
    {"align", TokenizerKind::kBert},
    {"bark", TokenizerKind::kBert},
    {"bart", TokenizerKind::kRoberta},
    {"blip", TokenizerKind::kBert},
    {"blip2", TokenizerKind::kGpt2},
    {"bridgetower", TokenizerKind::kRoberta},
    {"bros", TokenizerKind::kBert},
    {"chineseclip", TokenizerKind::kBert},
    {"clap", TokenizerKind::kRoberta},
    {"codegen", TokenizerKind::kGpt2},
    {"convbert", TokenizerKind::kBert},
    {"data2vectext", TokenizerKind::kRoberta},
    {"dbrx", TokenizerKind::kGpt2},
    {"emu3", TokenizerKind::kGpt2},
    {"ernie", TokenizerKind::kBert},
    {"flava", TokenizerKind::kBert},
    {"florence2", TokenizerKind::kRoberta},
    {"git", TokenizerKind::kBert},
    {"gpt2", TokenizerKind::kGpt2},
    {"gptj", TokenizerKind::kGpt2},
    {"gptneo", TokenizerKind::kGpt2},
    {"groundingdino", TokenizerKind::kBert},
    {"gte", TokenizerKind::kXlmRoberta},
    {"herbert", TokenizerKind::kHerbert},
    {"hyperclovaxvisionv2", TokenizerKind::kGpt2},
    {"ibert", TokenizerKind::kRoberta},
    {"instructblip", TokenizerKind::kGpt2},
    {"instructblipvideo", TokenizerKind::kGpt2},
    {"jais2", TokenizerKind::kGpt2},
    {"jinaembeddingsv3", TokenizerKind::kXlmRoberta},
    {"layoutlm", TokenizerKind::kBert},
    {"led", TokenizerKind::kRoberta},
    {"lilt", TokenizerKind::kRoberta},
    {"lxmert", TokenizerKind::kBert},
    {"mega", TokenizerKind::kUnknown, false},
    {"megatronbert", TokenizerKind::kBert},
    {"metaclip2", TokenizerKind::kXlmRoberta},
    {"mmgroundingdino", TokenizerKind::kBert},
    {"modernbert", TokenizerKind::kUnknown, false},
    {"modernbertdecoder", TokenizerKind::kUnknown, false},
    {"mra", TokenizerKind::kRoberta},
    {"musicgen", TokenizerKind::kT5},
    {"musicgenmelody", TokenizerKind::kT5},
    {"nezha", TokenizerKind::kUnknown, false},
    {"nystromformer", TokenizerKind::kUnknown, false},
    {"opt", TokenizerKind::kGpt2},
    {"phi", TokenizerKind::kGpt2},
    {"qdqbert", TokenizerKind::kUnknown, false},
    {"realm", TokenizerKind::kUnknown, false},
    {"retribert", TokenizerKind::kUnknown, false},
    {"robertaprelayernorm", TokenizerKind::kRoberta},
    {"squeezebert", TokenizerKind::kBert},
    {"starcoder2", TokenizerKind::kGpt2},
    {"switchtransformers", TokenizerKind::kT5},
    {"trocr", TokenizerKind::kXlmRoberta},
    {"tvp", TokenizerKind::kBert},
    {"vilt", TokenizerKind::kBert},
    {"visualbert", TokenizerKind::kBert},
    {"xmod", TokenizerKind::kXlmRoberta},
    {"yoso", TokenizerKind::kAlbert},
};

// For these models transformers 5 does not believe the class that a file names.
constexpr std::string_view kWithoutClass[] = {"modernbert", "modernbertdecoder", "nystromformer",
                                              "xlmrobertaxl"};

// "xlm-roberta" becomes "xlmroberta", and so does "XLMRobertaTokenizerFast".
std::string plain_name(std::string name) {
  std::erase_if(name, [](char c) { return c == '-' || c == '_'; });
  name = lower_ascii(name);
  for (const std::string_view ending : {"fast", "tokenizer"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name;
}

const KindName* named(std::string_view name, std::span<const KindName> rows) {
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

// Throws if the model_type stands for a class that berth does not have, or for no class at all.
void refuse_type(const FileLookup& file, const std::string& type) {
  const bool has_json = file("tokenizer.json").has_value();
  const std::string shown = quoted(text_in(file, "config.json", "model_type"));
  const char* hint =
      has_json ? "if tokenizer.json says all of it, name the class PreTrainedTokenizerFast in "
                 "tokenizer_config.json (tokenizer_class)"
               : "name the class in tokenizer_config.json (tokenizer_class), such as BertTokenizer";
  const std::string_view foreign = foreign_class(type);
  if (!foreign.empty()) {
    throw Error(Code::kBadData,
                cat("no file names the class of the tokenizer; for the model_type ", shown,
                    " it is ", foreign, ", which berth does not know"),
                "config.json", hint);
  }
  if (has_json) return;
  throw Error(Code::kBadData,
              cat("no file names the class of the tokenizer, and berth does not know the "
                  "model_type ",
                  shown),
              "config.json", hint);
}

}  // namespace

TokenizerClass tokenizer_class(const FileLookup& file) {
  TokenizerClass found;
  found.name = text_in(file, "tokenizer_config.json", "tokenizer_class");
  if (found.name.empty()) {
    found.name = text_in(file, "config.json", "tokenizer_class");
    found.of_model = !found.name.empty();
  }
  const std::string type = model_type(file);
  found.has_type = !type.empty();
  const KindName* of_model = named(type, kModels);
  if (of_model == nullptr) of_model = named(type, kTypes);
  const KindName* row = of_model;
  if (!found.name.empty()) {
    std::string_view name = found.name;
    if (name.ends_with("Fast")) name.remove_suffix(4);
    row = named(name, kClasses);
    if (row == nullptr) {
      throw Error(Code::kBadData,
                  cat("the tokenizer is a ", found.name, ", a class that berth does not know"),
                  found.of_model ? "config.json" : "tokenizer_config.json",
                  "if tokenizer.json says all of it, name the class PreTrainedTokenizerFast there");
    }
  } else if (row == nullptr && !type.empty()) {
    refuse_type(file, type);
  }
  if (row != nullptr) found.kind = row->kind, found.rebuilds = row->rebuilds;
  if (std::find(std::begin(kWithoutClass), std::end(kWithoutClass), type) !=
      std::end(kWithoutClass)) {
    found.rebuilds = false;
  }
  // Such a class has tokenizer.json. Without such a template, only the model's kind decides.
  if (found.kind == TokenizerKind::kUnknown && of_model != nullptr) found.kind = of_model->kind;
  return found;
}

std::string shown_class(const TokenizerClass& of) {
  if (!of.name.empty()) return of.name;
  switch (of.kind) {
    case TokenizerKind::kUnknown:
      return "tokenizer of no known class";
    case TokenizerKind::kBert:
      return "BertTokenizer";
    case TokenizerKind::kMpnet:
      return "MPNetTokenizer";
    case TokenizerKind::kRoberta:
      return "RobertaTokenizer";
    case TokenizerKind::kGpt2:
      return "GPT2Tokenizer";
    case TokenizerKind::kDeberta:
      return "DebertaTokenizer";
    case TokenizerKind::kHerbert:
      return "HerbertTokenizer";
    case TokenizerKind::kXlmRoberta:
      return "XLMRobertaTokenizer";
    case TokenizerKind::kCamembert:
      return "CamembertTokenizer";
    case TokenizerKind::kAlbert:
      return "AlbertTokenizer";
    case TokenizerKind::kDebertaV2:
      return "DebertaV2Tokenizer";
    case TokenizerKind::kT5:
      return "T5Tokenizer";
  }
  return "";
}

bool is_distilbert(const FileLookup& file) {
  return plain_name(text_in(file, "tokenizer_config.json", "tokenizer_class")) == "distilbert" ||
         model_type(file) == "distilbert";
}

}  // namespace berth
