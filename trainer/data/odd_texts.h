#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/row_reader.h"

namespace berth {

// Looks at texts for what a program has left in them by mistake. They are read as they stand. Not
// thread-safe.
class OddTexts {
 public:
  // `are_texts`: of a file without types (RowReader::is_of_texts).
  explicit OddTexts(bool are_texts) : are_texts_(are_texts) {}

  void add(std::string_view text);
  // A warning for each kind that many texts have. `column` is their name.
  std::vector<Finding> findings(const std::string& column) const;

 private:
  enum Kind {
    kEntities,
    kTags,
    kMarkup,
    kMojibake,
    kIso2022,
    kHz,
    kUtf7,
    kReplaced,
    kEscapes,
    kControls,
    kSpecialTokens,
    kGuards,
    kSpaced,
    kBytes,
    kQuotes,
    kNumbers,
    kDates,
    kFileNames,
    kEncoded,
    kIds,
    kHashes,
    kEllipses,
    kMissingWords,
    kKinds
  };

  struct Found {
    size_t count = 0;
    std::string example{};
    size_t place = 0;  // of the example among the texts, from 1
  };

  void count(Kind kind, std::string_view text);
  void look_at_encoding(std::string_view text);
  bool are_many(Kind kind) const;

  const bool are_texts_;
  size_t texts_ = 0, beyond_ascii_ = 0;
  size_t longest_ = 0, as_long_ = 0;  // in characters, and how many texts have this length
  std::array<Found, kKinds> found_{};
};

// Whether the text has one of HTML's entities: "&amp;", "&#39;".
bool has_entity(std::string_view text);
// Whether the text has a control character that is no blank.
bool has_control(std::string_view text);
// Whether it is a day, or a time of a day: "2024-01-31", "31.1.2024 12:30", "1/31/24",
// "2024-01-31T12:30:00Z".
bool is_date(std::string_view text);

}  // namespace berth
