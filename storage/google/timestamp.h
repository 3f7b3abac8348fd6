#pragma once

#include <optional>
#include <string_view>

namespace berth {

// Seconds since 1970 of an RFC 3339 time: "2026-01-31T23:59:59Z", with a fraction or an offset
// ("+01:00") where given; nullopt for anything else.
std::optional<double> parse_timestamp(std::string_view text);

}  // namespace berth
