// Reads damaged pickles. Each must give an Error or a clean table, and never a crash, a hang or a
// huge allocation.
#include <gmock/gmock.h>

#include "storage/formats/pickle.h"
#include "tests/support/drawn_seed.h"
#include "tests/support/pickle_files.h"
#include "tests/support/read_rows.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

bool is_data_error(const Error& error) {
  return error.code() == Code::kCorrupt || error.code() == Code::kBadData;
}

// The recorded files of one version of pandas. Each version is a case of its own, so that the cases
// can run at the same time.
// A case takes the drawn sixth of the places of a file. All places of all files take two minutes
// with AddressSanitizer.
class PickleDamage : public testing::TestWithParam<const char*> {
 protected:
  static std::vector<std::filesystem::path> files() {
    auto paths = recorded_pickles();
    std::erase_if(paths, [](const auto& path) {
      return !path.filename().string().starts_with(std::string("pandas") + GetParam());
    });
    return paths;
  }
};

TEST_P(PickleDamage, PrefixesAreErrors) {
  for (const auto& path : files()) {
    const std::string pickle = file_content(path);
    for (size_t size = first_drawn(); size < pickle.size(); size += kDrawnStride) {
      try {
        read_pickle(as_bytes(std::string_view(pickle).substr(0, size)));
        ADD_FAILURE() << path << " cut to " << size;
      } catch (const Error& error) {
        EXPECT_TRUE(is_data_error(error)) << path << " cut to " << size << ": " << error.what();
      }
    }
  }
}

// A damaged length or type may give another table. That table must be consistent.
void read_flipped(const std::string& pickle, const std::filesystem::path& path, size_t at) {
  try {
    const auto reader = read_pickle(as_bytes(pickle));
    for (const Row& row : read_rows(*reader)) EXPECT_EQ(row.size(), reader->columns().size());
  } catch (const Error& error) {
    EXPECT_TRUE(is_data_error(error)) << path << " flipped at " << at << ": " << error.what();
  }
}

TEST_P(PickleDamage, FlippedBytesReadOrAreErrors) {
  for (const auto& path : files()) {
    std::string pickle = file_content(path);
    for (size_t at = first_drawn(); at < pickle.size(); at += kDrawnStride) {
      const char whole = pickle[at];
      const size_t damage = at / kDrawnStride % 9;
      pickle[at] = static_cast<char>(whole ^ (damage == 8 ? 0xFF : 1 << damage));
      read_flipped(pickle, path, at);
      pickle[at] = whole;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, PickleDamage,
                         testing::Values("0.", "1.1", "1.3", "1.5", "2.2", "2.3", "3.0"));

TEST(DamagedPickle, DamageNamesTheByte) {
  const std::string pickle = file_content(BERTH_TESTDATA "/pickle/pandas2.3_text_label_p2.pickle");
  EXPECT_THAT([&] { read_pickle(as_bytes(std::string_view(pickle).substr(0, 100))); },
              ThrowsCode(Code::kCorrupt, "byte "));
}

TEST(DamagedPickle, AnotherKindOfFileIsNotAPickle) {
  for (const std::string_view other : {"text,label\n", "PK\3\4", "hello world, this is text"}) {
    EXPECT_THAT([&] { read_pickle(as_bytes(other)); },
                ThrowsCode(Code::kCorrupt, "is not a pickle, or is damaged"));
  }
}

}  // namespace
}  // namespace berth
