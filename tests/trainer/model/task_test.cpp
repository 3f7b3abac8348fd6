#include "trainer/model/task.h"

#include <gtest/gtest.h>

#include <set>

namespace berth {
namespace {

TEST(Tasks, AreFoundByTheNamesThatTheFieldUses) {
  EXPECT_EQ(find_task("ner"), Task::kTokenClassification);
  EXPECT_EQ(find_task("Token-Classification"), Task::kTokenClassification);
  EXPECT_EQ(find_task("squad"), Task::kQuestionAnswering);
  EXPECT_EQ(find_task(""), std::nullopt);
  EXPECT_EQ(find_task("translation"), std::nullopt);
}

TEST(Tasks, AShortNameIsAmongTheNamesAndIsShown) {
  for (const TaskTraits& task : task_table()) {
    EXPECT_TRUE(task.short_name.empty() || is_named(task.task, task.short_name)) << task.names[0];
  }
  EXPECT_NE(known_tasks().find("masked_lm (or mlm), "), std::string::npos);
}

TEST(Tasks, ANameBelongsToOneTask) {
  std::set<std::string_view> seen;
  for (const TaskTraits& task : task_table()) {
    EXPECT_FALSE(task.names[0].empty());
    for (const std::string_view name : task.names) {
      EXPECT_TRUE(name.empty() || seen.insert(name).second) << name;
    }
  }
}

TEST(Tasks, AnOfferedTaskIsFoundByItsOwnName) {
  for (const TaskTraits& task : task_table()) {
    const std::optional<Task> expected = task.is_offered ? std::optional(task.task) : std::nullopt;
    EXPECT_EQ(find_task(task_name(task.task)), expected) << task.names[0];
  }
}

TEST(Tasks, TheUsualTaskHasTheseLabels) {
  for (const TaskTraits& task : task_table()) {
    EXPECT_EQ(traits(usual_task(task.labels)).labels, task.labels);
  }
  EXPECT_EQ(usual_task(LabelKind::kClass), kDefaultTask);
}

TEST(Tasks, OutputsAreClassesOrAFixedNumber) {
  for (const TaskTraits& task : task_table()) {
    // Tasks that make their labels have as many outputs as the model or its teacher says.
    const bool compares = task.rows == HeadRows::kGroups;  // then it is the loss that says so
    const bool is_fixed = task.outputs > 0 || !task.has_label_column || compares;
    EXPECT_EQ(task.has_classes, !is_fixed) << task.names[0];
    EXPECT_EQ(task.rows == HeadRows::kTokens, !task.token_head.empty()) << task.names[0];
  }
}

}  // namespace
}  // namespace berth
