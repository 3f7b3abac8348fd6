#include "trainer/corpus/corpus_cleaner.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kExcerptBytes = 160;

// At most kExcerptBytes of the text from `begin` on, cut between characters.
std::string excerpt(std::string_view text, size_t begin = 0) {
  while (begin > 0 && begin < text.size() && !begins_code_point(text[begin])) --begin;
  return std::string(beginning(text.substr(begin), kExcerptBytes));
}

// How a text was changed, from a little before the first difference on.
CleaningExample change(std::string where, std::string_view before, std::string_view after) {
  const auto first = std::mismatch(before.begin(), before.end(), after.begin(), after.end()).first;
  const auto at = static_cast<size_t>(first - before.begin());
  const size_t begin = at < 20 ? 0 : at - 20;
  return {std::move(where), excerpt(before, begin), excerpt(after, begin)};
}

std::string similarity_text(double similarity) {
  return formatted("similarity %.2f to kept document ", similarity);
}

}  // namespace

CorpusCleaner::CorpusCleaner(const CleaningOptions& options, ThreadPool& threads)
    : options_(options),
      threads_(threads),
      judges_(static_cast<size_t>(threads.size()), DocumentJudge(options)),
      sketches_(options.near_duplicate_threshold) {}

// Applies the rules that compare a document with those before it.
void CorpusCleaner::compare(JudgedDocument& judged) {
  if (options_.drops_duplicates && !hashes_.insert(judged.hash)) {
    judged.rule = CleaningRule::kDuplicate;
    return;
  }
  if (options_.near_duplicate_threshold <= 0) return;
  if (const auto similar = sketches_.find_or_add(judged.sketch)) {
    judged.rule = CleaningRule::kNearDuplicate;
    judged.because = cat(similarity_text(similar->similarity), similar->index + 1);
  }
}

void CorpusCleaner::count(std::string_view text, JudgedDocument& judged,
                          const std::function<std::string()>& where) {
  report_.read.add(text);
  if (judged.text != text) {
    report_.changed.add(text);
    if (report_.changes.size() < CleaningReport::kExamples) {
      report_.changes.push_back(change(where(), text, judged.text));
    }
  }
  if (!judged.rule) return report_.kept.add(judged.text);
  const auto rule = static_cast<size_t>(*judged.rule);
  report_.removed[rule].add(text);
  std::vector<CleaningExample>& examples = report_.examples[rule];
  if (examples.size() >= CleaningReport::kExamples) return;
  examples.push_back({where(), excerpt(text), std::move(judged.because)});
}

void CorpusCleaner::clean(std::span<const std::string> texts,
                          const std::function<std::string(size_t index)>& where,
                          const std::function<void(std::string_view text)>& keep) {
  if (judged_.size() < texts.size()) judged_.resize(texts.size());
  threads_.parallel_for(
      static_cast<int64_t>(texts.size()), 16, [&](int64_t begin, int64_t end, int thread) {
        DocumentJudge& judge = judges_[static_cast<size_t>(thread)];
        for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
          judge.judge(texts[i], judged_[i]);
        }
      });
  for (size_t i = 0; i < texts.size(); ++i) {
    JudgedDocument& judged = judged_[i];
    if (!judged.rule) compare(judged);
    count(texts[i], judged, [&] { return where(i); });
    if (!judged.rule) keep(judged.text);
  }
  report_.memory_bytes = hashes_.memory_bytes() + sketches_.memory_bytes();
}

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
