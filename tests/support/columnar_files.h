#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/formats/row_readers.h"
#include "tests/support/bytes_in_memory.h"
#include "tests/support/cells_as_json.h"
#include "tests/support/drawn_seed.h"
#include "tests/support/every_damage.h"
#include "tests/support/pickle_files.h"

namespace berth {

// What the tests of Parquet, Arrow and NumPy share. A format is the name of an archive in
// tests/testdata with the files that a script in tests/record recorded, such as "parquet".

using MakeReader = std::unique_ptr<RowReader> (*)(std::unique_ptr<RandomAccessSource>);

inline std::string recorded_file(const std::string& format, const std::string& name) {
  return file_content(BERTH_TESTDATA "/" + format + "/" + name);
}

// The recorded files, by name.
inline std::vector<std::filesystem::path> recorded_files(const std::string& format) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(BERTH_TESTDATA "/" + format)) {
    if (entry.path().extension() != ".json") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

// Every recorded file must be read as expected.json says.
inline void expect_as_recorded(const std::string& format, MakeReader make_reader) {
  const OrderedJson expected = parse_ordered_json(recorded_file(format, "expected.json"));
  const auto paths = recorded_files(format);
  ASSERT_EQ(paths.size(), expected.size());
  for (const auto& path : paths) {
    try {
      const std::string file = file_content(path);
      const auto reader = make_reader(std::make_unique<BytesInMemory>(as_bytes(file)));
      const std::optional<uint64_t> rows = reader->rows_left();
      const OrderedJson table = json_of(*reader);
      EXPECT_EQ(to_text(table), to_text(expected[path.filename().string()])) << path;
      EXPECT_EQ(rows, table.front().at("cells").size()) << path;
      EXPECT_EQ(reader->rows_left(), 0u) << path;
    } catch (const Error& error) {
      ADD_FAILURE() << path << ": " << error.what();
    }
  }
}

// Reads the first rows of a file that may be damaged. They are not all of its rows, because a flip
// may claim any number of rows of nulls, which take no bytes.
inline void read_some_rows(MakeReader make_reader, Bytes file) {
  constexpr int kEnoughRows = 100;
  const auto reader = make_reader(std::make_unique<BytesInMemory>(file));
  Row row;
  for (int i = 0; i < kEnoughRows && reader->next(row); ++i) {
    if (row.size() != reader->columns().size()) ADD_FAILURE() << "a row of " << row.size();
  }
}

inline void expect_no_prefix_reads(const std::string& format, MakeReader make_reader) {
  const auto read = [=](Bytes file) { read_some_rows(make_reader, file); };
  for (const auto& path : recorded_files(format)) {
    const std::string file = file_content(path);
    EXPECT_THAT(accepted_prefixes(as_bytes(file), read, first_drawn(), kDrawnStride),
                testing::IsEmpty())
        << path;
  }
}

// With a flip in any one byte the file must read, or be an Error. Takes the drawn sixth of the
// bytes.
inline void flip_bytes(const std::filesystem::path& path, MakeReader make_reader) {
  const auto read = [=](Bytes file) { read_some_rows(make_reader, file); };
  std::string file = file_content(path);
  for (size_t at = first_drawn(); at < file.size(); at += kDrawnStride) {
    const char whole = file[at];
    const size_t damage = at / kDrawnStride % 9;
    file[at] = static_cast<char>(whole ^ (damage == 8 ? 0xFF : 1 << damage));
    accepts(read, as_bytes(file));
    file[at] = whole;
  }
}

// The name of a test of one file: "flat_lz4_arrow".
inline std::string test_name(const std::filesystem::path& path) {
  std::string name = path.filename().string();
  std::ranges::replace(name, '.', '_');
  return name;
}

}  // namespace berth
