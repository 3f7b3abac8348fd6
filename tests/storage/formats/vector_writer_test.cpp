#include "storage/formats/vector_writer.h"

#include <gtest/gtest.h>

#include <bit>

#include "storage/base/bytes.h"
#include "storage/base/text.h"
#include "storage/formats/row_readers.h"
#include "tests/support/bytes_in_memory.h"
#include "tests/support/read_rows.h"

namespace berth {
namespace {

using Make = std::unique_ptr<VectorWriter> (*)(ByteSink&, const VectorTable&);

struct TestRow {
  uint64_t number;
  std::string id;
  std::vector<float> vector;
};

std::string written(Make make, const std::vector<TestRow>& rows, bool has_ids = false) {
  MemorySink sink;
  const auto writer =
      make(sink, {.rows = rows.size(), .width = rows.at(0).vector.size(), .has_ids = has_ids});
  for (const TestRow& row : rows) {
    writer->add({.number = row.number, .id = row.id, .vector = row.vector});
  }
  writer->finish();
  return std::string(as_text(sink.written));
}

TEST(NpyWriter, WritesTheBytesOfNumpy) {
  // numpy.save() of numpy.arange(6, dtype="float32").reshape(2, 3).
  std::string expected("\x93NUMPY\x01\x00v\x00", 10);
  expected += "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  expected.append(127 - expected.size(), ' ').append("\n");
  for (const float value : {0.f, 1.f, 2.f, 3.f, 4.f, 5.f}) {
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8)
      expected.push_back(static_cast<char>(bits >> shift));
  }
  EXPECT_EQ(written(make_npy_writer, {{0, "", {0, 1, 2}}, {1, "", {3, 4, 5}}}), expected);
}

TEST(NpyWriter, StoresWholeNumbersInEightBits) {
  for (const auto& [numbers, type, values] :
       {std::tuple(VectorNumbers::kInt8, "|i1", std::vector<float>{-128, 0, 127}),
        std::tuple(VectorNumbers::kUint8, "|u1", std::vector<float>{0, 128, 255})}) {
    MemorySink sink;
    make_npy_writer(sink, {.rows = 1, .width = 3, .numbers = numbers})->add({.vector = values});
    const std::string file(as_text(sink.written));
    EXPECT_NE(file.find(type), file.npos) << file;
    ASSERT_EQ(file.size(), 128u + 3);
    for (size_t i = 0; i < 3; ++i) {
      const char byte = file[128 + i];
      const int value = numbers == VectorNumbers::kInt8 ? static_cast<signed char>(byte)
                                                        : static_cast<unsigned char>(byte);
      EXPECT_EQ(value, static_cast<int>(values[i]));
    }
  }
}

TEST(NpyWriter, NumbersBeginAtAMultipleOf64Bytes) {
  for (const size_t width : {1u, 10u, 768u, 100'000u}) {
    const std::string file = written(make_npy_writer, {{0, "", std::vector<float>(width)}});
    EXPECT_EQ((file.size() - 4 * width) % 64, 0u) << width;
    EXPECT_EQ(file[file.size() - 4 * width - 1], '\n') << width;
  }
}

TEST(VectorLinesWriter, NumbersAreAsShortAsTheyCanBe) {
  EXPECT_EQ(written(make_vector_lines_writer,
                    {{7, "", {0.1f, -2, 1e-30f}}, {9, "a \"b\"", {16777216, 0.5f, 3}}}),
            "{\"id\": 7, \"embedding\": [0.1, -2, 1e-30]}\n"
            "{\"id\": \"a \\\"b\\\"\", \"embedding\": [16777216, 0.5, 3]}\n");
}

TEST(VectorLinesWriter, AnIdThatIsNotUtf8IsRepaired) {
  EXPECT_EQ(written(make_vector_lines_writer, {{0, "a\xFF", {1}}}),
            "{\"id\": \"a\xEF\xBF\xBD\", \"embedding\": [1]}\n");
}

std::unique_ptr<RowReader> read_back(const std::string& file) {
  return make_parquet_reader(std::make_unique<BytesInMemory>(as_bytes(file)));
}

TEST(VectorTableWriter, WritesWhatIsReadBack) {
  const std::string file =
      written(make_vector_table_writer, {{3, "x", {0.5f, -1}}, {4, "", {2, 4}}}, /*has_ids=*/true);
  const auto reader = read_back(file);
  EXPECT_EQ(column_names(*reader), (std::vector<std::string>{"id", "embedding"}));
  const std::vector<Row> rows = read_rows(*reader);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0][0], text("x"));
  EXPECT_EQ(rows[1][0], text("4"));
  EXPECT_EQ(rows[0][1], text("[0.5,-1.0]"));
  EXPECT_EQ(rows[1][1], text("[2.0,4.0]"));
}

TEST(VectorTableWriter, NumbersMayBeIds) {
  const auto reader = read_back(written(make_vector_table_writer, {{5, "", {1}}, {8, "", {2}}}));
  const std::vector<Row> rows = read_rows(*reader);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1][0], Cell(int64_t{8}));
  EXPECT_EQ(rows[1][1], text("[2.0]"));
}

// The writer begins a page after 1 MiB of values, and a row group after 16 MiB.
TEST(VectorTableWriter, RowsMayFillSeveralPagesAndRowGroups) {
  constexpr size_t kWidth = 4096, kRows = 2200;  // 34 MiB
  MemorySink sink;
  const auto writer = make_vector_table_writer(sink, {.rows = kRows, .width = kWidth});
  std::vector<float> vector(kWidth);
  for (size_t row = 0; row < kRows; ++row) {
    vector[0] = static_cast<float>(row);
    writer->add({.number = 2 * row, .vector = vector});
  }
  writer->finish();
  const std::string file(as_text(sink.written));
  const auto reader = read_back(file);
  const size_t id = find_column(reader->columns(), "id").value();
  reader->select(std::array{id});
  const std::vector<Row> rows = read_rows(*reader);
  ASSERT_EQ(rows.size(), kRows);
  for (size_t row = 0; row < kRows; ++row) {
    ASSERT_EQ(rows[row][id], Cell(static_cast<int64_t>(2 * row)));
  }
}

TEST(VectorTableWriter, NoRowsAreATable) {
  MemorySink sink;
  const auto writer = make_vector_table_writer(sink, {.rows = 0, .width = 3});
  writer->finish();
  const std::string file(as_text(sink.written));
  EXPECT_TRUE(read_rows(*read_back(file)).empty());
}

}  // namespace
}  // namespace berth
