#pragma once

#include <string>

#include "entrypoint/explain/own_command.h"
#include "entrypoint/explain/script_defaults.h"
#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// The numbers of a polynomial schedule that falls from the first update on.
struct FallingRate {
  double rate = 0, end = 0, power = 1;
  double warmup = 0;  // its share of all updates
};

// What such a rate has fallen to when the warm-up ends. berth's rate falls after the warm-up, so
// this peak makes both the same from there on. NaN: the numbers are no schedule.
double rate_after_warmup(const FallingRate& schedule);

std::string rate_text(double rate);  // "4.5e-05"

// Gives `own` this peak where the script has such a schedule. Refuses a rate or a warm-up that is
// not a number in the line.
void match_falling_rate(const TrainingScript& script, OwnCommand& own, Remarks& remarks);

}  // namespace berth
