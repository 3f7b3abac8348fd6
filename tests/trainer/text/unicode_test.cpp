#include "trainer/text/unicode.h"

#include <gmock/gmock.h>

namespace berth {
namespace {

using testing::ElementsAre;

TEST(UnicodeTest, DecompositionIsFullAndOrdered) {
  const Characters parts = decompose(0x1E69);  // s with dot below and dot above
  ASSERT_EQ(parts.count, 3u);
  EXPECT_THAT(parts.items, ElementsAre('s', 0x323, 0x307, 0));
  EXPECT_EQ(decompose(0xAC01).count, 3u);
}

TEST(UnicodeTest, LowerCaseIsOfTheCharacterAlone) {
  EXPECT_EQ(lower_case(U'Σ').items[0], U'σ');
  EXPECT_EQ(lower_case(0x130).count, 2u);
  EXPECT_EQ(lower_case(0x130).items[1], char32_t{0x307});
  // utf8proc does not know this character.
  EXPECT_EQ(lower_case(0x16EA0).items[0], char32_t{0x16EBB});
}

}  // namespace
}  // namespace berth
