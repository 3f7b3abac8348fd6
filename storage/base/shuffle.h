#pragma once

// BERTH_SHUFFLE(a, b, ...) makes a vector from the lanes of `a` and `b`, which are vectors of
// integers of one type. Each number names one lane of the result: lane n of `a`, or lane n minus
// the number of lanes of `b`. It is a macro because the numbers are constants of the instruction.
// GCC 11 does not know clang's name for it.
#if defined(__clang__) || __GNUC__ >= 12
#define BERTH_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define BERTH_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, __typeof__((a) + (b)){__VA_ARGS__})
#endif
