#include "trainer/loop/load_data.h"

#include <algorithm>
#include <array>

#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/expand.h"
#include "storage/formats/row_reader.h"
#include "storage/formats/tfrecord.h"
#include "trainer/data/token_rows.h"

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

Source append_file(Storage& storage, const Uri& file, const std::string& role,
                   TextTableReader& table) {
  Source source{.role = role, .uri = file.to_string(), .checksum = {}};
  try {
    ChecksumSource stored(storage.open(file), source.checksum);
    const std::string name = file.file_name();
    const std::string_view plain_name = without_compression_suffix(name);
    auto content = decompress(std::make_unique<BorrowedSource>(stored), compression_of(name));
    table.append(names_records(plain_name) ? *make_token_row_reader(std::move(content))
                                           : *open_rows(std::move(content), plain_name));
    // What a reader left unread (bytes after a pickle's end) belongs to the file's checksum too.
    std::array<std::byte, 4096> rest;
    while (stored.read(rest) > 0) {
    }
  } catch (const Error& error) {
    if (error.where().starts_with(source.uri)) throw;  // storage's errors name it already
    throw error.at(source.uri);
  }
  return source;
}

}  // namespace

std::vector<Uri> table_files(Storage& storage, const std::string& path) {
  return expand(storage, Uri::parse(path), [](std::string_view name) {
    const std::string_view plain = without_compression_suffix(name);
    return is_table(plain) || names_records(plain);
  });
}

LoadedTable load_table(Storage& storage, const std::string& role, const std::string& path,
                       const ColumnChoice& columns, LabelNeed need) {
  LoadedTable loaded{.table = {}, .name = Uri::parse(path).to_string(), .sources = {}};
  TextTableReader table(columns, need);
  const std::vector<Uri> files = table_files(storage, path);
  const auto holds_ids = [](const Uri& file) {
    return names_records(without_compression_suffix(file.file_name()));
  };
  const auto with_ids = std::count_if(files.begin(), files.end(), holds_ids);
  if (with_ids > 0 && with_ids < static_cast<ptrdiff_t>(files.size())) {
    throw Error(Code::kBadData, "has TFRecords beside files of texts", path,
                "give one kind at a time");
  }
  for (const Uri& file : files) {
    loaded.sources.push_back(append_file(storage, file, role, table));
  }
  try {
    loaded.table = table.finish();
    loaded.table.holds_token_ids = with_ids > 0;
  } catch (const Error& error) {
    throw error.at(path);
  }
  if (loaded.sources.size() > 1) {
    log_info(cat("read ", loaded.table.rows(), " rows of ", loaded.sources.size(),
                 " files: ", loaded.sources.front().uri, " to ", loaded.sources.back().uri));
  }
  return loaded;
}

}  // namespace berth
