#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/text/json_reading.h"
#include "trainer/text/load_kinds.h"
#include "trainer/text/sentencepiece_tokenizer.h"

namespace berth {

namespace {

// fairseq's tokens come before those of the model, whose ids are shifted by that.
struct Shifted {
  int32_t shift, unk_id;
  std::vector<AddedToken> fixed;
};

Shifted shifted(TokenizerKind kind, int32_t model_size) {
  if (kind == TokenizerKind::kXlmRoberta) {
    return {1,
            3,
            {{.content = "<s>", .id = 0},
             {.content = "<pad>", .id = 1},
             {.content = "</s>", .id = 2},
             {.content = "<unk>", .id = 3},
             {.content = "<mask>", .id = model_size + 1, .lstrip = true}}};
  }
  if (kind == TokenizerKind::kCamembert) {
    return {4,
            3,
            {{.content = "<s>", .id = 5},
             {.content = "<pad>", .id = 1},
             {.content = "</s>", .id = 6},
             {.content = "<unk>", .id = 3},
             {.content = "<mask>", .id = model_size + 4, .lstrip = true}}};
  }
  return {0, -1, {}};
}

void name_sentencepiece_tokens(TokenizerKind kind, TokenizerSettings& settings) {
  BertTokenizerOptions& options = settings.options;
  settings.wordpiece.unk_token = kind == TokenizerKind::kDebertaV2 ? "[UNK]" : "<unk>";
  if (kind == TokenizerKind::kDebertaV2) return;  // DeBERTa v2 uses BERT's names
  options.pad_token = "<pad>";
  if (kind == TokenizerKind::kAlbert) return;
  options.cls_token = "<s>";
  options.sep_token = "</s>";
  options.mask_token = "<mask>";
}

// Adds the sentinels of T5's pre-training. They have the last ids, in descending order.
void add_extra_ids(int32_t count, int32_t model_size, std::vector<AddedToken>& tokens) {
  for (int32_t i = 0; i < count; ++i) {
    const std::string name = cat("<extra_id_", i, ">");
    const auto same = [&](const AddedToken& token) { return token.content == name; };
    if (std::any_of(tokens.begin(), tokens.end(), same)) continue;
    tokens.push_back({.content = name, .id = model_size + count - 1 - i});
  }
}

// DeBERTa's published models have no piece for [MASK]. Its id follows those of the pieces, even if
// no file says so.
void add_mask(TokenizerSettings& settings) {
  const std::string& mask = settings.options.mask_token;
  const auto same = [&](const AddedToken& token) { return token.content == mask; };
  if (std::none_of(settings.added_tokens.begin(), settings.added_tokens.end(), same)) {
    settings.added_tokens.push_back({.content = mask});
  }
}

// The steps that AlbertTokenizer applies to a text first.
NormalizationStep albert_preparation(const TokenizerSettings& settings) {
  std::vector<NormalizationStep> steps = {replacing("``", "\""), replacing("''", "\"")};
  if (!settings.keep_accents) {
    steps.push_back(unicode_form(UnicodeForm::kNfkd));
    steps.push_back(accent_stripping());
  }
  if (settings.lowercase.value_or(true)) steps.push_back(lower_casing());
  return in_sequence(std::move(steps));
}

SpecialTokensTemplate ending_with(int32_t sep) {
  using Part = TemplatePart;
  return {.single = {{Part::kFirst, -1, 0}, {Part::kToken, sep, 0}},
          .pair = {{Part::kFirst, -1, 0},
                   {Part::kToken, sep, 0},
                   {Part::kSecond, -1, 0},
                   {Part::kToken, sep, 0}}};
}

// Chooses the template by the control pieces of a model whose family no file names.
SpecialTokensTemplate template_of_pieces(const SentencePieceModel& model) {
  const int32_t cls = model.find("[CLS]"), sep = model.find("[SEP]");
  if (cls >= 0 && sep >= 0) return SpecialTokensTemplate::bert(cls, sep);
  const int32_t bos = model.find("<s>"), eos = model.find("</s>");
  if (bos >= 0 && eos >= 0) return SpecialTokensTemplate::roberta(bos, eos);
  if (eos >= 0) return ending_with(eos);
  return {.single = {{TemplatePart::kFirst, -1, 0}},
          .pair = {{TemplatePart::kFirst, -1, 0}, {TemplatePart::kSecond, -1, 1}}};
}

SentencePieceOptions options_of(const SentencePieceModel& model, TokenizerKind kind,
                                TokenizerSettings& settings) {
  SentencePieceOptions options;
  const auto model_size = static_cast<int32_t>(model.pieces.size());
  if (kind == TokenizerKind::kUnknown) {
    options.special = template_of_pieces(model);
    return options;
  }
  const Shifted ids = shifted(kind, model_size);
  options.shift = ids.shift;
  options.unk_id = ids.unk_id;
  const auto find = [&](const std::string& token) {
    for (const AddedToken& fixed : ids.fixed) {
      if (fixed.content == token) return fixed.id;
    }
    const int32_t id = model.find(token);
    return id < 0 ? -1 : id + ids.shift;
  };
  for (const AddedToken& fixed : ids.fixed) {
    const auto same = [&](const AddedToken& token) { return token.content == fixed.content; };
    if (std::none_of(settings.added_tokens.begin(), settings.added_tokens.end(), same)) {
      settings.added_tokens.push_back(fixed);
    }
  }
  if (kind == TokenizerKind::kT5) {
    add_extra_ids(settings.extra_ids, model_size, settings.added_tokens);
  }
  if (kind == TokenizerKind::kDebertaV2) add_mask(settings);
  options.added_tokens = added_tokens_with_ids(settings, model_size + ids.shift, find);
  const int32_t sep = id_of_token(settings.options.sep_token, options.added_tokens);
  if (kind == TokenizerKind::kT5) {
    options.special = ending_with(sep);
    return options;
  }
  const int32_t cls = id_of_token(settings.options.cls_token, options.added_tokens);
  const bool like_roberta = kind == TokenizerKind::kXlmRoberta || kind == TokenizerKind::kCamembert;
  options.special = like_roberta ? SpecialTokensTemplate::roberta(cls, sep)
                                 : SpecialTokensTemplate::bert(cls, sep);
  if (kind == TokenizerKind::kAlbert) options.prepare = albert_preparation(settings);
  if (kind == TokenizerKind::kDebertaV2 && settings.lowercase.value_or(false)) {
    options.prepare = lower_casing();
  }
  return options;
}

}  // namespace

std::unique_ptr<Tokenizer> load_sentencepiece(const FileLookup& file, const char* name,
                                              std::string content, const TokenizerClass& of,
                                              const TokenizerOverrides& overrides) {
  TokenizerSettings settings;
  const TokenizerKind kind = of.kind;
  read_if_present(file("tokenizer_config.json"), "tokenizer_config.json",
                  [&](const std::string& config) {
                    if (kind != TokenizerKind::kDebertaV2 ||
                        !bool_member(parse_object(config), "split_by_punct").value_or(false)) {
                      return;
                    }
                    throw Error(Code::kBadData,
                                "split_by_punct is true, which berth reads beside tokenizer.json "
                                "only",
                                "", "save the tokenizer with transformers, as tokenizer.json");
                  });
  if (kind == TokenizerKind::kUnknown && of.name.empty() &&
      std::string_view(name) == "sentencepiece.bpe.model" && file("config.json")) {
    throw Error(Code::kBadData, "no file names the class of the tokenizer, which decides its ids",
                name,
                "add tokenizer_class to config.json, such as XLMRobertaTokenizer or "
                "CamembertTokenizer");
  }
  name_sentencepiece_tokens(kind, settings);
  read_settings(file, settings);
  std::unique_ptr<Tokenizer> tokenizer;
  read_if_present(content, name, [&](const std::string& bytes) {
    SentencePieceModel model = parse_sentencepiece_model(bytes);
    SentencePieceOptions options = options_of(model, kind, settings);
    if (overrides.lowers_first) {
      options.prepare = options.prepare ? in_sequence({lower_casing(), std::move(options.prepare)})
                                        : lower_casing();
    }
    sequence_settings(file, nullptr).apply(options.special);
    options.files = with_settings(file, of, {{name, bytes}});
    tokenizer = std::make_unique<SentencePieceTokenizer>(std::move(model), std::move(options));
  });
  return tokenizer;
}

}  // namespace berth
