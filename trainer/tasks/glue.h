#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/find_columns.h"
#include "trainer/model/task.h"

namespace berth {

// A task of the GLUE benchmark (Wang et al. 2018, arXiv:1804.07461) as its files are distributed:
// tab-separated, nothing quoted.
struct GlueTask {
  std::string_view name;
  Task task;
  // The files of a task's folder; "" where there is none.
  std::string_view train, eval, eval_mismatched, test;
  ColumnChoice columns;       // of train and eval
  ColumnChoice test_columns;  // of test, which has no labels
  bool headless = false;      // train and eval have no header line
  // In the order that google-research/bert gives them, whose TFRecords hold their numbers.
  std::vector<std::string> labels;
  std::string_view metric;  // the benchmark's (of two the first)
};

std::span<const GlueTask> glue_tasks();
// Their names, separated by commas, for messages and --help.
std::string known_glue_tasks();
// By its name, any case: "sst2", "SST-2", "sts-b". nullptr: it is none.
const GlueTask* find_glue_task(std::string_view name);

}  // namespace berth
