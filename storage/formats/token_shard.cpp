#include "storage/formats/token_shard.h"

#include <cassert>
#include <cstring>

#include "storage/base/checksum.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"

namespace berth {
namespace {

constexpr std::string_view kShardMagic = "berthtok";
constexpr uint32_t kShardVersion = 1;
constexpr size_t kShardHeaderBytes = 80, kShardCheckedBytes = 72;

template <typename Number>
void append_number(Number number, std::vector<std::byte>& bytes) {
  for (size_t i = 0; i < sizeof number; ++i) {
    bytes.push_back(static_cast<std::byte>(number >> (8 * i)));
  }
}

template <typename Number>
Number number_at(Bytes bytes, size_t at) {
  Number number;
  assert(at + sizeof number <= bytes.size());
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

std::vector<std::byte> header_of(const TokenShardInfo& info, uint32_t sequences, uint64_t ids,
                                 uint32_t offsets_crc, uint32_t ids_crc) {
  std::vector<std::byte> header(as_bytes(kShardMagic).begin(), as_bytes(kShardMagic).end());
  append_number(kShardVersion, header);
  append_number(static_cast<uint32_t>(token_id_bytes(info.vocab_size)), header);
  append_number(info.tokenizer_checksum, header);
  append_number(info.vocab_size, header);
  append_number(info.max_seq_length, header);
  append_number(info.index, header);
  append_number(info.count, header);
  append_number(sequences, header);
  append_number(ids, header);
  append_number(info.total_sequences, header);
  append_number(info.preparation, header);
  append_number(offsets_crc, header);
  append_number(ids_crc, header);
  append_number(crc32c(header), header);
  append_number(uint32_t{0}, header);
  return header;
}

}  // namespace

bool names_token_shard(std::string_view file_name) {
  return lower_ascii(file_name).ends_with(".tokens");
}

size_t token_id_bytes(uint32_t vocab_size) { return vocab_size > 65'536 ? 4 : 2; }

void append_token_id(int32_t id, uint32_t vocab_size, std::vector<std::byte>& bytes) {
  if (token_id_bytes(vocab_size) == 2) {
    append_number(static_cast<uint16_t>(id), bytes);
  } else {
    append_number(static_cast<uint32_t>(id), bytes);
  }
}

void write_token_shard(ByteSink& sink, const TokenShardInfo& info,
                       std::span<const uint32_t> lengths, Bytes ids) {
  std::vector<std::byte> offsets;
  offsets.reserve(4 * (lengths.size() + 1));
  uint32_t offset = 0;
  append_number(offset, offsets);
  for (const uint32_t length : lengths) append_number(offset += length, offsets);
  assert(ids.size() == offset * token_id_bytes(info.vocab_size));
  sink.write(
      header_of(info, static_cast<uint32_t>(lengths.size()), offset, crc32c(offsets), crc32c(ids)));
  sink.write(offsets);
  sink.write(ids);
}

TokenShard::TokenShard(Bytes file) : file_(file) {
  read_header();
  check_offsets();
  check_ids();
}

void TokenShard::read_header() {
  if (file_.size() < kShardMagic.size() ||
      as_text(file_.first(kShardMagic.size())) != kShardMagic) {
    throw Error(Code::kCorrupt, "is not a shard of tokens, which --mode prepare writes", "byte 0",
                "fetch the file again, or call it .txt if it is text");
  }
  if (file_.size() < kShardHeaderBytes) fail_at_byte(file_.size(), "ends inside its header");
  Cursor header(file_.first(kShardHeaderBytes));
  header.skip(kShardMagic.size());
  const uint32_t version = header.u32();
  if (version != kShardVersion)
    fail_at_byte(8, cat("has version ", version, ", not ", kShardVersion));
  id_bytes_ = header.u32();
  info_.tokenizer_checksum = header.u32();
  info_.vocab_size = header.u32();
  info_.max_seq_length = header.u32();
  info_.index = header.u32();
  info_.count = header.u32();
  sequences_ = header.u32();
  num_ids_ = header.u64();
  info_.total_sequences = header.u64();
  info_.preparation = header.u64();
  offsets_crc_ = header.u32();
  ids_crc_ = header.u32();
  const bool is_intact =
      header.u32() == crc32c(file_.first(kShardCheckedBytes)) && header.u32() == 0;
  if (!is_intact) fail_at_byte(0, "has a header that does not match its checksum");
  // A header that was made to fool the reader may have a valid checksum.
  if (id_bytes_ != token_id_bytes(info_.vocab_size)) fail_at_byte(12, "has ids of another size");
  if (info_.index >= info_.count) fail_at_byte(28, "has a number beyond the number of shards");
  if (num_ids_ > UINT32_MAX) fail_at_byte(40, "has more ids than offsets can address");
  const uint64_t offset_bytes = 4 * (uint64_t{sequences_} + 1);
  const uint64_t size = kShardHeaderBytes + offset_bytes + num_ids_ * id_bytes_;
  if (file_.size() != size) {
    fail_at_byte(file_.size(), cat("ends here, but its header says ", size, " bytes"));
  }
  offsets_ = file_.subspan(kShardHeaderBytes, offset_bytes);
  ids_ = file_.subspan(kShardHeaderBytes + offset_bytes);
}

void TokenShard::check_offsets() const {
  if (crc32c(offsets_) != offsets_crc_) {
    fail_at_byte(kShardHeaderBytes, "has offsets that do not match their checksum");
  }
  if (offset(0) != 0 || offset(sequences_) != num_ids_) {
    fail_at_byte(kShardHeaderBytes, "has offsets that do not cover its ids");
  }
  for (uint32_t i = 0; i < sequences_; ++i) {
    const uint32_t begin = offset(i), end = offset(i + 1);
    if (begin < end && end - begin <= info_.max_seq_length) continue;
    fail_at_byte(kShardHeaderBytes + 4 * uint64_t{i}, cat("has a bad length for sequence ", i));
  }
}

void TokenShard::check_ids() const {
  const size_t begin = kShardHeaderBytes + offsets_.size();
  if (crc32c(ids_) != ids_crc_) fail_at_byte(begin, "has ids that do not match their checksum");
  for (uint64_t i = 0; i < num_ids_; ++i) {
    if (static_cast<uint32_t>(id(i)) < info_.vocab_size) continue;
    fail_at_byte(begin + i * id_bytes_, "has an id that its vocabulary lacks");
  }
}

uint32_t TokenShard::offset(uint32_t sequence) const {
  return number_at<uint32_t>(offsets_, 4 * size_t{sequence});
}

int32_t TokenShard::id(uint64_t place) const {
  return id_bytes_ == 2 ? number_at<uint16_t>(ids_, 2 * place)
                        : static_cast<int32_t>(number_at<uint32_t>(ids_, 4 * place));
}

Bytes TokenShard::bytes(uint32_t sequence) const {
  const uint32_t begin = offset(sequence), end = offset(sequence + 1);
  return ids_.subspan(begin * id_bytes_, (end - begin) * id_bytes_);
}

void TokenShard::read(uint32_t sequence, std::vector<int32_t>& ids) const {
  const uint32_t begin = offset(sequence), end = offset(sequence + 1);
  ids.clear();
  for (uint32_t i = begin; i < end; ++i) ids.push_back(id(i));
}

}  // namespace berth
