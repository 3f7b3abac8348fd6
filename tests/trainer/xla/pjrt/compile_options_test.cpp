#include "trainer/xla/pjrt/compile_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/throws_code.h"

namespace berth {
namespace {

using namespace std::string_literals;

// The bytes that jax writes for one replica and one partition.
TEST(CompileOptions, OneReplica) {
  EXPECT_EQ(serialized({}),
            "\x1a\x0f\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x01"s);
}

TEST(CompileOptions, ManyReplicasTakeALongerVarint) {
  EXPECT_EQ(serialized({.replicas = 127}).substr(13, 2), "\x20\x7f"s);
  EXPECT_EQ(serialized({.replicas = 300}).substr(0, 2), "\x1a\x10"s);
  EXPECT_EQ(serialized({.replicas = 300}).substr(13), "\x20\xac\x02\x28\x01"s);
}

TEST(CompileOptions, Flags) {
  const std::string one = serialized({});
  const auto flag = [&](bool value) {
    return serialized({.flags = {{"k", value}}}).substr(one.size());
  };
  EXPECT_EQ(flag(true), "\x3a\x07\x0a\x01k\x12\x02\x10\x01"s);
  EXPECT_EQ(flag(false), "\x3a\x07\x0a\x01k\x12\x02\x10\x00"s);
}

TEST(CompileOptions, LongNamesTakeALongerLength) {
  const std::string name(200, 'x');
  const std::string bytes = serialized({.flags = {{name, true}}}).substr(serialized({}).size());
  EXPECT_EQ(bytes.substr(0, 6), "\x3a\xcf\x01\x0a\xc8\x01"s);
  EXPECT_EQ(bytes.size(), 3u + 0xcf);
}

// As xla.CompileOptionsProto's parser reads it: replica_count 2, computation_count 1, and the ids.
TEST(CompileOptions, DevicesOfReplicas) {
  const std::string assigned = serialized({.replicas = 2, .device_ids = {2, 300}});
  EXPECT_EQ(assigned.substr(assigned.size() - 13),
            "\x4a\x0b\x08\x02\x10\x01\x1a\x05\x08\x02\x08\xac\x02"s);
  EXPECT_THAT([] { serialized({.replicas = 2, .device_ids = {2}}); }, ThrowsCode(Code::kInternal));
}

TEST(CompileOptions, NoReplicaIsABug) {
  EXPECT_THAT([] { serialized({.replicas = 0}); }, ThrowsCode(Code::kInternal));
}

}  // namespace
}  // namespace berth
