#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth {

// Something that a thread did.
struct ProfileSpan {
  const char* name = "";             // a string literal
  int64_t begin_ns = 0, end_ns = 0;  // of the steady clock
  int depth = 0;                     // the spans of the same thread that are around it
  // The FLOPs of matrix products, including the spans inside this one. A multiply-add counts as
  // two.
  double flops = 0;
  double bytes = 0;  // of the tensors that it reads and writes, each counted once; 0: not counted
};

// Records what the threads of a pool do, between start() and stop(): operations and phases on the
// thread that calls the pool (the caller), and the parts of each operation on the pool's threads.
// It keeps at most kMostSpans of them and then records no more.
//
// The caller calls everything but add_part() and add_flops(), which the pool's threads call while
// the caller waits for them.
class Profiler {
 public:
  static constexpr size_t kMostSpans = 1'000'000;  // 48 MB

  explicit Profiler(int threads) : threads_(static_cast<size_t>(threads)) {}

  // Nothing may be open when it starts or stops. A later start() goes on with what was recorded.
  void start() { is_on_ = true; }
  void stop() { is_on_ = false; }
  bool is_on() const { return is_on_; }
  bool is_full() const { return is_full_; }

  // open() begins a span inside the open ones, and close() ends the innermost one. Every open()
  // that found is_on() is followed by a close(), also where stop() came in between.
  void open(const char* name);
  void close(double bytes);

  // A part of the innermost open span. `thread` is its number in the pool.
  void add_part(int thread, int64_t begin_ns, int64_t end_ns);
  void add_flops(int thread, double flops);
  // What another thread did beside the pool's. The caller passes it on when that thread rests.
  void add_beside(const ProfileSpan& span);

  // Spans in the order of their beginnings.
  const std::vector<ProfileSpan>& of_caller() const { return spans_; }
  size_t threads() const { return threads_.size(); }
  const std::vector<ProfileSpan>& of_thread(size_t thread) const { return threads_[thread].spans; }
  const std::vector<ProfileSpan>& beside() const { return beside_; }

 private:
  // In a cache line of its own, because all threads write at the same time.
  struct alignas(64) Thread {
    std::vector<ProfileSpan> spans;
    double flops = 0;  // since the beginning
  };
  double flops() const;

  std::vector<ProfileSpan> spans_;
  std::vector<Thread> threads_;
  std::vector<ProfileSpan> beside_;
  std::vector<size_t> open_;  // of spans_; kMostSpans: one that was not kept
  bool is_on_ = false, is_full_ = false;
};

int64_t profile_clock_ns();

// A span of the caller as long as this lives. Does nothing where there is no profiler, or none that
// is on.
class ProfileScope {
 public:
  ProfileScope(Profiler* profiler, const char* name, double bytes = 0)
      : profiler_(profiler != nullptr && profiler->is_on() ? profiler : nullptr), bytes_(bytes) {
    if (profiler_ != nullptr) profiler_->open(name);
  }
  ~ProfileScope() {
    if (profiler_ != nullptr) profiler_->close(bytes_);
  }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  Profiler* const profiler_;
  const double bytes_;
};

}  // namespace berth
