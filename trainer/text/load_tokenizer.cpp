#include "trainer/text/load_tokenizer.h"

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "storage/base/json.h"
#include "storage/base/known_keys.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/text/class_json.h"
#include "trainer/text/json_reading.h"
#include "trainer/text/load_kinds.h"
#include "trainer/text/pipeline_json.h"
#include "trainer/text/tokenizer.h"
#include "trainer/text/tokenizer_class.h"

namespace berth {

namespace {

constexpr const char* kSentencePieceNames[] = {"sentencepiece.bpe.model", "spiece.model",
                                               "spm.model", "tokenizer.model",
                                               "sentencepiece.model"};

// Caches the files, because several kinds ask for the same ones and they may be remote.
FileLookup remembered(const FileLookup& file) {
  auto known = std::make_shared<std::map<std::string, std::optional<std::string>, std::less<>>>();
  return [&file, known](std::string_view name) {
    const auto found = known->find(name);
    return found != known->end() ? found->second : known->emplace(name, file(name)).first->second;
  };
}

void check_tokenizer_keys(const FileLookup& file) {
  constexpr const char* kConfig = "tokenizer_config.json";
  read_if_present(file(kConfig), kConfig, [&](const std::string& content) {
    const Json config = parse_object(content);
    const auto unknown = check_keys(config, tokenizer_keys());
    for (const std::string& key : unknown) {
      if (!key.ends_with("_token") || !(config[key].is_string() || config[key].is_object()))
        continue;
      throw Error(Code::kUsage,
                  cat(quoted(key),
                      " is a special token of its own in transformers 5, and berth "
                      "does not read it there"),
                  "", "list it in additional_special_tokens");
    }
    if (unknown.empty()) return;
    log_warning(
        cat(kConfig, " has keys that berth does not know and leaves out: ", listed_keys(unknown)));
  });
}

// Adds the rules by which this version makes sequences in another way than earlier versions.
void add_rules(const FileLookup& file, const SequenceSettings& sequences,
               std::vector<std::string>& rules) {
  if (sequences.cuts_left) rules.emplace_back("truncation_side counts");
  if (!sequences.has_types && !is_distilbert(file)) rules.emplace_back("model_input_names count");
}

// Whether the template of tokenizer.json, which counts for ALBERT, is another one than its class
// makes.
bool has_other_template(const TokenizerClass& of, const Json& root) {
  const Json* part = member(root, "post_processor");
  if (of.kind != TokenizerKind::kAlbert || !of.rebuilds || part == nullptr) return false;
  const SpecialTokensTemplate special = read_post_processing(to_text(*part)).special;
  return special.single.empty() || special != SpecialTokensTemplate::bert(special.single.front().id,
                                                                          special.single.back().id);
}

// Whether special_tokens_map.json has a special token that added_tokens_decoder lacks.
bool names_others(const Json& map, const Json& decoder) {
  const auto is_listed = [&](const Json& token) {
    const Json content = token.is_object() ? token.value("content", Json()) : token;
    return std::ranges::any_of(decoder, [&](const Json& listed) {
      return listed.is_object() && listed.value("content", Json()) == content;
    });
  };
  return !std::ranges::all_of(map, [&](const Json& token) {
    return token.is_array() ? std::ranges::all_of(token, is_listed) : is_listed(token);
  });
}

// Whether older files say something else than tokenizer_config.json, or more.
bool has_other_settings(const FileLookup& file) {
  constexpr const char *kConfig = "tokenizer_config.json", *kMap = "special_tokens_map.json";
  Json config = Json::object(), map = Json::object();
  read_if_present(file(kConfig), kConfig,
                  [&](const std::string& content) { config = parse_object(content); });
  read_if_present(file(kMap), kMap,
                  [&](const std::string& content) { map = parse_object(content); });
  if (const Json* decoder = member(config, "added_tokens_decoder")) {
    return names_others(map, *decoder);
  }
  return file("added_tokens.json") || std::ranges::any_of(map.items(), [&](const auto& item) {
           return config.contains(item.key()) && config[item.key()] != item.value();
         });
}

std::unique_ptr<Tokenizer> load_json(const FileLookup& file, const TokenizerClass& of,
                                     const std::string& content,
                                     const TokenizerOverrides& overrides,
                                     std::vector<std::string>& rules) {
  Json root = parse_object(content);
  const std::vector<std::string> replaced = read_as_class(file, of, overrides, root);
  if (!replaced.empty()) {
    rules.emplace_back("the class of the tokenizer decides over tokenizer.json");
    log_warning(cat("tokenizer.json has another ", listed_keys(replaced), " than ",
                    of.name.empty() ? "the class of this model's tokenizer" : of.name,
                    " has by tokenizer_config.json. berth tokenizes as the class does, as "
                    "transformers 5; if tokenizer.json is right, name the class "
                    "PreTrainedTokenizerFast in tokenizer_config.json"));
  }
  if (has_other_template(of, root)) rules.emplace_back("the template of tokenizer.json counts");
  const SequenceSettings sequences = sequence_settings(file, &root);
  add_rules(file, sequences, rules);
  if (auto tokenizer = load_bert_json(file, root, overrides)) return tokenizer;
  const bool has_case = of.kind == TokenizerKind::kAlbert || of.kind == TokenizerKind::kDebertaV2;
  return load_pipeline(root, sequences, overrides,
                       with_settings(file, of, {{"tokenizer.json", content}},
                                     has_case && of.rebuilds ? overrides : TokenizerOverrides()));
}

// Whether vocab.txt, which earlier versions preferred to tokenizer.json, makes another tokenizer.
bool decides_otherwise(const FileLookup& file, const TokenizerClass& of,
                       const TokenizerOverrides& overrides, const Tokenizer& tokenizer) {
  const bool preferred = of.kind == TokenizerKind::kBert || of.kind == TokenizerKind::kMpnet ||
                         of.kind == TokenizerKind::kUnknown;
  if (!preferred || !file("vocab.txt")) return false;
  try {
    return tokenizer_checksum(*load_bert_tokenizer(file, of, overrides, /*rules=*/nullptr)) !=
           tokenizer_checksum(tokenizer);
  } catch (const Error&) {
    return true;
  }
}

// The files of a vocabulary beside tokenizer.json.
enum class FileKind : uint8_t { kNone, kVocabulary, kMerges, kSentencePiece };

// The first of them that exists.
FileKind files_of(const FileLookup& file) {
  if (file("vocab.txt")) return FileKind::kVocabulary;
  if (file("vocab.json")) return FileKind::kMerges;
  const bool has_model =
      std::ranges::any_of(kSentencePieceNames, [&](const char* name) { return !!file(name); });
  return has_model ? FileKind::kSentencePiece : FileKind::kNone;
}

// The files that a class needs. kNone: any.
FileKind files_of(TokenizerKind kind) {
  switch (kind) {
    case TokenizerKind::kUnknown:
      return FileKind::kNone;
    case TokenizerKind::kBert:
    case TokenizerKind::kMpnet:
      return FileKind::kVocabulary;
    case TokenizerKind::kRoberta:
    case TokenizerKind::kGpt2:
    case TokenizerKind::kDeberta:
    case TokenizerKind::kHerbert:
      return FileKind::kMerges;
    default:
      return FileKind::kSentencePiece;
  }
}

// The names of the SentencePiece model that the class looks for, the first one first. The last one
// is its own.
std::vector<const char*> model_names(const TokenizerClass& of) {
  switch (of.kind) {
    case TokenizerKind::kXlmRoberta:
    case TokenizerKind::kCamembert:
      return {"tokenizer.model", "sentencepiece.bpe.model"};
    case TokenizerKind::kDebertaV2:
      return {"tokenizer.model", "spm.model"};
    case TokenizerKind::kAlbert:
    case TokenizerKind::kT5:
      return {"tokenizer.model", "spiece.model"};
    default:
      return {std::begin(kSentencePieceNames), std::end(kSentencePieceNames)};
  }
}

std::string shown_files(const FileLookup& file, FileKind kind) {
  if (kind == FileKind::kVocabulary) return "vocab.txt";
  if (kind == FileKind::kMerges) return "vocab.json with merges.txt";
  for (const char* name : kSentencePieceNames) {
    if (file(name)) return name;
  }
  return "a SentencePiece model";
}

std::string wanted_files(const TokenizerClass& of) {
  switch (files_of(of.kind)) {
    case FileKind::kVocabulary:
      return "vocab.txt";
    case FileKind::kMerges:
      return "vocab.json with merges.txt";
    default:
      return model_names(of).back();
  }
}

[[noreturn]] void refuse_files(const FileLookup& file, const TokenizerClass& of,
                               const std::string& wanted, FileKind has) {
  throw Error(Code::kBadData,
              cat("the tokenizer's class is ", shown_class(of),
                  of.name.empty() ? ", by the model_type" : "", ", which berth reads from ", wanted,
                  "; the folder has ", shown_files(file, has)),
              "",
              "add its files, or name the class of these files in tokenizer_config.json "
              "(tokenizer_class)");
}

// Throws where tokenizer_config.json says that there is no such special token. Beside vocab.txt,
// the tokens are known by their names.
void refuse_absent_names(const FileLookup& file) {
  constexpr const char* kConfig = "tokenizer_config.json";
  read_if_present(file(kConfig), kConfig, [&](const std::string& content) {
    const Json config = parse_object(content);
    for (const char* name : {"unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
      if (!config.contains(name) || !config[name].is_null()) continue;
      throw Error(Code::kBadData,
                  cat(quoted(name), " is null, and berth does not tokenize without"), "",
                  "take the key out, or save the tokenizer with transformers");
    }
  });
}

// Without tokenizer.json, these keys change the template of the classes that do not make it last.
void refuse_template_keys(const FileLookup& file, const TokenizerClass& of) {
  if (of.kind != TokenizerKind::kAlbert && of.kind != TokenizerKind::kGpt2) return;
  constexpr const char* kConfig = "tokenizer_config.json";
  read_if_present(file(kConfig), kConfig, [&](const std::string& content) {
    const Json config = parse_object(content);
    for (const char* key : {"add_bos_token", "add_eos_token"}) {
      if (!config.contains(key)) continue;
      throw Error(Code::kBadData,
                  cat(quoted(key), " changes the special tokens of ", shown_class(of),
                      " where there is no tokenizer.json, and berth does not compute that"),
                  "", "save the tokenizer with its tokenizer.json");
    }
  });
}

std::unique_ptr<Tokenizer> load(const FileLookup& file, const TokenizerClass& of,
                                const TokenizerOverrides& overrides,
                                std::vector<std::string>& rules) {
  if (const auto content = file("tokenizer.json")) {
    try {
      auto tokenizer = load_json(file, of, *content, overrides, rules);
      if (decides_otherwise(file, of, overrides, *tokenizer)) {
        rules.emplace_back("tokenizer.json decides over vocab.txt");
      }
      return tokenizer;
    } catch (const Error& error) {
      throw error.where().empty() ? error.at("tokenizer.json") : error;
    }
  }
  const FileKind has = files_of(file), wants = files_of(of.kind);
  if (has == FileKind::kNone) {
    throw Error(
        Code::kNotFound,
        "no tokenizer: no vocab.txt, tokenizer.json, vocab.json with merges.txt or .model file", "",
        "pass --vocab-file");
  }
  refuse_template_keys(file, of);
  const bool has_other = wants == FileKind::kVocabulary || wants == FileKind::kMerges;
  if (has_other && has != FileKind::kSentencePiece && file("tokenizer.model")) {
    throw Error(Code::kBadData,
                cat("the folder has tokenizer.model beside ", shown_files(file, has),
                    ", and transformers 5 reads it first"),
                "", "remove tokenizer.model if it is not the tokenizer's");
  }
  const FileKind read = wants == FileKind::kNone ? has : wants;
  if (read == FileKind::kVocabulary && file("vocab.txt")) {
    refuse_absent_names(file);
    if (has_other_settings(file))
      rules.emplace_back("older files beside tokenizer_config.json count");
    return load_bert_tokenizer(file, of, overrides, &rules);
  }
  if (read == FileKind::kMerges && file("vocab.json")) {
    const auto vocabulary = file("vocab.json"), merges = file("merges.txt");
    if (!merges) {
      throw Error(Code::kNotFound, "no merges.txt beside vocab.json", "",
                  "add merges.txt, or use a tokenizer.json instead");
    }
    return load_merges(file, *vocabulary, *merges, of, overrides, rules);
  }
  for (const char* name : model_names(of)) {
    if (read != FileKind::kSentencePiece) break;
    if (const auto content = file(name)) {
      if (of.rebuilds)
        rules.emplace_back("the class of the tokenizer decides over the SentencePiece model");
      return load_sentencepiece(file, name, *content, of, overrides);
    }
  }
  refuse_files(file, of, wanted_files(of), has);
}

}  // namespace

std::unique_ptr<Tokenizer> load_pipeline(const Json& root, const SequenceSettings& sequences,
                                         const TokenizerOverrides& overrides,
                                         std::vector<Tokenizer::File> files) {
  PipelineParts parts = read_pipeline_json(root);
  if (overrides.lowers_first) {
    parts.options.normalize =
        parts.options.normalize ? in_sequence({lower_casing(), std::move(parts.options.normalize)})
                                : lower_casing();
  }
  sequences.apply(parts.special);
  parts.files = std::move(files);
  return std::make_unique<PipelineTokenizer>(std::move(parts));
}

std::unique_ptr<Tokenizer> load_tokenizer(const FileLookup& lookup,
                                          const TokenizerOverrides& overrides,
                                          std::vector<std::string>* rules) {
  const FileLookup file = remembered(lookup);
  const TokenizerClass of = tokenizer_class(file);
  check_tokenizer_keys(file);
  std::vector<std::string> unheeded;
  std::vector<std::string>& found = rules == nullptr ? unheeded : *rules;
  auto tokenizer = load(file, of, overrides, found);
  if (of.of_model) found.emplace_back("tokenizer_class of config.json counts");
  const SequenceSettings sequences = sequence_settings(file, nullptr);
  if (of.of_model && of.type != "distilbert" && sequences.has_types && is_distilbert(file)) {
    found.emplace_back("DistilBertTokenizer of config.json gives no token types");
  }
  if (!of.gives_types && tokenizer->has_token_types() && !sequences.names_inputs) {
    tokenizer->warn_at_pairs(
        cat("the class ", shown_class(of),
            " gives token types to pairs in transformers 4, and berth does as well; it gives none "
            "in transformers 5. model_input_names in tokenizer_config.json decides"));
  }
  if (file("tokenizer.json")) return tokenizer;
  add_rules(file, sequences, found);
  if (of.kind == TokenizerKind::kDeberta) found.emplace_back("DeBERTa separates pairs twice");
  return tokenizer;
}

}  // namespace berth
