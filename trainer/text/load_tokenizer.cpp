#include "trainer/text/load_tokenizer.h"

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
#include "trainer/text/tokenizer_checksum.h"
#include "trainer/text/tokenizer_keys.h"

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
    const auto unknown = check_keys(parse_object(content), tokenizer_keys());
    if (unknown.empty()) return;
    log_warning(
        cat(kConfig, " has keys that berth does not know and leaves out: ", listed_keys(unknown)));
  });
}

// Adds the rules by which sequences are made otherwise than earlier versions made them.
void add_rules(const FileLookup& file, const SequenceSettings& sequences,
               std::vector<std::string>& rules) {
  if (sequences.cuts_left) rules.emplace_back("truncation_side counts");
  if (!sequences.has_types && !is_distilbert(file)) rules.emplace_back("model_input_names count");
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
  const SequenceSettings sequences = sequence_settings(file, &root);
  add_rules(file, sequences, rules);
  if (auto tokenizer = load_bert_json(file, root, overrides)) return tokenizer;
  PipelineParts parts = read_pipeline_json(root);
  if (overrides.lowers_first) {
    parts.options.normalize =
        parts.options.normalize ? in_sequence({lower_casing(), std::move(parts.options.normalize)})
                                : lower_casing();
  }
  sequences.apply(parts.special);
  const bool has_case = of.kind == TokenizerKind::kAlbert || of.kind == TokenizerKind::kDebertaV2;
  parts.files = with_settings(file, of, {{"tokenizer.json", content}},
                              has_case && of.rebuilds ? overrides : TokenizerOverrides());
  return std::make_unique<PipelineTokenizer>(std::move(parts));
}

// Whether vocab.txt, which earlier versions preferred to tokenizer.json, makes another tokenizer.
bool decides_otherwise(const FileLookup& file, const TokenizerClass& of,
                       const TokenizerOverrides& overrides, const Tokenizer& tokenizer) {
  const bool preferred = of.kind == TokenizerKind::kBert || of.kind == TokenizerKind::kMpnet ||
                         of.kind == TokenizerKind::kUnknown;
  if (!preferred || !file("vocab.txt")) return false;
  try {
    return tokenizer_checksum(*load_bert_tokenizer(file, of, overrides, /*warns=*/false)) !=
           tokenizer_checksum(tokenizer);
  } catch (const Error&) {
    return true;
  }
}

// HerBERT's vocabulary and merges, as tokenizer.json holds them.
std::unique_ptr<Tokenizer> load_herbert(const FileLookup& file, const TokenizerClass& of,
                                        const std::string& vocabulary, const std::string& merges,
                                        const TokenizerOverrides& overrides) {
  Json root = Json::object();
  read_if_present(vocabulary, "vocab.json", [&](const std::string& content) {
    root["model"] = {{"vocab", parse_object(content)}, {"merges", Json::array()}};
  });
  read_if_present(merges, "merges.txt", [&](const std::string& content) {
    for (const auto& [left, right] : read_merges(content)) {
      root["model"]["merges"].push_back(Json::array({left, right}));
    }
  });
  read_as_class(file, of, overrides, root);
  PipelineParts parts = read_pipeline_json(root);
  if (overrides.lowers_first) {
    parts.options.normalize = in_sequence({lower_casing(), std::move(parts.options.normalize)});
  }
  sequence_settings(file, nullptr).apply(parts.special);
  parts.files = with_settings(file, of, {{"vocab.json", vocabulary}, {"merges.txt", merges}});
  return std::make_unique<PipelineTokenizer>(std::move(parts));
}

}  // namespace

namespace {

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
  const bool may_be_bert = of.kind == TokenizerKind::kBert || of.kind == TokenizerKind::kMpnet ||
                           of.kind == TokenizerKind::kUnknown;
  if (may_be_bert && file("vocab.txt")) return load_bert_tokenizer(file, of, overrides);
  if (auto vocabulary = file("vocab.json")) {
    auto merges = file("merges.txt");
    if (!merges) {
      throw Error(Code::kNotFound, "no merges.txt beside vocab.json", "",
                  "add merges.txt, or use a tokenizer.json instead");
    }
    if (of.kind == TokenizerKind::kHerbert) {
      return load_herbert(file, of, *vocabulary, *merges, overrides);
    }
    return load_byte_level(file, std::move(*vocabulary), std::move(*merges), of, overrides);
  }
  for (const char* name : kSentencePieceNames) {
    if (auto content = file(name)) {
      return load_sentencepiece(file, name, std::move(*content), of, overrides);
    }
  }
  if (file("vocab.txt")) return load_bert_tokenizer(file, of, overrides);
  throw Error(
      Code::kNotFound,
      "no tokenizer: no vocab.txt, tokenizer.json, vocab.json with merges.txt or .model file", "",
      "pass --vocab-file");
}

}  // namespace

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
  if (!file("tokenizer.json")) add_rules(file, sequence_settings(file, nullptr), found);
  return tokenizer;
}

}  // namespace berth
