// Pickles that pandas wrote, some in old layouts. Each must be read as pandas reads it.
#include <gmock/gmock.h>

#include "storage/base/json.h"
#include "storage/formats/pickle.h"
#include "tests/support/cells_as_json.h"
#include "tests/support/pickle_files.h"
#include "tests/support/read_rows.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

TEST(PickleGolden, EveryRecordedFileReadsAsPandasReadsIt) {
  const OrderedJson expected =
      parse_ordered_json(file_content(BERTH_TESTDATA "/pickle/expected.json"));
  const auto paths = recorded_pickles();
  ASSERT_EQ(paths.size(), expected.size());
  for (const auto& path : paths) {
    const std::string pickle = file_content(path);
    try {
      const auto reader = read_pickle(as_bytes(pickle));
      EXPECT_EQ(to_text(json_of(*reader)), to_text(expected[path.filename().string()])) << path;
    } catch (const Error& error) {
      ADD_FAILURE() << path << ": " << error.what();
    }
  }
}

TEST(PickleGolden, TheReaderKeepsWhatItNeedsOfThePickle) {
  std::string pickle = file_content(BERTH_TESTDATA "/pickle/pandas2.3_text_label_p5.pickle");
  const auto reader = read_pickle(as_bytes(pickle));
  std::fill(pickle.begin(), pickle.end(), '\xFF');
  EXPECT_EQ(read_rows(*reader).at(0).at(0), text("plain"));
}

TEST(PickleGolden, PositionIsTheRowFromZero) {
  const std::string pickle = file_content(BERTH_TESTDATA "/pickle/pandas2.3_text_label_p5.pickle");
  const auto reader = read_pickle(as_bytes(pickle));
  Row row;
  reader->next(row);
  reader->next(row);
  EXPECT_EQ(reader->position(), "row 1");
}

TEST(PickleGolden, BytesBehindTheEndAreIgnored) {
  const std::string pickle =
      file_content(BERTH_TESTDATA "/pickle/pandas2.3_text_label_p2.pickle") + "rest";
  EXPECT_EQ(read_rows(*read_pickle(as_bytes(pickle))).size(), 5u);
}

}  // namespace
}  // namespace berth
