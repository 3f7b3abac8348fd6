#include "storage/formats/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"
#include "storage/formats/git_lfs.h"
#include "storage/formats/safetensors_header.h"
#include "storage/formats/utf8.h"

namespace berth {
namespace {

constexpr uint64_t kLargestHeader = 100'000'000;  // the limit of the reference implementation
constexpr size_t kAlignment = 8;

// Returns elements times element size. Throws kCorrupt if the product overflows.
uint64_t size_of_shape(const SafetensorsEntry& entry) {
  int64_t elements = 1;
  for (const int64_t size : entry.shape) {
    if (__builtin_mul_overflow(elements, size, &elements))
      fail_tensor(entry.name, "its shape overflows");
  }
  int64_t bytes;
  if (__builtin_mul_overflow(elements, static_cast<int64_t>(size_of(entry.dtype)), &bytes)) {
    fail_tensor(entry.name, "its shape overflows");
  }
  return static_cast<uint64_t>(bytes);
}

// The tensors, in file order, must cover the data without holes, overlaps or bytes left at the end.
void require_tiling(const std::vector<SafetensorsEntry>& entries, uint64_t data_size) {
  uint64_t expected = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != expected) {
      fail_tensor(entry.name, cat("begins at byte ", entry.begin, " of the data, not ", expected));
    }
    if (entry.end < entry.begin || entry.end > data_size) {
      fail_tensor(entry.name,
                  cat("ends at byte ", entry.end, " of the data, which has ", data_size));
    }
    if (entry.end - entry.begin != size_of_shape(entry)) {
      fail_tensor(entry.name, cat("has ", entry.end - entry.begin, " bytes, but its shape needs ",
                                  size_of_shape(entry)));
    }
    expected = entry.end;
  }
  if (expected != data_size) {
    throw Error(Code::kCorrupt,
                cat("the tensors end at byte ", expected, " of the data, which has ", data_size),
                "", "fetch the file again");
  }
}

std::string json_text(const std::string& text) {
  if (find_invalid_utf8(text)) {
    throw Error(Code::kInternal, "a tensor name that is not UTF-8", quoted(text));
  }
  return to_text(Json(text));
}

uint64_t size_bytes_of(const NamedTensor& tensor) {
  return static_cast<uint64_t>(tensor.elements()) * size_of(tensor.dtype);
}

void require_size(const NamedTensor& tensor, Bytes bytes) {
  if (bytes.size() == size_bytes_of(tensor)) return;
  throw Error(Code::kInternal, cat("a tensor of ", bytes.size(), " bytes"), quoted(tensor.name));
}

std::string entry_text(const NamedTensor& tensor, uint64_t begin) {
  std::string shape;
  for (const int64_t size : tensor.shape) shape += cat(shape.empty() ? "" : ",", size);
  return cat(json_text(tensor.name), ":{\"dtype\":\"", name_of(tensor.dtype), "\",\"shape\":[",
             shape, "],\"data_offsets\":[", begin, ",", begin + size_bytes_of(tensor), "]}");
}

void write_header(ByteSink& sink, std::span<const NamedTensor> tensors,
                  const std::map<std::string, std::string>& metadata) {
  std::string header = "{";
  if (!metadata.empty()) {
    header += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      header += cat(header.back() == '{' ? "" : ",", json_text(key), ":", json_text(value));
    }
    header += "}";
  }
  uint64_t offset = 0;
  for (const NamedTensor& tensor : tensors) {
    if (offset % size_of(tensor.dtype) != 0) {
      throw Error(Code::kInternal, cat("a tensor that begins at ", offset), quoted(tensor.name));
    }
    header += cat(header.back() == '{' ? "" : ",", entry_text(tensor, offset));
    offset += size_bytes_of(tensor);
  }
  header += "}";
  header.resize((header.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');

  const uint64_t header_size = header.size();
  sink.write(std::as_bytes(std::span(&header_size, 1)));
  sink.write(as_bytes(header));
}

void write(ByteSink& sink, std::span<const NamedTensor> tensors,
           const std::map<std::string, std::string>& metadata,
           void (ByteSink::*write_tensor)(Bytes)) {
  for (const NamedTensor& tensor : tensors) require_size(tensor, tensor.data);
  write_header(sink, tensors, metadata);
  for (const NamedTensor& tensor : tensors) (sink.*write_tensor)(tensor.data);
}

}  // namespace

SafetensorsReader::SafetensorsReader(Bytes file) {
  refuse_lfs_pointer(as_text(file));
  Cursor cursor(file);
  const uint64_t header_size = cursor.u64();
  if (header_size > kLargestHeader) {
    throw Error(Code::kCorrupt,
                cat("a header of ", header_size, " bytes, more than ", kLargestHeader), "byte 0",
                "check that it is a safetensors file");
  }
  SafetensorsHeader header = parse_safetensors_header(as_text(cursor.take(header_size)));
  std::sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  const Bytes data = cursor.take(cursor.remaining());
  require_tiling(header.entries, data.size());
  tensors_.reserve(header.entries.size());
  for (SafetensorsEntry& entry : header.entries) {
    tensors_.push_back({.name = std::move(entry.name),
                        .dtype = entry.dtype,
                        .shape = std::move(entry.shape),
                        .data = data.subspan(entry.begin, entry.end - entry.begin)});
  }
  metadata_ = std::move(header.metadata);
}

void write_safetensors(ByteSink& sink, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  write(sink, tensors, metadata, &ByteSink::write);
}

void lend_safetensors(ByteSink& sink, std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata) {
  write(sink, tensors, metadata, &ByteSink::lend);
}

void write_safetensors(ByteSink& sink, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata,
                       const std::function<Bytes(size_t)>& bytes_of) {
  write_header(sink, tensors, metadata);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Bytes bytes = bytes_of(i);
    require_size(tensors[i], bytes);
    sink.write(bytes);
  }
}

void begin_safetensors(ByteSink& sink, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  write_header(sink, tensors, metadata);
}

}  // namespace berth
