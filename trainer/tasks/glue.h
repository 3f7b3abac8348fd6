#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/find_columns.h"
#include "trainer/model/task.h"

namespace berth {

// A task of the GLUE benchmark (Wang et al. 2018, arXiv:1804.07461), and how its files are
// distributed: as tab-separated tables without quoting.
struct GlueTask {
  std::string_view name;
  Task task;
  // The names of the files in the task's folder; "" where there is none. A task without rows to
  // train on scores models of another task.
  std::string_view train, eval, eval_mismatched, test;
  ColumnChoice columns;       // of the files train and eval
  ColumnChoice test_columns;  // of the file test, which has no labels
  bool headless = false;      // the files train and eval have no header line
  // In the order in which google-research/bert numbers them in its TFRecords.
  std::vector<std::string> labels;
  std::string_view metric;          // the benchmark's, or the first of two
  bool has_several_orders = false;  // other programs number the labels otherwise
};

// All of them.
std::span<const GlueTask> glue_tasks();
// Their names, separated by commas, for messages and --help.
std::string known_glue_tasks();
// The task of this name, in any spelling: "sst2", "SST-2", "sts-b". nullptr: there is none.
const GlueTask* find_glue_task(std::string_view name);

}  // namespace berth
