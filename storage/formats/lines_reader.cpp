#include "storage/formats/lines_reader.h"

#include "storage/base/text.h"

namespace berth {

bool LinesReader::next(Row& row) {
  std::string_view line;
  do {
    if (!lines_.next(line)) return false;
  } while (trimmed(line).empty());
  row.resize(1);
  if (auto* held = std::get_if<std::string>(&row.front())) {
    held->assign(line);  // in the memory that it has
  } else {
    row.front() = std::string(line);
  }
  return true;
}

}  // namespace berth
