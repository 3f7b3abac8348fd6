#include "entrypoint/explain/falling_rate.h"

#include <cmath>
#include <optional>

#include "storage/base/text.h"
#include "trainer/data/cell_text.h"

namespace berth {
namespace {

// The share of the updates in which the rate rises; nullopt: the line does not say it in numbers.
std::optional<double> warmup_share(const OwnCommand& own) {
  if (!own.has("warmup-steps")) return parse_real(own.value("warmup-ratio").value_or("0.1"));
  const std::optional<double> steps = parse_real(*own.value("warmup-steps"));
  const std::optional<double> all = parse_real(own.value("max-steps").value_or(""));
  if (steps == 0.0) return 0;
  if (!steps || !all || *all <= 0) return std::nullopt;
  return *steps / *all;
}

}  // namespace

double rate_after_warmup(const FallingRate& schedule) {
  if (!(schedule.warmup >= 0 && schedule.warmup < 1)) return NAN;
  return schedule.end +
         (schedule.rate - schedule.end) * std::pow(1 - schedule.warmup, schedule.power);
}

std::string rate_text(double rate) { return formatted("%.9g", rate); }

void match_falling_rate(const TrainingScript& script, OwnCommand& own, Remarks& remarks) {
  if (!script.falls_at_once || !own.trains()) return;
  const std::string typed = own.value("learning-rate").value_or("");
  const std::optional<double> rate = parse_real(typed), share = warmup_share(own),
                              end = parse_real(own.value("lr-end").value_or("0"));
  if (share && (*share == 0 || *share >= 1)) return;  // it falls all the time, or never
  const bool is_said = rate && share && end;
  const double peak =
      is_said ? rate_after_warmup({.rate = *rate, .end = *end, .warmup = *share}) : NAN;
  if (!std::isfinite(peak)) {
    return remarks.refuse(
        "--learning-rate",
        cat("falls from the first update on in ", script.name,
            ", and in berth after the warm-up. After a warm-up of a share w, berth needs 1 - w "
            "times the rate; write the rate, the warm-up and the updates as numbers"));
  }
  own.set("learning-rate", rate_text(peak));
  remarks.note("--learning-rate",
               cat("is ", rate_text(peak), " here and ", typed, " in ", script.name,
                   ", whose rate falls from the first update on. In berth it falls after the "
                   "warm-up, from what it has fallen to by then"));
}

}  // namespace berth
