#pragma once

#include <string>
#include <string_view>

namespace berth {

// A whole HTML page, which is also well-formed XML. It holds its style, refers to nothing outside
// of itself, and runs no script: its content security policy forbids both. `title` is text, which
// is escaped here; `body` is markup. `data` is a block of JSON (json_for_block()), or empty.
std::string html_page(std::string_view title, std::string_view body, std::string_view data = {});

// A section with its heading. Empty where `content` is.
std::string section(std::string_view heading, std::string_view content);

// A wide table in a frame that scrolls sideways, and that the keyboard reaches. `name` is text for
// screen readers.
std::string scrolling(std::string_view name, std::string_view table);

}  // namespace berth
