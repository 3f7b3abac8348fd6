#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/formats/vector_writer.h"

namespace berth {
namespace {

class VectorLinesWriter final : public VectorWriter {
 public:
  explicit VectorLinesWriter(ByteSink& sink) : sink_(sink) {}

  void add(const VectorRow& row) override {
    line_ = R"({"id": )";
    line_ += row.id.empty() ? std::to_string(row.number) : to_text(Json(std::string(row.id)));
    line_ += R"(, "embedding": [)";
    const char* between = "";
    for (const float value : row.vector) {
      std::array<char, 32> digits;
      const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
      line_.append(between).append(digits.data(), end);
      between = ", ";
    }
    line_ += "]}\n";
    sink_.write(as_bytes(line_));
  }

 private:
  ByteSink& sink_;
  std::string line_;
};

}  // namespace

std::unique_ptr<VectorWriter> make_vector_lines_writer(ByteSink& sink, const VectorTable&) {
  return std::make_unique<VectorLinesWriter>(sink);
}

}  // namespace berth
