// Reads damaged Arrow files. Each must give an Error or a clean table, and never a crash, a hang or
// a huge allocation.
#include <gmock/gmock.h>

#include "tests/support/columnar_files.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

void read(Bytes file) { read_some_rows(make_arrow_reader, file); }

TEST(ArrowDamage, EveryPrefixIsAnError) { expect_no_prefix_reads("arrow", make_arrow_reader); }

// Each file is a case of its own, so that the cases can run at the same time.
class FlippedArrow : public testing::TestWithParam<std::filesystem::path> {};

INSTANTIATE_TEST_SUITE_P(Files, FlippedArrow, testing::ValuesIn(recorded_files("arrow")),
                         [](const auto& file) { return test_name(file.param); });

TEST_P(FlippedArrow, ReadsOrIsAnError) { flip_every_byte(GetParam(), make_arrow_reader); }

TEST(ArrowDamage, AStreamWithMoreBehindItsEndIsCorrupt) {
  const std::string file = recorded_file("arrow", "flat.arrows");
  EXPECT_THAT([&] { read(as_bytes(file + file)); },
              ThrowsCode(Code::kCorrupt, "bytes behind the stream's end"));
}

TEST(ArrowDamage, ErrorsNameTheRowAndTheColumn) {
  std::string file = recorded_file("arrow", "flat.arrow");
  size_t at = 0, damaged = 0;  // a buffer may also hold texts of other batches
  for (; (at = file.find("caf\xC3\xA9", at)) != std::string::npos; ++damaged) file[at + 3] = '\xFF';
  ASSERT_GT(damaged, 0u);
  EXPECT_THAT([&] { read(as_bytes(file)); },
              ThrowsCode(Code::kBadData, "row 3: column \"text\": is not UTF-8"));
}

}  // namespace
}  // namespace berth
