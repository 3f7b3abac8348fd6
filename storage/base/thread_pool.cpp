#include "storage/base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/profiler.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// A waiting thread spins for about 40 us, then yields the CPU for about 0.5 ms, and then sleeps.
// Spinning bridges the gap between two operations of a training step: on a virtual machine, waking
// a sleeping thread takes longer than that gap. After 0.5 ms idle threads sleep and cost nothing.
constexpr int kPauses = 2000, kYields = 1000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// Returns when `word` differs from `old`. Spins first and then sleeps.
void await_change(const std::atomic<uint32_t>& word, uint32_t old) {
  for (int i = 0; i < kPauses + kYields; ++i) {
    if (word.load(std::memory_order_acquire) != old) return;
    if (i < kPauses) {
      relax();
    } else {
      std::this_thread::yield();
    }
  }
  while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
}

// The pool and part that this thread is running; it detects nested calls.
struct Running {
  const void* pool = nullptr;
  int thread = 0;
};
thread_local Running running;

}  // namespace

struct ThreadPool::State {
  // One slot per thread. Each has a cache line of its own, so that waking one thread does not
  // disturb the others.
  struct alignas(64) Slot {
    // Incremented when there is a part to run, and to stop the thread.
    std::atomic<uint32_t> ticket{0};
    std::exception_ptr failure;
  };

  explicit State(int num_threads) : slots(static_cast<size_t>(num_threads)) {}

  void run_part(int thread) {
    Slot& slot = slots[static_cast<size_t>(thread)];
    const Running outer = running;
    running = {this, thread};
    const bool is_recorded = profiler != nullptr && profiler->is_on();
    const int64_t began_ns = is_recorded ? profile_clock_ns() : 0;
    try {
      (*fn)(count * thread / parts, count * (thread + 1) / parts, thread);
    } catch (...) {
      slot.failure = std::current_exception();
    }
    if (is_recorded) profiler->add_part(thread, began_ns, profile_clock_ns());
    running = outer;
  }

  void work(int thread) {
    Slot& slot = slots[static_cast<size_t>(thread)];
    for (uint32_t seen = 0;; ++seen) {
      await_change(slot.ticket, seen);
      if (stopping) return;
      run_part(thread);
      if (unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished.notify_one();
    }
  }

  void wake(int thread) {
    std::atomic<uint32_t>& ticket = slots[static_cast<size_t>(thread)].ticket;
    ticket.fetch_add(1, std::memory_order_release);
    ticket.notify_one();
  }

  void await_workers() {
    for (uint32_t left; (left = unfinished.load(std::memory_order_acquire)) != 0;) {
      await_change(unfinished, left);
    }
  }

  std::vector<Slot> slots;
  // The current job. It is written before the tickets are incremented and read after that.
  const Range* fn = nullptr;
  int64_t count = 0;
  int parts = 1;
  bool stopping = false;
  Profiler* profiler = nullptr;
  alignas(64) std::atomic<uint32_t> unfinished{0};
  std::vector<std::jthread> threads;  // declared last: the threads use the members above
};

ThreadPool::ThreadPool(int num_threads)
    : state_(std::make_unique<State>(std::max(1, num_threads))) {
  try {
    for (int i = 1; i < size(); ++i) {
      state_->threads.emplace_back([state = state_.get(), i] { state->work(i); });
    }
  } catch (const std::system_error& error) {
    state_->stopping = true;
    for (int i = 1; i < size(); ++i) state_->wake(i);
    throw Error(Code::kMemory, cat("cannot start ", size(), " threads (", error.what(), ")"), "",
                "lower --threads or raise the limit on processes");
  }
}

ThreadPool::~ThreadPool() {
  state_->stopping = true;
  for (int i = 1; i < size(); ++i) state_->wake(i);
}

void ThreadPool::set_profiler(Profiler* profiler) { state_->profiler = profiler; }

Profiler* ThreadPool::profiler() const { return state_->profiler; }

int ThreadPool::size() const { return static_cast<int>(state_->slots.size()); }

void ThreadPool::parallel_for(int64_t count, int64_t grain, const Range& fn) {
  if (count <= 0) return;
  if (running.pool == state_.get()) return fn(0, count, running.thread);
  State& state = *state_;
  state.fn = &fn;
  state.count = count;
  state.parts =
      static_cast<int>(std::clamp<int64_t>(count / std::max<int64_t>(1, grain), 1, size()));
  state.unfinished.store(static_cast<uint32_t>(state.parts - 1), std::memory_order_relaxed);
  for (int i = 1; i < state.parts; ++i) state.wake(i);
  state.run_part(0);
  state.await_workers();
  std::exception_ptr first;
  for (int i = 0; i < state.parts; ++i) {
    const std::exception_ptr failure =
        std::exchange(state.slots[static_cast<size_t>(i)].failure, nullptr);
    if (failure && !first) first = failure;
  }
  if (first) std::rethrow_exception(first);
}

Background::Background() : thread_([this] { run(); }) {}

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
}

void Background::submit(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  changed_.notify_all();
}

bool Background::idle(double within_s) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(within_s),
                           [this] { return queue_.empty() && !busy_; });
}

void Background::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
  if (const std::exception_ptr failure = std::exchange(failure_, nullptr)) {
    std::rethrow_exception(failure);
  }
}

void Background::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return !queue_.empty() || ends_; });
    if (queue_.empty()) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    std::exception_ptr failure;
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    work = nullptr;  // destroys what `work` captured before it counts as done
    lock.lock();
    busy_ = false;
    if (!failure_) failure_ = failure;
    changed_.notify_all();
  }
}

}  // namespace berth
