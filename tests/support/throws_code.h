#pragma once

#include <gmock/gmock.h>

#include <string>

#include "storage/base/error.h"

namespace berth {

// EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kCorrupt));
// EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kCorrupt, "byte 7"));  // and the sentence says so
inline auto ThrowsCode(Code code, const std::string& says = "") {
  return testing::Throws<Error>(
      testing::AllOf(testing::Property(&Error::code, code),
                     testing::Property(&Error::what, testing::HasSubstr(says))));
}

}  // namespace berth
