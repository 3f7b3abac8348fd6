#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace berth {

// Builds a tar file (POSIX ustar) by hand, so that a test can write what no tar program would
// write.
//   TarBytes().file("a", "text").entry("b", '2', {}, "/etc/passwd").end()
class TarBytes {
 public:
  TarBytes& file(const std::string& name, const std::string& content) {
    return header(name, '0', content.size(), "").data(content);
  }
  // type: '1' hard link, '2' symbolic link, '3' character device, '5' directory, '6' named pipe
  TarBytes& entry(const std::string& name, char type, const std::string& link = "") {
    return header(name, type, 0, link);
  }
  TarBytes& header(const std::string& name, char type, uint64_t size, const std::string& link) {
    char block[512] = {};
    std::memcpy(block, name.data(), std::min<size_t>(name.size(), 100));
    std::snprintf(block + 100, 8, "%07o", 06755);
    std::snprintf(block + 108, 8, "%07o", 0);
    std::snprintf(block + 116, 8, "%07o", 0);
    std::snprintf(block + 124, 12, "%011llo", static_cast<unsigned long long>(size));
    std::snprintf(block + 136, 12, "%011o", 0);
    block[156] = type;
    std::memcpy(block + 157, link.data(), std::min<size_t>(link.size(), 100));
    std::memcpy(block + 257, "ustar\00000", 8);
    return checksummed(block);
  }
  // GNU's old sparse format: a hole of `hole` bytes, then `content`.
  TarBytes& sparse(const std::string& name, uint64_t hole, const std::string& content) {
    char block[512] = {};
    std::memcpy(block, name.data(), name.size());
    std::snprintf(block + 100, 8, "%07o", 0644);
    std::snprintf(block + 124, 12, "%011llo", static_cast<unsigned long long>(content.size()));
    block[156] = 'S';
    std::memcpy(block + 257, "ustar  ", 8);
    const auto octal = [&](size_t at, uint64_t value) {
      char digits[24];
      std::snprintf(digits, sizeof digits, "%011llo", static_cast<unsigned long long>(value));
      std::memcpy(block + at, digits, 11);
    };
    octal(386, hole);
    octal(398, content.size());
    // The real size is written in base 256, because it may need more than 11 octal digits.
    block[483] = static_cast<char>(0x80);
    const uint64_t size = hole + content.size();
    for (int i = 0; i < 8; ++i) block[494 - i] = static_cast<char>(size >> (8 * i));
    return checksummed(block).data(content);
  }
  TarBytes& data(const std::string& content) {
    bytes_ += content;
    bytes_.resize((bytes_.size() + 511) / 512 * 512, '\0');
    return *this;
  }
  TarBytes& raw(const std::string& bytes) {
    bytes_ += bytes;
    return *this;
  }

  std::string end() const { return bytes_ + std::string(1024, '\0'); }
  std::string without_end() const { return bytes_; }

 private:
  TarBytes& checksummed(char (&block)[512]) {
    std::memset(block + 148, ' ', 8);
    unsigned sum = 0;
    for (const char c : block) sum += static_cast<unsigned char>(c);
    std::snprintf(block + 148, 8, "%06o", sum);
    bytes_.append(block, sizeof block);
    return *this;
  }

  std::string bytes_;
};

}  // namespace berth
