// Damaged and hostile files of numpy. Each must give an Error or a clean table, and never a crash,
// a hang or a huge allocation.
#include <gmock/gmock.h>

#include "tests/support/columnar_files.h"
#include "tests/support/stored_zip_bytes.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

void read(std::string_view file) { read_some_rows(make_numpy_reader, as_bytes(file)); }

std::string npy(const std::string& literal, const std::string& data) {
  return std::string("\x93NUMPY\1\0", 8) + pickled::little_endian(literal.size(), 2) + literal +
         data;
}

std::string array(const std::string& type, const std::string& shape, const std::string& data) {
  return npy("{'descr': " + type + ", 'fortran_order': False, 'shape': " + shape + ", }\n", data);
}

std::string ordinary() { return array("'|u1'", "(2,)", "ab"); }

TEST(NumpyDamage, PrefixesAreErrors) { expect_no_prefix_reads("numpy", make_numpy_reader); }

class FlippedNumpy : public testing::TestWithParam<std::filesystem::path> {};

INSTANTIATE_TEST_SUITE_P(Files, FlippedNumpy, testing::ValuesIn(recorded_files("numpy")),
                         [](const auto& file) { return test_name(file.param); });

TEST_P(FlippedNumpy, ReadsOrIsAnError) { flip_bytes(GetParam(), make_numpy_reader); }

TEST(NumpyDamage, AChecksumFindsAFlipInAStoredAndInADeflatedArray) {
  std::string stored = recorded_file("numpy", "texts.npz");
  stored[stored.find('p', stored.find("\n", 0))] ^= 1;  // of the first text, "plain"
  EXPECT_THAT([&] { read(stored); }, ThrowsCode(Code::kCorrupt, "CRC-32"));
  std::string deflated = recorded_file("numpy", "deflated.npz");
  const size_t directory = deflated.find("PK\1\2");
  deflated[directory + 16] ^= 1;  // the CRC-32 that is told
  EXPECT_THAT([&] { read_some_rows(make_numpy_reader, as_bytes(deflated)); },
              testing::Not(testing::Throws<Error>()));  // not all rows were read
  EXPECT_THAT(
      [&] {
        const auto reader = make_numpy_reader(std::make_unique<BytesInMemory>(as_bytes(deflated)));
        for (Row row; reader->next(row);) {
        }
      },
      ThrowsCode(Code::kCorrupt, "CRC-32"));
}

TEST(NumpyDamage, AnOrdinaryArrayIsRead) { EXPECT_NO_THROW(read(ordinary())); }

TEST(NumpyDamage, AnotherKindOfFileIsRefused) {
  EXPECT_THAT([] { read("text,label\na,b\n"); },
              ThrowsCode(Code::kCorrupt, "does not begin as a .npy file does"));
  EXPECT_THAT(
      [] {
        read(stored_zip({{"word/document.xml", "<w/>"}}));
      },
      ThrowsCode(Code::kBadData, "\"word/document.xml\": is no array"));
}

TEST(NumpyDamage, ASizeThatTheFileDoesNotHoldTakesNoMemory) {
  for (const std::string shape : {"(1000000000000,)", "(18446744073709551615,)", "(3,)", "(1,)",
                                  "(0,)", "(4611686018427387904, 4)"}) {
    EXPECT_THAT([&] { read(array("'<i8'", shape, std::string(16, '\0'))); },
                ThrowsCode(Code::kCorrupt, "holds 16 bytes of an array"));
  }
  EXPECT_THAT([] { read(array("'<U500000000'", "(1,)", "")); },
              ThrowsCode(Code::kBadData, "rows of more than 64 MiB"));
  EXPECT_THAT([] { read(array("'<i8'", "(18446744073709551616,)", "")); },
              ThrowsCode(Code::kCorrupt, "no shape"));
  EXPECT_THAT([] { read(array("'|u1'", "(9, 0)", "")); },
              ThrowsCode(Code::kBadData, "empty lists"));
}

TEST(NumpyDamage, ArraysThatAreNoColumnsAreRefused) {
  EXPECT_THAT([] { read(array("'|u1'", "()", "a")); }, ThrowsCode(Code::kBadData, "0 dimensions"));
  EXPECT_THAT([] { read(array("'|u1'", "(1, 1, 1)", "a")); },
              ThrowsCode(Code::kBadData, "3 dimensions"));
  EXPECT_THAT([] { read(array("[('a', '|O')]", "(1,)", "a")); },
              ThrowsCode(Code::kBadData, "\"a\" is a Python object"));
  EXPECT_THAT([] { read(array("[('a', '|u1', (2,))]", "(1,)", "ab")); },
              ThrowsCode(Code::kBadData, "\"a\" is an array"));
  EXPECT_THAT([] { read(array("[]", "(1,)", "")); }, ThrowsCode(Code::kBadData, "without fields"));
  for (const char* type : {"'<x8'", "'<i3'", "'<U'", "'|S0'", "''"}) {
    EXPECT_THAT([&] { read(array(type, "(1,)", "a")); }, ThrowsCode(Code::kBadData, "of dtype"));
  }
  const std::string fortran = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 1)}";
  EXPECT_THAT([&] { read(npy(fortran, "ab")); }, ThrowsCode(Code::kBadData, "Fortran"));
}

TEST(NumpyDamage, ColumnsOfDifferentLengthsAreRefused) {
  const std::string longer = array("'|u1'", "(3,)", "abc");
  EXPECT_THAT(
      [&] {
        read(stored_zip({{"a.npy", ordinary()}, {"b.npy", longer}}));
      },
      ThrowsCode(Code::kBadData, "entry \"b.npy\": has 3 rows, but the arrays before it have 2"));
}

TEST(NumpyDamage, APickleMayOnlyHoldObjects) {
  using namespace pickled;
  const std::string call = global("os", "system") + tuple(unicode("true")) + "R.";
  EXPECT_THAT([&] { read(array("'|O'", "(1,)", "\x80\x02" + call)); },
              ThrowsCode(Code::kBadData, "os.system"));
  EXPECT_THAT([&] { read(array("'|O'", "(1,)", "\x80\x02" + list(unicode("a")) + ".")); },
              ThrowsCode(Code::kBadData, "in place of an array"));
}

TEST(NumpyDamage, ErrorsNameTheRowAndTheColumn) {
  const std::string surrogate("a\0\0\0\0\xD8\0\0", 8);
  EXPECT_THAT(
      [&] {
        read(stored_zip({{"t.npy", array("'<U1'", "(2,)", surrogate)}}));
      },
      ThrowsCode(Code::kBadData, "row 1: column \"t\""));
}

}  // namespace
}  // namespace berth
