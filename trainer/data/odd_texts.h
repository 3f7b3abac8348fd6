#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/row_reader.h"

namespace berth {

// Looks at texts for what a program has left in them by mistake. They are read as they stand.
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
    kMojibake,
    kReplaced,
    kEscapes,
    kBytes,
    kQuotes,
    kNumbers,
    kMissing,
    kKinds
  };

  struct Found {
    size_t count = 0;
    std::string example{};
  };

  void count(Kind kind, std::string_view text);

  const bool are_texts_;
  size_t texts_ = 0;
  std::array<Found, kKinds> found_{};
};

}  // namespace berth
