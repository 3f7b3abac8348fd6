#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace berth {

// Expects equal sizes, and elements that differ by at most `tolerance`. `name` is for the message.
inline void expect_near(const std::vector<float>& actual, const std::vector<float>& expected,
                        double tolerance, const std::string& name = "") {
  ASSERT_EQ(actual.size(), expected.size()) << name;
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], tolerance) << name << "[" << i << "]";
  }
}

}  // namespace berth
