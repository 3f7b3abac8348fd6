#include "entrypoint/flags/flag_table.h"

namespace berth {
namespace {

auto cleaning(auto member) { return place(&CommandLine::tool, &ToolOptions::cleaning, member); }

constexpr IntegerRange kCounts = {0, kAnyCount};
constexpr RealRange kShares = {0, 1, true, true, "a number from 0 to 1"};

}  // namespace

std::vector<Flag> corpus_flags() {
  using enum Effect;
  using enum FlagGroup;
  return {
      {.name = "shard-size",
       .aliases = {},
       .group = kTools,
       .help = "For --mode prepare --task mlm with --model or --vocab-file: the size of each shard "
               "of tokens, in MiB.",
       .value = integer_value(
           place(&CommandLine::tool, &ToolOptions::prepared, &PreparedFileOptions::shard_mebibytes),
           {1, 4096}),
       .role = {kUnrecorded, kInNone}},
      {.name = "normalize-text",
       .aliases = {},
       .group = kTools,
       .help = "For --mode prepare --task mlm: bring texts into Unicode's form NFC, fold blanks, "
               "and remove controls and invisible characters.",
       .value = switch_value(cleaning(&CleaningOptions::normalizes)),
       .role = {kUnrecorded, kInNone}},
      {.name = "min-document-length",
       .aliases = {},
       .group = kTools,
       .help = "For --mode prepare --task mlm: remove documents of fewer characters. 0 turns this "
               "and each of the following rules off.",
       .value = integer_value(cleaning(&CleaningOptions::min_length), kCounts),
       .role = {kUnrecorded, kInNone}},
      {.name = "max-document-length",
       .aliases = {},
       .group = kTools,
       .help = "For --mode prepare --task mlm: remove documents of more characters.",
       .value = integer_value(cleaning(&CleaningOptions::max_length), kCounts),
       .role = {kUnrecorded, kInNone}},
      {.name = "min-document-words",
       .aliases = {},
       .group = kTools,
       .help = "For --mode prepare --task mlm: remove documents of fewer words. An ideograph is a "
               "word.",
       .value = integer_value(cleaning(&CleaningOptions::min_words), kCounts),
       .role = {kUnrecorded, kInNone}},
      {.name = "max-document-words",
       .aliases = {},
       .group = kTools,
       .help = "For --mode prepare --task mlm: remove documents of more words.",
       .value = integer_value(cleaning(&CleaningOptions::max_words), kCounts),
       .role = {kUnrecorded, kInNone}},
      {.name = "min-letter-ratio",
       .aliases = {},
       .group = kTools,
       .help = "For --mode prepare --task mlm: remove a document if the share of letters among its "
               "non-blank characters is below this value.",
       .value = real_value(cleaning(&CleaningOptions::min_letter_ratio), kShares),
       .role = {kUnrecorded, kInNone}},
      {.name = "max-repetition",
       .aliases = {},
       .group = kTools,
       .help = "For --mode prepare --task mlm: remove documents that repeat themselves. The value "
               "is the largest share of lines that also occur earlier in the document. At 0.3, the "
               "limits for lines and for runs of 2 to 10 words equal Gopher's (Rae et al. 2021). "
               "Other values change all limits in proportion.",
       .value = real_value(cleaning(&CleaningOptions::max_repetition),
                           {0, 10, true, true, "a number from 0 to 10"}),
       .role = {kUnrecorded, kInNone}},
      {.name = "drop-duplicates",
       .aliases = {},
       .group = kTools,
       .help = "For --mode prepare --task mlm: remove documents that are equal to an earlier one "
               "after normalization.",
       .value = switch_value(cleaning(&CleaningOptions::drops_duplicates)),
       .role = {kUnrecorded, kInNone}},
      {.name = "near-duplicate-threshold",
       .aliases = {},
       .group = kTools,
       .help = "For --mode prepare --task mlm: remove documents that share at least this much of "
               "their runs of 5 words with an earlier one (Jaccard similarity, estimated by "
               "MinHash).",
       .value = real_value(cleaning(&CleaningOptions::near_duplicate_threshold), kShares),
       .role = {kUnrecorded, kInNone}},
  };
}

}  // namespace berth
