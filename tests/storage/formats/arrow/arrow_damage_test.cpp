// Reads damaged Arrow files. Each must give an Error or a clean table, and never a crash, a hang or
// a huge allocation.
#include <gmock/gmock.h>

#include "storage/formats/row_readers.h"
#include "tests/support/arrow_files.h"
#include "tests/support/bytes_in_memory.h"
#include "tests/support/every_damage.h"
#include "tests/support/pickle_files.h"
#include "tests/support/read_rows.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

// A flip may claim any number of rows of nulls, which take no bytes.
constexpr int kEnoughRows = 100;

void read(Bytes file) {
  const auto reader = make_arrow_reader(std::make_unique<BytesInMemory>(file));
  Row row;
  for (int i = 0; i < kEnoughRows && reader->next(row); ++i) {
    if (row.size() != reader->columns().size()) ADD_FAILURE() << "a row of " << row.size();
  }
}

TEST(ArrowDamage, EveryPrefixIsAnError) {
  for (const auto& path : recorded_arrow_files()) {
    const std::string file = file_content(path);
    EXPECT_THAT(accepted_prefixes(as_bytes(file), read), testing::IsEmpty()) << path;
  }
}

// Each file is a case of its own, so that the cases can run at the same time.
class FlippedArrow : public testing::TestWithParam<std::filesystem::path> {};

INSTANTIATE_TEST_SUITE_P(Files, FlippedArrow, testing::ValuesIn(recorded_arrow_files()),
                         [](const auto& file) {
                           std::string name = file.param.filename().string();
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST_P(FlippedArrow, ReadsOrIsAnError) {
  std::string file = file_content(GetParam());
  for (size_t at = 0; at < file.size(); ++at) {
    const char whole = file[at];
    file[at] = static_cast<char>(whole ^ (at % 9 == 8 ? 0xFF : 1 << (at % 9)));
    accepts(read, as_bytes(file));
    file[at] = whole;
  }
}

TEST(ArrowDamage, AStreamWithMoreBehindItsEndIsCorrupt) {
  const std::string file = file_content(BERTH_TESTDATA "/arrow/flat.arrows");
  EXPECT_THAT([&] { read(as_bytes(file + file)); },
              ThrowsCode(Code::kCorrupt, "bytes behind the stream's end"));
}

TEST(ArrowDamage, ErrorsNameTheRowAndTheColumn) {
  std::string file = file_content(BERTH_TESTDATA "/arrow/flat.arrow");
  size_t at = 0, damaged = 0;  // a buffer may also hold texts of other batches
  for (; (at = file.find("caf\xC3\xA9", at)) != std::string::npos; ++damaged) file[at + 3] = '\xFF';
  ASSERT_GT(damaged, 0u);
  EXPECT_THAT([&] { read(as_bytes(file)); },
              ThrowsCode(Code::kBadData, "row 3: column \"text\": is not UTF-8"));
}

}  // namespace
}  // namespace berth
