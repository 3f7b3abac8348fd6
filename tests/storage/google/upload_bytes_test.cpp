#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "storage/google/gcs_upload.h"

namespace berth {
namespace {

std::string text_of(const std::vector<Bytes>& pieces) {
  std::string text;
  for (const Bytes piece : pieces) text += as_text(piece);
  return text;
}

// Three copied pieces, of which two are adjacent, and two lent pieces.
class UploadBytesTest : public testing::Test {
 protected:
  UploadBytesTest() {
    bytes_.copy(as_bytes("ab"));
    bytes_.copy(as_bytes("cd"));
    bytes_.lend(as_bytes(first_));
    bytes_.copy(as_bytes("hi"));
    bytes_.lend(as_bytes(second_));
    bytes_.lend({});
    bytes_.copy({});
  }

  const std::string first_ = "efg", second_ = "jk";
  UploadBytes bytes_;
};

TEST_F(UploadBytesTest, AreInOrderFromAnyOffset) {
  const std::string all = "abcdefghijk";
  ASSERT_EQ(bytes_.size(), all.size());
  for (size_t offset = 0; offset <= all.size(); ++offset) {
    EXPECT_EQ(text_of(bytes_.from(offset)), all.substr(offset)) << offset;
  }
}

TEST_F(UploadBytesTest, LentOnesAreNotCopied) {
  const std::vector<Bytes> pieces = bytes_.from(5);
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].data(), as_bytes(first_).data() + 1);
  EXPECT_EQ(pieces[2].data(), as_bytes(second_).data());
}

TEST_F(UploadBytesTest, AreSplitAnywhereAndGrowOnBothSides) {
  const std::string all = "abcdefghijk";
  for (size_t size = 0; size <= all.size() + 1; ++size) {
    UploadBytes front = bytes_, rest;
    rest.copy(as_bytes("replaced"));
    front.split(size, rest);
    front.copy(as_bytes("+"));
    rest.copy(as_bytes("-"));
    EXPECT_EQ(text_of(front.from(0)), all.substr(0, size) + "+") << size;
    EXPECT_EQ(text_of(rest.from(0)), all.substr(std::min(size, all.size())) + "-") << size;
    EXPECT_EQ(front.size() + rest.size(), all.size() + 2);
  }
}

}  // namespace
}  // namespace berth
