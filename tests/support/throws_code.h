#pragma once

#include <gmock/gmock.h>

#include <string>

#include "storage/base/error.h"

namespace berth {

// Matches a callable that throws an Error with this code whose sentence contains `says`.
//   EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kCorrupt));
//   EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kCorrupt, "byte 7"));
inline auto ThrowsCode(Code code, const std::string& says = "") {
  return testing::Throws<Error>(
      testing::AllOf(testing::Property(&Error::code, code),
                     testing::Property(&Error::what, testing::HasSubstr(says))));
}

}  // namespace berth
