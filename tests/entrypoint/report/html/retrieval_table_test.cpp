#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "entrypoint/report/html/job_page.h"

namespace berth {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(MissedQueryTable, ShowsWhatWasWantedAndWhatCameFirst) {
  const std::string table = missed_query_table(std::vector<MissedQuery>{
      {.id = "q7",
       .query = "<b>who</b>",
       .wanted_id = "d1",
       .wanted = "the <i>wanted</i> one",
       .rank = 12,
       .first_id = "d2",
       .first = "another",
       .ndcg = 0.25},
      {.id = "q8", .query = "what", .wanted_id = "d3", .wanted = "this", .ndcg = 0}});
  EXPECT_THAT(table, HasSubstr("&lt;b&gt;who&lt;/b&gt;"));
  EXPECT_THAT(table, HasSubstr("the &lt;i&gt;wanted&lt;/i&gt; one"));
  EXPECT_THAT(table, Not(HasSubstr("<b>")));
  EXPECT_THAT(table, HasSubstr(">12</td>"));
  EXPECT_THAT(table, HasSubstr(">above 100</td>"));
}

TEST(MissedQueryTable, IsEmptyWhereEverythingIsFound) { EXPECT_EQ(missed_query_table({}), ""); }

}  // namespace
}  // namespace berth
