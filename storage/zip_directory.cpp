#include "storage/zip_directory.h"

#include <cstddef>
#include <cstdint>

#include "storage/base/error.h"
#include "storage/base/text.h"

// A zip file (PKWARE's APPNOTE.TXT, 4.3):
//   entries | table of contents: a header for each entry | zip64 end record and its locator, where
//   a number does not fit the end record | end record | comment
namespace berth {
namespace {

constexpr std::string_view kEntry = "PK\3\4", kHeader = "PK\1\2", kEnd = "PK\5\6",
                           kEnd64 = "PK\6\6", kLocator = "PK\6\7";
constexpr size_t kHeaderSize = 46, kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20;

[[noreturn]] void corrupt(const std::string& what) {
  throw Error(Code::kCorrupt, what, "", "fetch or pack it again");
}

// Little endian. The bytes exist.
uint64_t number_at(std::string_view file, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(file[at + i]);
  return value;
}

// The end record of an archive, which says where the table of contents is.
struct EndRecord {
  uint64_t entries_here, entries, size, begin;
};

// `end` is where the end record begins. Moves it to where the zip64 end record begins, if there is
// one.
EndRecord read_end_record(std::string_view file, size_t& end) {
  const EndRecord record{number_at(file, end + 8, 2), number_at(file, end + 10, 2),
                         number_at(file, end + 12, 4), number_at(file, end + 16, 4)};
  if (record.entries != 0xFFFF && record.size != 0xFFFFFFFF && record.begin != 0xFFFFFFFF)
    return record;
  if (end < kLocatorSize || !file.substr(end - kLocatorSize).starts_with(kLocator)) return record;
  const uint64_t at = number_at(file, end - kLocatorSize + 8, 8);
  if (at > end - kLocatorSize || end - kLocatorSize - at < kEnd64Size ||
      !file.substr(at).starts_with(kEnd64)) {
    corrupt("has no zip64 end record where its locator says");
  }
  end = at;
  return {number_at(file, at + 24, 8), number_at(file, at + 32, 8), number_at(file, at + 40, 8),
          number_at(file, at + 48, 8)};
}

void require_table(std::string_view file, const EndRecord& record, size_t end) {
  if (record.begin > end || record.size != end - record.begin) {
    corrupt("has a table of contents of another size or place than its end record says");
  }
  std::string_view table = file.substr(record.begin, record.size);
  uint64_t entries = 0;
  for (; !table.empty(); ++entries) {
    if (table.size() < kHeaderSize || !table.starts_with(kHeader)) {
      corrupt(cat("has a damaged table of contents: header ", entries));
    }
    const uint64_t size =
        kHeaderSize + number_at(table, 28, 2) + number_at(table, 30, 2) + number_at(table, 32, 2);
    if (size > table.size()) corrupt(cat("has a damaged table of contents: header ", entries));
    table.remove_prefix(size);
  }
  if (record.entries != entries || record.entries_here != entries) {
    corrupt(cat("has ", entries, " entries, but its end record says ", record.entries));
  }
}

}  // namespace

void require_whole_zip(std::string_view file) {
  size_t end = file.size() < kEndSize ? file.npos : file.rfind(kEnd, file.size() - kEndSize);
  if (end == file.npos) corrupt("is not a whole zip archive");
  const uint64_t comment = number_at(file, end + 20, 2);
  if (end + kEndSize + comment != file.size() || (end > 0 && !file.starts_with(kEntry))) {
    corrupt("has bytes before or after the zip archive");
  }
  const EndRecord record = read_end_record(file, end);
  require_table(file, record, end);
}

}  // namespace berth
