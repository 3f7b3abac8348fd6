#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// Builds one block of a table: entries | restart offsets | their count.
class TableBlockBuilder {
 public:
  // Every `restart_interval`-th key is stored whole.
  explicit TableBlockBuilder(int restart_interval) : restart_interval_(restart_interval) {}

  void add(std::string_view key, Bytes value);  // ascending keys
  bool empty() const { return bytes_.empty(); }
  size_t size_bytes() const;
  std::vector<std::byte> finish();  // and starts anew

 private:
  int restart_interval_, since_restart_ = 0;
  std::string last_key_;
  std::vector<std::byte> bytes_;
  std::vector<uint32_t> restarts_{0};
};

// Writes the table that read_table() reads, as TensorFlow does: raw blocks of 256 KiB, a restart
// point every 16 keys, shortened keys in the index. Does not close the sink.
class TableWriter {
 public:
  explicit TableWriter(ByteSink& sink) : sink_(sink) {}

  void add(std::string_view key, Bytes value);  // strictly ascending keys
  void finish();                                // once, after the last add()

 private:
  std::vector<std::byte> write_block(TableBlockBuilder& block);  // its handle
  void index_block(std::string_view separator);

  ByteSink& sink_;
  uint64_t offset_ = 0;
  std::string last_key_;
  std::vector<std::byte> handle_;  // of the block that the index lacks yet; empty: none
  TableBlockBuilder data_{16}, index_{1};
};

}  // namespace berth
