#include "trainer/corpus/cleaning_report.h"

#include <nlohmann/json.hpp>

#include "storage/base/counted.h"
#include "storage/base/json.h"

namespace berth {
namespace {

OrderedJson to_json(const DocumentCount& count) {
  return {{"documents", count.documents}, {"bytes", count.bytes}};
}

// The limit of a rule, as the flags give it. Null where the rule is off.
OrderedJson limit_of(CleaningRule rule, const CleaningOptions& options) {
  const auto limit = [](auto value) { return value > 0 ? OrderedJson(value) : OrderedJson(); };
  switch (rule) {
    case CleaningRule::kTooShort:
      return limit(options.min_length);
    case CleaningRule::kTooLong:
      return limit(options.max_length);
    case CleaningRule::kTooFewWords:
      return limit(options.min_words);
    case CleaningRule::kTooManyWords:
      return limit(options.max_words);
    case CleaningRule::kTooFewLetters:
      return limit(options.min_letter_ratio);
    case CleaningRule::kRepetitive:
      return limit(options.max_repetition);
    case CleaningRule::kDuplicate:
      return options.drops_duplicates ? OrderedJson(1.0) : OrderedJson();
    case CleaningRule::kNearDuplicate:
      return limit(options.near_duplicate_threshold);
  }
  return {};
}

OrderedJson to_json(const std::vector<CleaningExample>& examples, const char* because) {
  OrderedJson list = OrderedJson::array();
  for (const CleaningExample& example : examples) {
    OrderedJson object = {{"where", example.where}, {"text", example.excerpt}};
    if (!example.because.empty()) object[because] = example.because;
    list.push_back(std::move(object));
  }
  return list;
}

}  // namespace

std::string report_json(const CleaningReport& report, const CleaningOptions& options) {
  OrderedJson object = {{"read", to_json(report.read)}, {"kept", to_json(report.kept)}};
  OrderedJson normalized = to_json(report.changed);
  normalized["is_on"] = options.normalizes;
  normalized["examples"] = to_json(report.changes, "became");
  object["normalized"] = std::move(normalized);
  OrderedJson removed = OrderedJson::object();
  for (size_t i = 0; i < kCleaningRules; ++i) {
    const auto rule = static_cast<CleaningRule>(i);
    OrderedJson entry = {{"limit", limit_of(rule, options)}};
    entry.update(to_json(report.removed[i]));
    entry["examples"] = to_json(report.examples[i], "measured");
    removed[std::string(rule_name(rule))] = std::move(entry);
  }
  object["removed"] = std::move(removed);
  object["duplicate_search"] = {
      {"memory_bytes", report.memory_bytes},
      {"bytes_per_kept_document",
       report.kept.documents == 0 ? 0 : report.memory_bytes / report.kept.documents}};
  return to_text(object, 2) + "\n";
}

std::vector<std::string> report_lines(const CleaningReport& report) {
  std::vector<std::string> lines = {cat("cleaned ", counted(report.read.documents, "document"),
                                        " (", human_bytes(report.read.bytes), "): kept ",
                                        report.kept.documents, " (", human_bytes(report.kept.bytes),
                                        "), changed ", report.changed.documents)};
  for (size_t i = 0; i < kCleaningRules; ++i) {
    const DocumentCount& removed = report.removed[i];
    if (removed.documents == 0) continue;
    lines.push_back(cat("removed ", counted(removed.documents, "document"), " (",
                        human_bytes(removed.bytes), ") ",
                        rule_words(static_cast<CleaningRule>(i))));
  }
  return lines;
}

}  // namespace berth
