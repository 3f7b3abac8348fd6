#include "trainer/loop/load_data.h"

#include <array>

#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/formats/row_reader.h"

namespace berth {
namespace {

// A source that its user still needs after the reader took ownership of it.
class BorrowedSource final : public ByteSource {
 public:
  explicit BorrowedSource(ByteSource& inner) : inner_(inner) {}
  size_t read(std::span<std::byte> buffer) override { return inner_.read(buffer); }

 private:
  ByteSource& inner_;
};

}  // namespace

LoadedTable load_table(Storage& storage, const std::string& role, const std::string& uri,
                       const ColumnChoice& columns, LabelNeed need) {
  const Uri location = Uri::parse(uri);
  LoadedTable loaded{.table = {}, .source = {.role = role, .uri = uri, .checksum = {}}};
  ChecksumSource stored(storage.open(location), loaded.source.checksum);
  try {
    const std::string name = location.file_name();
    const std::unique_ptr<RowReader> rows =
        open_rows(decompress(std::make_unique<BorrowedSource>(stored), compression_of(name)),
                  without_compression_suffix(name));
    loaded.table = read_text_table(*rows, columns, need);
    // What a reader left unread (bytes after a pickle's end) belongs to the file's checksum too.
    std::array<std::byte, 4096> rest;
    while (stored.read(rest) > 0) {
    }
  } catch (const Error& error) {
    if (error.where().starts_with(uri)) throw;  // storage's errors name it already
    throw error.at(uri);
  }
  return loaded;
}

}  // namespace berth
