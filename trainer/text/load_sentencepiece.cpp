#include <nlohmann/json.hpp>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/text/class_json.h"
#include "trainer/text/load_kinds.h"
#include "trainer/text/sentencepiece_json.h"
#include "trainer/text/sentencepiece_tokenizer.h"

namespace berth {

namespace {

SpecialTokensTemplate ending_with(int32_t sep) {
  using Part = TemplatePart;
  return {.single = {{Part::kFirst, -1, 0}, {Part::kToken, sep, 0}},
          .pair = {{Part::kFirst, -1, 0},
                   {Part::kToken, sep, 0},
                   {Part::kSecond, -1, 0},
                   {Part::kToken, sep, 0}}};
}

// Chooses the template by the control pieces of a model whose class no file names.
SpecialTokensTemplate template_of_pieces(const SentencePieceModel& model) {
  const int32_t cls = model.find("[CLS]"), sep = model.find("[SEP]");
  if (cls >= 0 && sep >= 0) return SpecialTokensTemplate::bert(cls, sep);
  const int32_t bos = model.find("<s>"), eos = model.find("</s>");
  if (bos >= 0 && eos >= 0) return SpecialTokensTemplate::roberta(bos, eos);
  if (eos >= 0) return ending_with(eos);
  return {.single = {{TemplatePart::kFirst, -1, 0}},
          .pair = {{TemplatePart::kFirst, -1, 0}, {TemplatePart::kSecond, -1, 1}}};
}

}  // namespace

std::unique_ptr<Tokenizer> load_sentencepiece(const FileLookup& file, const char* name,
                                              const std::string& content, const TokenizerClass& of,
                                              const TokenizerOverrides& overrides) {
  if (!of.rebuilds && (!of.name.empty() || of.has_type)) {
    throw Error(Code::kBadData,
                "no file names the class of the tokenizer, which decides the ids of this model",
                name,
                "add tokenizer_class to tokenizer_config.json, such as XLMRobertaTokenizer, or "
                "save the tokenizer with its tokenizer.json");
  }
  const SequenceSettings sequences = sequence_settings(file, nullptr);
  const bool has_case = of.kind == TokenizerKind::kAlbert || of.kind == TokenizerKind::kDebertaV2;
  std::vector<Tokenizer::File> files =
      with_settings(file, of, {{name, content}}, has_case ? overrides : TokenizerOverrides());
  std::unique_ptr<Tokenizer> tokenizer;
  read_if_present(content, name, [&](const std::string& bytes) {
    SentencePieceModel model = parse_sentencepiece_model(bytes);
    if (of.rebuilds) {
      Json root = tokenizer_json_of(model);
      const SentencePieceTokens special = special_pieces_of(model);
      read_as_class(file, of, overrides, root, &special);
      tokenizer = load_pipeline(root, sequences, overrides, std::move(files));
      return;
    }
    SentencePieceOptions options{.special = template_of_pieces(model),
                                 .prepare = overrides.lowers_first ? lower_casing() : nullptr,
                                 .files = std::move(files)};
    sequences.apply(options.special);
    tokenizer = std::make_unique<SentencePieceTokenizer>(std::move(model), std::move(options));
  });
  return tokenizer;
}

}  // namespace berth
