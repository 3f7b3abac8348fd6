#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entrypoint/modes/seeds.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::Key;

// The expected value is numpy.std([2, 4, 4, 4, 5, 5, 7, 9], ddof=1).
TEST(Spread, IsTheSampleStandardDeviation) {
  const Spread spread = spread_of({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(spread.mean, 5);
  EXPECT_DOUBLE_EQ(spread.std, 2.138089935299395);
}

TEST(Spreads, CoverEveryNumberThatAllSeedsHave) {
  const auto found = spreads(
      {R"({"eval": {"examples": 9, "loss": 0.5, "accuracy": 0.25, "f1": null, "per_class": {}},
           "eval_mm": {"accuracy": 1}, "finished": true})",
       R"({"eval": {"examples": 9, "loss": 1.5, "accuracy": 0.75, "f1": 1, "majority_rate": 0.5},
           "eval_mm": {"accuracy": 0}, "finished": true})"});
  EXPECT_THAT(found, ElementsAre(Key("accuracy"), Key("accuracy_mm"), Key("loss")));
  EXPECT_THAT(found.at("accuracy").values, ElementsAre(0.25, 0.75));
  EXPECT_EQ(found.at("loss").mean, 1);
  EXPECT_THAT([] { spreads({"[]"}); }, ThrowsCode(Code::kCorrupt, "not an object"));
}

TEST(SeedsJson, SaysMeanDeviationAndValues) {
  EXPECT_EQ(seeds_json(42, {{"f1", {.mean = 0.5, .std = 0.25, .values = {0.25, 0.75}}}}),
            "{\n  \"first_seed\": 42,\n  \"seeds\": {\n    \"f1\": {\n      \"mean\": 0.5,\n"
            "      \"std\": 0.25,\n      \"values\": [\n        0.25,\n        0.75\n      ]\n"
            "    }\n  },\n  \"finished\": true\n}\n");
}

}  // namespace
}  // namespace berth
