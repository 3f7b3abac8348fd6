#include "trainer/cpu/optimizer_shards.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {

OptimizerShards::OptimizerShards(std::span<const ParameterSpec> specs, int64_t ranks,
                                 int64_t bucket_elements)
    : ranks_(ranks), elements_(static_cast<size_t>(ranks)) {
  // 1. Where each parameter that trains begins, and the order of the gradients, deepest first.
  std::vector<int64_t> begins(specs.size());
  std::vector<size_t> deepest_first;
  int64_t begin = 0;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i].trains) continue;
    begins[i] = begin;
    begin += specs[i].elements();
    if (specs[i].is_looked_up) {
      tables_.push_back({i, begins[i], specs[i].shape[0], specs[i].columns()});
    } else {
      deepest_first.push_back(i);
    }
  }
  std::ranges::stable_sort(deepest_first, std::greater<>(),
                           [&](size_t i) { return specs[i].depth; });
  // 2. Buckets, with tables behind them in each rank's block.
  std::vector<Part> open;
  int64_t room = bucket_elements, depth = 0;
  for (const size_t i : deepest_first) {
    depth = specs[i].depth;
    for (int64_t done = 0; done < specs[i].elements();) {
      const int64_t count = std::min(room, specs[i].elements() - done);
      open.push_back({i, {begins[i] + done, count}});
      done += count;
      room -= count;
      if (room > 0) continue;
      add_bucket(open, depth);
      open.clear();
      room = bucket_elements;
    }
  }
  add_bucket(open, depth);
  table_begin_ = elements_;
  for (const Table& table : tables_) add_table(table);
  std::ranges::sort(pieces_, std::less<>(), &Piece::begin);
}

// All shares but the last ones have the same size.
void OptimizerShards::add_bucket(std::span<const Part> parts, int64_t depth) {
  int64_t elements = 0;
  for (const Part& part : parts) elements += part.range.count;
  if (elements == 0) return;
  const int64_t share = (elements + ranks_ - 1) / ranks_;
  Bucket bucket{.depth = depth, .shares = {}};
  bucket.shares.resize(static_cast<size_t>(ranks_));
  int64_t passed = 0;
  for (const Part& part : parts) {
    for (int64_t done = 0; done < part.range.count;) {
      const int64_t rank = passed / share;
      const int64_t count = std::min(part.range.count - done, (rank + 1) * share - passed);
      const ElementRange range{part.range.begin + done, count};
      int64_t& at = elements_[static_cast<size_t>(rank)];
      bucket.shares[static_cast<size_t>(rank)].push_back(range);
      pieces_.push_back({range.begin, count, part.parameter, rank, at});
      at += count;
      done += count;
      passed += count;
    }
  }
  buckets_.push_back(std::move(bucket));
}

void OptimizerShards::add_table(const Table& table) {
  for (int64_t row = 0; row < table.rows; row += kRowsTogether) {
    const int64_t rank = owner_of_row(row);
    const int64_t count = std::min(kRowsTogether, table.rows - row) * table.columns;
    int64_t& at = elements_[static_cast<size_t>(rank)];
    pieces_.push_back({table.begin + row * table.columns, count, table.parameter, rank, at});
    at += count;
  }
}

std::vector<OptimizerShards::Piece> OptimizerShards::pieces(ElementRange range) const {
  const int64_t end = range.begin + range.count;
  auto piece = std::ranges::upper_bound(pieces_, range.begin, std::less<>(), &Piece::begin);
  if (piece != pieces_.begin()) --piece;
  std::vector<Piece> found;
  for (; piece != pieces_.end() && piece->begin < end; ++piece) {
    const int64_t from = std::max(range.begin, piece->begin);
    const int64_t to = std::min(end, piece->begin + piece->count);
    if (from >= to) continue;
    found.push_back(*piece);
    found.back().at += from - piece->begin;
    found.back().begin = from;
    found.back().count = to - from;
  }
  return found;
}

namespace {

constexpr int64_t kMessageElements = int64_t{1} << 18;  // 1 MiB travels at once

int64_t elements_of(std::span<const OptimizerShards::Piece> pieces) {
  int64_t elements = 0;
  for (const OptimizerShards::Piece& piece : pieces) elements += piece.count;
  return elements;
}

template <typename T>
std::span<std::byte> bytes_of_object(T& object) {
  return std::as_writable_bytes(std::span(&object, 1));
}

}  // namespace

ShardedMoments::ShardedMoments(Communicator& ranks, const OptimizerShards& shards,
                               Parameters& parameters)
    : ranks_(ranks),
      shards_(shards),
      parameters_(parameters),
      channel_(ranks.new_channel()),
      first_(*this, 0),
      second_(*this, 1) {
  if (ranks_.rank() == 0) return;
  server_ = std::jthread([this](const std::stop_token& stop) {
    try {
      serve(stop);
    } catch (const std::exception& error) {  // the training meets the same failure
      log_debug(cat("the moments are not read any more: ", error.what()));
    }
  });
}

void ShardedMoments::View::read(size_t index, int64_t first, std::span<float> values) const {
  for (; !values.empty(); first += kMessageElements) {
    const std::span<float> part = values.first(std::min(values.size(), size_t{kMessageElements}));
    all_.read_all(which_, all_.range_of(index, first, part.size()), part);
    values = values.subspan(part.size());
  }
}

void ShardedMoments::View::write(size_t index, int64_t first, Bytes values) {
  std::vector<float> part;
  for (; !values.empty(); first += kMessageElements) {
    part.resize(std::min(values.size() / sizeof(float), size_t{kMessageElements}));
    std::memcpy(part.data(), values.data(), part.size() * sizeof(float));
    all_.write_all(which_, all_.range_of(index, first, part.size()), part);
    values = values.subspan(part.size() * sizeof(float));
  }
}

ElementRange ShardedMoments::range_of(size_t index, int64_t first, size_t count) const {
  const int64_t before = parameters_.offset(parameters_.first_trained());
  return {parameters_.offset(index) - before + first, static_cast<int64_t>(count)};
}

std::vector<OptimizerShards::Piece> ShardedMoments::pieces_of(int64_t rank,
                                                              ElementRange range) const {
  std::vector<OptimizerShards::Piece> pieces = shards_.pieces(range);
  std::erase_if(pieces, [&](const OptimizerShards::Piece& piece) { return piece.rank != rank; });
  return pieces;
}

std::span<float> ShardedMoments::own(int64_t which, const OptimizerShards::Piece& piece) const {
  const Tensor block = which == 0 ? parameters_.first_moments() : parameters_.second_moments();
  return {block.f32() + piece.at, static_cast<size_t>(piece.count)};
}

std::vector<float> ShardedMoments::read_own(int64_t which,
                                            std::span<const OptimizerShards::Piece> pieces) {
  std::vector<float> values;
  values.reserve(static_cast<size_t>(elements_of(pieces)));
  const std::scoped_lock lock(block_mutex_);
  for (const OptimizerShards::Piece& piece : pieces) {
    const std::span<float> elements = own(which, piece);
    values.insert(values.end(), elements.begin(), elements.end());
  }
  return values;
}

void ShardedMoments::write_own(int64_t which, std::span<const OptimizerShards::Piece> pieces,
                               std::span<const float> values) {
  const std::scoped_lock lock(block_mutex_);
  for (const OptimizerShards::Piece& piece : pieces) {
    const std::span<float> elements = own(which, piece);
    std::ranges::copy(values.first(elements.size()), elements.begin());
    values = values.subspan(elements.size());
  }
  written_ = true;
}

void ShardedMoments::read_all(int64_t which, ElementRange range, std::span<float> values) {
  const auto place = [&](std::span<const OptimizerShards::Piece> pieces, const float* from) {
    for (const OptimizerShards::Piece& piece : pieces) {
      std::copy_n(from, piece.count, values.data() + (piece.begin - range.begin));
      from += piece.count;
    }
  };
  std::ranges::fill(values, 0.0f);
  const auto own_pieces = pieces_of(ranks_.rank(), range);
  place(own_pieces, read_own(which, own_pieces).data());
  if (ranks_.rank() != 0) return;
  const std::scoped_lock lock(channel_mutex_);
  Request request{.writes = 0, .which = which, .range = range};
  for (const bool is_answer : {false, true}) {  // all are asked before the first one answers
    for (int rank = 1; rank < ranks_.size(); ++rank) {
      const auto pieces = pieces_of(rank, range);
      if (pieces.empty()) continue;
      if (!is_answer) {
        ranks_.send(rank, channel_, bytes_of_object(request));
        continue;
      }
      std::vector<float> received(static_cast<size_t>(elements_of(pieces)));
      ranks_.receive(rank, channel_, std::as_writable_bytes(std::span(received)));
      place(pieces, received.data());
    }
  }
}

void ShardedMoments::write_all(int64_t which, ElementRange range, std::span<const float> values) {
  const auto taken = [&](std::span<const OptimizerShards::Piece> pieces) {
    std::vector<float> elements;
    for (const OptimizerShards::Piece& piece : pieces) {
      const auto part = values.subspan(static_cast<size_t>(piece.begin - range.begin),
                                       static_cast<size_t>(piece.count));
      elements.insert(elements.end(), part.begin(), part.end());
    }
    return elements;
  };
  // Rank 0 writes its own part and sends each owner its pieces. The others write only their own.
  const auto own_pieces = pieces_of(ranks_.rank(), range);
  write_own(which, own_pieces, taken(own_pieces));
  if (ranks_.rank() != 0) return;
  const std::scoped_lock lock(channel_mutex_);
  for (int rank = 1; rank < ranks_.size(); ++rank) {
    const auto pieces = pieces_of(rank, range);
    if (pieces.empty()) continue;
    Request request{.writes = 1, .which = which, .range = range};
    ranks_.send(rank, channel_, bytes_of_object(request));
    ranks_.send(rank, channel_, std::as_bytes(std::span<const float>(taken(pieces))));
    ranks_.receive(rank, channel_, bytes_of_object(request));
  }
}

// Answers rank 0 until a stop is requested.
void ShardedMoments::serve(const std::stop_token& stop) {
  Request request;
  while (ranks_.receive(0, channel_, bytes_of_object(request), stop)) {
    const auto pieces = pieces_of(ranks_.rank(), request.range);
    if (request.writes == 0) {
      const std::vector<float> values = read_own(request.which, pieces);
      ranks_.send(0, channel_, std::as_bytes(std::span(values)));
      continue;
    }
    std::vector<float> values(static_cast<size_t>(elements_of(pieces)));
    if (!ranks_.receive(0, channel_, std::as_writable_bytes(std::span(values)), stop)) return;
    write_own(request.which, pieces, values);
    ranks_.send(0, channel_, bytes_of_object(request));
  }
}

}  // namespace berth
