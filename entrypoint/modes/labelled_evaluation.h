#pragma once

#include "entrypoint/job/finished_model.h"
#include "entrypoint/job/job.h"
#include "trainer/loop/evaluate.h"

namespace berth {

// Reads labelled rows and evaluates the model on them. Throws kStopped where a signal came, and
// kBadData where the loss is not finite.
EvaluationResult evaluate_rows(Job& job, FinishedModel& finished, const DataRequest& request);

// Evaluates the model once more in fp32, and writes both results to the log. `in_int8` is what
// evaluate_rows() returned for the rows to evaluate on. Afterwards the model computes in fp32.
EvaluationResult tell_cost_of_int8(Job& job, FinishedModel& finished,
                                   const EvaluationResult& in_int8);

}  // namespace berth
