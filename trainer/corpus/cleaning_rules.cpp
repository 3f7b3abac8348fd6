#include "trainer/corpus/cleaning_rules.h"

namespace berth {
namespace {

struct RuleText {
  std::string_view name, words;
};

// In the order of the enumeration.
constexpr RuleText kRuleTexts[] = {
    {"too_short", "too short"},
    {"too_long", "too long"},
    {"too_few_words", "with too few words"},
    {"too_many_words", "with too many words"},
    {"too_few_letters", "with too few letters"},
    {"repetitive", "that repeat themselves"},
    {"duplicate", "equal to an earlier one"},
    {"near_duplicate", "nearly equal to an earlier one"},
};
static_assert(sizeof kRuleTexts / sizeof kRuleTexts[0] == kCleaningRules);

}  // namespace

std::string_view rule_name(CleaningRule rule) { return kRuleTexts[static_cast<size_t>(rule)].name; }

std::string_view rule_words(CleaningRule rule) {
  return kRuleTexts[static_cast<size_t>(rule)].words;
}

}  // namespace berth
