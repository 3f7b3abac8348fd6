#include "storage/base/crc32.h"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

TEST(Crc32, HasTheCheckValueOfItsCatalogue) {
  EXPECT_EQ(crc32(as_bytes("123456789")), 0xCBF43926u);
  EXPECT_EQ(crc32({}), 0u);
}

TEST(Crc32, EqualsTheTablesAtEveryLengthAndAlignment) {
  std::string text(600, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i * 31 + i);
  for (size_t size = 0; size < 560; ++size) {
    const Bytes bytes = as_bytes(text).subspan(size % 17, size);
    ASSERT_EQ(crc32(bytes), crc32_portable(bytes)) << size;
  }
}

TEST(Crc32, ContinuesFromAnEarlierChecksum) {
  const std::string text(1000, 'x');
  for (const size_t cut : {0, 1, 63, 64, 500, 1000}) {
    EXPECT_EQ(crc32(as_bytes(text).subspan(cut), crc32(as_bytes(text).first(cut))),
              crc32(as_bytes(text)));
  }
}

}  // namespace
}  // namespace berth
