#include "entrypoint/platform/cluster_environment.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

std::string describe(const ClusterPlace& place) {
  const auto number = [](const std::optional<int64_t>& value) {
    return value ? std::to_string(*value) : std::string("-");
  };
  return number(place.rank) + " of " + number(place.size) + " at " + place.leader_host + ":" +
         number(place.leader_port) + (place.other_role.empty() ? "" : " as " + place.other_role);
}

std::string by_tf_config(const std::string& json) {
  return describe(cluster_of({.tf_config = json}));
}

const std::string kCluster =
    R"("cluster":{"chief":["c-0:2222"],"worker":["w-0:2222","w-1:2222"],"ps":["p-0:2222"],)"
    R"("evaluator":["e-0:2222"]})";

TEST(ClusterEnvironment, ReadsTensorFlowsClusters) {
  const auto as = [](const std::string& task) {
    return by_tf_config("{" + kCluster + ",\"task\":" + task + "}");
  };
  EXPECT_EQ(as(R"({"type":"chief","index":0})"), "0 of 3 at c-0:2222");
  EXPECT_EQ(as(R"({"type":"worker","index":0})"), "1 of 3 at c-0:2222");
  EXPECT_EQ(as(R"({"type":"worker","index":"1"})"), "2 of 3 at c-0:2222");
  EXPECT_EQ(as(R"({"type":"ps","index":0})"), "- of - at c-0:2222 as ps");
  EXPECT_EQ(as(R"({"type":"evaluator","index":0})"), "- of - at c-0:2222 as evaluator");
  EXPECT_EQ(
      by_tf_config(R"({"cluster":{"worker":["a:1","b:2"]},"task":{"type":"worker","index":1}})"),
      "1 of 2 at a:1");
  EXPECT_EQ(by_tf_config(
                R"({"cluster":{"master":["[::1]:9"],"worker":["b:2"]},"task":{"type":"master"}})"),
            "0 of 2 at ::1:9");
}

TEST(ClusterEnvironment, ReadsVertexPools) {
  const auto as = [](const std::string& task) {
    return describe(cluster_of(
        {.cluster_spec =
             R"({"cluster":{"workerpool0":["a-0:2222"],"workerpool1":["b-0:2222","b-1:2222"],)"
             R"("workerpool2":["r:2222"]},"environment":"cloud","task":)" +
             task + "}"}));
  };
  EXPECT_EQ(as(R"({"type":"workerpool0","index":0,"trial":"7"})"), "0 of 3 at a-0:2222");
  EXPECT_EQ(as(R"({"type":"workerpool1","index":1})"), "2 of 3 at a-0:2222");
  EXPECT_EQ(as(R"({"type":"workerpool2","index":0})"), "- of - at a-0:2222 as workerpool2");
}

TEST(ClusterEnvironment, ReadsLaunchers) {
  EXPECT_EQ(
      describe(cluster_of(
          {.rank = "2", .world_size = "4", .master_addr = "job-master-0", .master_port = "23456"})),
      "2 of 4 at job-master-0:23456");
  EXPECT_EQ(describe(cluster_of({.node_rank = "1",
                                 .nodes = "2",
                                 .node_master_addr = "job-node-0-0.job",
                                 .node_master_port = "29500"})),
            "1 of 2 at job-node-0-0.job:29500");
  EXPECT_EQ(describe(cluster_of({.mpi_rank = "3", .mpi_size = "8"})), "3 of 8 at :-");
  EXPECT_EQ(describe(cluster_of({.completion_index = "5"})), "5 of - at :-");
  EXPECT_EQ(describe(cluster_of({})), "- of - at :-");
}

TEST(ClusterEnvironment, PassesOverWhatIsNoCluster) {
  for (const char* json :
       {"", "{", "[]", "{}", R"({"task":{"type":"worker","index":0}})",
        R"({"cluster":{"worker":"a:1"},"task":{"type":"worker"}})", R"({"cluster":[],"task":{}})",
        R"({"cluster":{"worker":[1]},"task":{"type":3}})",
        R"({"environment":"cloud","task":{"trial":"7"}})"}) {
    EXPECT_EQ(by_tf_config(json), "- of - at :-") << json;
  }
  EXPECT_EQ(describe(cluster_of({.rank = "x", .world_size = "4"})), "- of - at :-");
  EXPECT_EQ(describe(cluster_of({.rank = "1", .world_size = "0"})), "- of - at :-");
  EXPECT_EQ(describe(cluster_of({.rank = "1"})), "- of - at :-");
  EXPECT_EQ(describe(cluster_of({.node_rank = "0", .nodes = "1:4"})), "- of - at :-");
}

}  // namespace
}  // namespace berth
