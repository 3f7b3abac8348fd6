#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/text/json_reading.h"
#include "trainer/text/pipeline_json.h"

namespace berth {

namespace {

// The two texts one after the other, without special tokens.
SpecialTokensTemplate no_special_tokens() {
  return {.single = {{TemplatePart::kFirst, -1, 0}},
          .pair = {{TemplatePart::kFirst, -1, 0}, {TemplatePart::kSecond, -1, 1}}};
}

// Returns the id in "cls" or "sep" of BertProcessing and RobertaProcessing, which is [token, id].
int32_t member_id(const Json& processor, const char* name) {
  const Json* pair = member(processor, name);
  if (pair == nullptr || !pair->is_array() || pair->size() != 2) {
    throw Error(Code::kBadData, cat("post_processor.", name, " is not a token and its id"));
  }
  return count_of((*pair)[1], "the id of a special token");
}

void add_special_token(const Json& processor, const Json& token, std::vector<TemplatePart>& parts) {
  const std::string name = string_member(token, "id").value_or("");
  const Json* type = member(token, "type_id");
  const Json* known = member(processor, "special_tokens");
  const Json* entry = known == nullptr ? nullptr : member(*known, name.c_str());
  const Json* ids = entry == nullptr ? nullptr : member(*entry, "ids");
  if (ids == nullptr || !ids->is_array()) {
    throw Error(Code::kBadData, cat("post_processor.special_tokens has no ids of ", quoted(name)));
  }
  for (const Json& id : *ids) {
    parts.push_back({TemplatePart::kToken, count_of(id, "the id of a special token"),
                     type == nullptr ? 0 : count_of(*type, "type_id")});
  }
}

void add_sequence(const Json& sequence, std::vector<TemplatePart>& parts) {
  const std::string name = string_member(sequence, "id").value_or("");
  if (name != "A" && name != "B") {
    throw Error(Code::kBadData,
                cat("a Sequence of post_processor is ", quoted(name), ", not A or B"));
  }
  const TemplatePart::Kind kind = name == "A" ? TemplatePart::kFirst : TemplatePart::kSecond;
  const auto same = [&](const TemplatePart& part) { return part.kind == kind; };
  if (std::any_of(parts.begin(), parts.end(), same)) {
    throw Error(Code::kBadData, cat("post_processor has the text ", name, " twice"));
  }
  const Json* type = member(sequence, "type_id");
  parts.push_back({kind, -1, type == nullptr ? 0 : count_of(*type, "type_id")});
}

std::vector<TemplatePart> template_of(const Json& processor, const char* name) {
  std::vector<TemplatePart> parts;
  const Json* list = member(processor, name);
  if (list == nullptr || !list->is_array()) {
    throw Error(Code::kBadData, cat("post_processor.", name, " is not a list"));
  }
  for (const Json& part : *list) {
    if (const Json* token = member(part, "SpecialToken")) {
      add_special_token(processor, *token, parts);
    } else if (const Json* sequence = member(part, "Sequence")) {
      add_sequence(*sequence, parts);
    } else {
      throw Error(Code::kBadData,
                  cat("post_processor.", name, " holds neither SpecialToken nor Sequence"));
    }
  }
  return parts;
}

void read_trimming(const Json& processor, PostProcessing& post) {
  post.trim_spans = bool_member(processor, "trim_offsets").value_or(true);
  post.add_prefix_space = bool_member(processor, "add_prefix_space").value_or(true);
}

void read_one(const Json& processor, PostProcessing& post) {
  const std::string type = string_member(processor, "type").value_or("");
  const bool adds_tokens = type.ends_with("Processing");
  if (adds_tokens && !(post.special == no_special_tokens())) {
    throw Error(Code::kBadData,
                "post_processor has two steps that put special tokens around a text, and berth "
                "computes one");
  }
  if (type == "Sequence") {
    const Json* list = member(processor, "processors");
    if (list == nullptr || !list->is_array()) {
      throw Error(Code::kBadData, "post_processor.processors is not a list");
    }
    for (const Json& each : *list) read_one(each, post);
  } else if (type == "BertProcessing") {
    post.special =
        SpecialTokensTemplate::bert(member_id(processor, "cls"), member_id(processor, "sep"));
  } else if (type == "RobertaProcessing") {
    post.special =
        SpecialTokensTemplate::roberta(member_id(processor, "cls"), member_id(processor, "sep"));
    read_trimming(processor, post);
  } else if (type == "TemplateProcessing") {
    post.special = {template_of(processor, "single"), template_of(processor, "pair")};
  } else if (type == "ByteLevel") {
    read_trimming(processor, post);
  } else {
    throw Error(Code::kBadData,
                cat("post_processor.type is ", quoted(type), ", which berth does not support"));
  }
}

}  // namespace

PostProcessing read_post_processing(std::string_view json) {
  const Json processor = parse_json(json);
  PostProcessing post{.special = no_special_tokens()};
  if (!processor.is_null()) read_one(processor, post);
  return post;
}

}  // namespace berth
