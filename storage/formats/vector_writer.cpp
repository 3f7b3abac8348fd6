#include "storage/formats/vector_writer.h"

#include <array>
#include <cassert>
#include <charconv>
#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// The header: the magic, the version, the length of the rest as u16, and a Python literal. Spaces
// pad the literal so that the numbers begin at a multiple of 64 bytes.
std::string npy_header(const VectorTable& table) {
  constexpr size_t kHeaderAlignment = 64, kBefore = 10;
  const char* const type = table.numbers == VectorNumbers::kFloat32 ? "<f4"
                           : table.numbers == VectorNumbers::kInt8  ? "|i1"
                                                                    : "|u1";
  std::string text = cat("{'descr': '", type, "', 'fortran_order': False, 'shape': (", table.rows,
                         ", ", table.width, "), }");
  const size_t used = kBefore + text.size() + 1;
  text.append((kHeaderAlignment - used % kHeaderAlignment) % kHeaderAlignment, ' ').append("\n");
  assert(text.size() <= UINT16_MAX);
  std::string header("\x93NUMPY\x01\x00", 8);
  header.push_back(static_cast<char>(text.size() & 0xFF));
  header.push_back(static_cast<char>(text.size() >> 8));
  return header + text;
}

class NpyWriter final : public VectorWriter {
 public:
  NpyWriter(ByteSink& sink, const VectorTable& table) : sink_(sink), numbers_(table.numbers) {
    sink_.write(as_bytes(npy_header(table)));
  }

  void add(const VectorRow& row) override {
    if (numbers_ == VectorNumbers::kFloat32) return sink_.write(std::as_bytes(row.vector));
    bytes_.clear();
    for (const float value : row.vector) {
      bytes_.push_back(static_cast<char>(static_cast<int32_t>(value)));
    }
    sink_.write(as_bytes(bytes_));
  }

 private:
  ByteSink& sink_;
  const VectorNumbers numbers_;
  std::string bytes_;  // of a row, where its numbers have eight bits
};

}  // namespace

std::unique_ptr<VectorWriter> make_npy_writer(ByteSink& sink, const VectorTable& table) {
  return std::make_unique<NpyWriter>(sink, table);
}

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
