#include <nlohmann/json.hpp>
#include <utility>

#include "storage/base/base64.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/text/json_reading.h"
#include "trainer/text/pipeline_json.h"
#include "trainer/text/text_kinds.h"

namespace berth {

namespace {

NormalizationStep step_of(const Json& normalizer);

NormalizationStep sequence_of(const Json& normalizer) {
  const Json* list = member(normalizer, "normalizers");
  if (list == nullptr || !list->is_array()) {
    throw Error(Code::kBadData, "normalizer.normalizers is not a list");
  }
  std::vector<NormalizationStep> steps;
  for (const Json& each : *list) steps.push_back(step_of(each));
  return in_sequence(std::move(steps));
}

NormalizationStep bert_of(const Json& normalizer) {
  const bool lowercase = bool_member(normalizer, "lowercase").value_or(true);
  return bert_normalization(
      {.clean_text = bool_member(normalizer, "clean_text").value_or(true),
       .handle_chinese_chars = bool_member(normalizer, "handle_chinese_chars").value_or(true),
       .strip_accents = bool_member(normalizer, "strip_accents").value_or(lowercase),
       .lowercase = lowercase});
}

// Accepts a literal, or one of the regular expressions that files of the BERT family contain.
NormalizationStep replace_of(const Json& normalizer) {
  const Json* pattern = member(normalizer, "pattern");
  const std::string content = string_member(normalizer, "content").value_or("");
  if (pattern == nullptr) throw Error(Code::kBadData, "normalizer.pattern is missing");
  if (const auto literal = string_member(*pattern, "String")) {
    if (literal->empty()) throw Error(Code::kBadData, "normalizer.pattern is empty");
    return replacing(*literal, content);
  }
  const std::string regex = string_member(*pattern, "Regex").value_or("");
  if (regex == " {2,}") return replacing_runs(' ', 2, content);
  if (regex == "\\s{2,}|[\\n\\r\\t]") return replacing_spaces(content);
  throw Error(Code::kBadData, cat("normalizer.pattern is ", quoted(regex),
                                  ", a regular expression that berth does not support"));
}

NormalizationStep precompiled_of(const Json& normalizer) {
  const auto text = string_member(normalizer, "precompiled_charsmap");
  const auto blob = text ? decode_base64(*text) : std::nullopt;
  if (!blob) throw Error(Code::kBadData, "normalizer.precompiled_charsmap is not base64");
  return precompiled(Charsmap(*blob));
}

NormalizationStep prepend_of(const Json& normalizer) {
  const auto prefix = string_member(normalizer, "prepend");
  if (!prefix || prefix->empty()) throw Error(Code::kBadData, "normalizer.prepend is empty");
  return prepending(*prefix);
}

NormalizationStep step_of(const Json& normalizer) {
  const std::string type = string_member(normalizer, "type").value_or("");
  if (type == "Sequence") return sequence_of(normalizer);
  if (type == "BertNormalizer") return bert_of(normalizer);
  if (type == "NFC") return unicode_form(UnicodeForm::kNfc);
  if (type == "NFD") return unicode_form(UnicodeForm::kNfd);
  if (type == "NFKC") return unicode_form(UnicodeForm::kNfkc);
  if (type == "NFKD") return unicode_form(UnicodeForm::kNfkd);
  if (type == "Lowercase") return lower_casing();
  if (type == "StripAccents") return accent_stripping();
  if (type == "Replace") return replace_of(normalizer);
  if (type == "Precompiled") return precompiled_of(normalizer);
  if (type == "Prepend") return prepend_of(normalizer);
  if (type == "Strip") {
    return trimming(bool_member(normalizer, "strip_left").value_or(true),
                    bool_member(normalizer, "strip_right").value_or(true));
  }
  throw Error(Code::kBadData,
              cat("normalizer.type is ", quoted(type), ", which berth does not support"));
}

}  // namespace

NormalizationStep read_normalization(std::string_view json) {
  const Json normalizer = parse_json(json);
  return normalizer.is_null() ? NormalizationStep() : step_of(normalizer);
}

}  // namespace berth
