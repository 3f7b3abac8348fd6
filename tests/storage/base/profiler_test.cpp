#include "storage/base/profiler.h"

#include <gtest/gtest.h>

#include "storage/base/thread_pool.h"

namespace berth {
namespace {

TEST(Profiler, RecordsNothingUntilItStarts) {
  Profiler profiler(1);
  { const ProfileScope scope(&profiler, "before"); }
  { const ProfileScope scope(nullptr, "without"); }
  profiler.start();
  { const ProfileScope scope(&profiler, "during", 12); }
  profiler.stop();
  { const ProfileScope scope(&profiler, "after"); }
  ASSERT_EQ(profiler.of_caller().size(), 1U);
  const ProfileSpan& span = profiler.of_caller().front();
  EXPECT_STREQ(span.name, "during");
  EXPECT_EQ(span.bytes, 12);
  EXPECT_LE(span.begin_ns, span.end_ns);
}

TEST(Profiler, SpansLieInsideOthersAndCountTheirFlops) {
  Profiler profiler(2);
  profiler.start();
  profiler.add_flops(1, 1000);  // in no span
  {
    const ProfileScope outer(&profiler, "outer");
    profiler.add_flops(0, 1);
    const ProfileScope inner(&profiler, "inner");
    profiler.add_flops(1, 20);
  }
  const auto& spans = profiler.of_caller();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].depth, 0);
  EXPECT_EQ(spans[0].flops, 21);
  EXPECT_EQ(spans[1].depth, 1);
  EXPECT_EQ(spans[1].flops, 20);
  EXPECT_GE(spans[1].begin_ns, spans[0].begin_ns);
  EXPECT_LE(spans[1].end_ns, spans[0].end_ns);
}

TEST(Profiler, RecordsTheThreadsOfAPool) {
  ThreadPool pool(3);
  Profiler profiler(pool.size());
  pool.set_profiler(&profiler);
  profiler.start();
  {
    const ProfileScope scope(pool.profiler(), "work");
    pool.parallel_for(3, 1, [&](int64_t, int64_t, int thread) {
      pool.profiler()->add_flops(thread, 10);
      pool.parallel_for(5, 1, [](int64_t, int64_t, int) {});  // nested: no part of its own
    });
  }
  profiler.stop();
  pool.parallel_for(3, 1, [](int64_t, int64_t, int) {});
  const ProfileSpan& work = profiler.of_caller().front();
  EXPECT_EQ(work.flops, 30);
  ASSERT_EQ(profiler.threads(), 3U);
  for (size_t thread = 0; thread < 3; ++thread) {
    ASSERT_EQ(profiler.of_thread(thread).size(), 1U);
    const ProfileSpan& part = profiler.of_thread(thread).front();
    EXPECT_STREQ(part.name, "work");
    EXPECT_GE(part.begin_ns, work.begin_ns);
    EXPECT_LE(part.end_ns, work.end_ns);
  }
}

TEST(Profiler, StopsRecordingWhereItIsFull) {
  Profiler profiler(1);
  profiler.start();
  const ProfileScope outer(&profiler, "outer");
  for (size_t i = 0; i < Profiler::kMostSpans; ++i) const ProfileScope scope(&profiler, "inner");
  EXPECT_TRUE(profiler.is_full());
  EXPECT_EQ(profiler.of_caller().size(), Profiler::kMostSpans);
}

}  // namespace
}  // namespace berth
