#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entrypoint/job/token_survey.h"

namespace berth {
namespace {

TEST(RowTextTest, SaysWhatTheModelTakes) {
  const ShownRow row{.row = 7,
                     .texts = {"A goal", "\x1b[1m"},
                     .tokens = "[CLS] a goal [SEP]",
                     .token_count = 4,
                     .label = "\"sport\", class 3",
                     .cut = "2 of 6 tokens at --max-seq-length 4"};
  EXPECT_EQ(row_text(row),
            "row 7: \"A goal\" and \"\\x1b[1m\" becomes [CLS] a goal [SEP] (4 tokens); label: "
            "\"sport\", class 3; cut: 2 of 6 tokens at --max-seq-length 4");
  EXPECT_EQ(row_text({.row = 1, .tokens = "[CLS]", .token_count = 1, .label = "none"}),
            "row 1: [CLS] (1 token); label: none");
}

}  // namespace
}  // namespace berth
