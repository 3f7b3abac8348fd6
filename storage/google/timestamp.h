#pragma once

#include <optional>
#include <string_view>

// The times in answers of Google's servers. Thread-safe. Throws nothing.
namespace berth {

// Parses an RFC 3339 time and returns seconds since 1970. Accepts "2026-01-31T23:59:59Z", with an
// optional fraction, and offsets such as "+01:00". Returns nullopt for anything else.
std::optional<double> parse_timestamp(std::string_view text);

}  // namespace berth
