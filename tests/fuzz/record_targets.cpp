#include <cstring>
#include <vector>

#include "storage/base/checksum.h"
#include "storage/base/protobuf_wire.h"
#include "storage/formats/event_file.h"
#include "storage/formats/tf_example.h"
#include "storage/formats/tfrecord.h"
#include "storage/formats/token_shard.h"
#include "tests/fuzz/fuzz_target.h"

namespace berth {
namespace {

// Reads the payloads as nested messages, too, as a reader with a schema would. `messages` is how
// many more it may read. Most are malformed, and an exception takes longer than reading a message.
void read_message(Bytes message, int depth, int& messages) {
  ProtoReader reader(message);
  for (ProtoField field; reader.next(field);) {
    if (field.type == WireType::kLengthDelimited && depth > 0 && messages-- > 0) {
      // The payload may be text.
      may_refuse([&] { read_message(field.payload, depth - 1, messages); });
    }
  }
}

void protobuf_wire(Bytes input) {
  int messages = 16;
  may_refuse([&] { read_message(input, 4, messages); });
}

void event(Bytes input) {
  may_refuse([&] { parse_event(input); });
  may_refuse([&] { parse_tf_example(input); });
}

void read_records(Bytes file) {
  may_refuse([&] {
    TfRecordReader reader(std::make_unique<MemorySource>(file));
    for (std::vector<std::byte> record; reader.next(record);) {
    }
  });
}

// Makes the checksums match, so that the code behind them is reached.
void repair_records(std::vector<std::byte>& file) {
  const auto write_checksum = [&](size_t at, size_t count) {
    if (file.size() - at < count + sizeof(uint32_t)) return false;
    const uint32_t crc = crc32c_mask(crc32c(Bytes(file).subspan(at, count)));
    std::memcpy(file.data() + at + count, &crc, sizeof crc);
    return true;
  };
  for (size_t at = 0;;) {
    if (!write_checksum(at, sizeof(uint64_t))) return;
    uint64_t size;
    std::memcpy(&size, file.data() + at, sizeof size);
    at += sizeof size + sizeof(uint32_t);
    if (size > file.size() || !write_checksum(at, size)) return;
    at += size + sizeof(uint32_t);
  }
}

void read_shard(Bytes file) {
  may_refuse([&] {
    const TokenShard shard(file);
    std::vector<int32_t> ids;
    for (uint32_t i = 0; i < shard.sequences(); ++i) {
      shard.read(i, ids);
      require(!ids.empty() && ids.size() <= shard.info().max_seq_length);
    }
  });
}

// Makes the checksums match, so that the checks behind them are reached.
void repair_shard(std::vector<std::byte>& file) {
  const auto write = [&](size_t at, uint32_t number) {
    std::memcpy(file.data() + at, &number, sizeof number);
  };
  if (file.size() < 80) return;
  uint32_t sequences;
  std::memcpy(&sequences, file.data() + 36, sizeof sequences);
  const size_t offsets = 4 * (size_t{sequences} + 1);
  if (offsets <= file.size() - 80) {
    write(64, crc32c(Bytes(file).subspan(80, offsets)));
    write(68, crc32c(Bytes(file).subspan(80 + offsets)));
  }
  write(72, crc32c(Bytes(file).first(72)));
}

// Reads the input, and reads it again with checksums that match.
template <void (*read)(Bytes), void (*repair)(std::vector<std::byte>&)>
void read_twice(Bytes input) {
  read(input);
  std::vector<std::byte> file(input.begin(), input.end());
  repair(file);
  read(file);
}

const FuzzTargets kRecordTargets = {{"event", event},
                                    {"protobuf_wire", protobuf_wire},
                                    {"tfrecord", read_twice<read_records, repair_records>},
                                    {"token_shard", read_twice<read_shard, repair_shard>}};

}  // namespace
}  // namespace berth
