#pragma once

#include <exception>
#include <memory>
#include <optional>

#include "entrypoint/job/job.h"
#include "entrypoint/job/output_locks.h"
#include "entrypoint/report/heartbeat.h"
#include "entrypoint/report/html_report.h"
#include "entrypoint/training/training_inputs.h"
#include "entrypoint/training/training_plan.h"
#include "trainer/engine/device.h"
#include "trainer/inputs/job_directory.h"
#include "trainer/inputs/job_record.h"
#include "trainer/loop/checkpoint.h"
#include "trainer/loop/evaluate_retrieval.h"
#include "trainer/loop/train.h"
#include "trainer/loop/training_state.h"

namespace berth {

// A training job in its directory, with the model in memory. It holds the directory's lease, and
// keeps heartbeat.json current, as long as it lives. Borrows all arguments of its constructor.
class TrainingRun {
 public:
  // The third phase: takes the directories unless Job::has_leases, makes the engine, and fills it
  // from the newest checkpoint or, in a new job, from the model. Then writes job.json or, in a
  // resumed job, compares it with what was read. Throws kInUse where another process holds one of
  // them, and kIncompatible where the directory or its checkpoints belong to another job.
  TrainingRun(Job& job, const JobDirectory& directory, TrainingInputs& inputs,
              const TrainingPlan& plan, Device& device);
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  // The fourth phase: trains from there to the end of the plan. Adds the observers of the job to
  // `job.output`. Called once. Throws as berth::train() does.
  TrainResult train(TrainingData& data);

  Engine& engine() { return *engine_; }
  // Makes room for the results, which are worth more than older checkpoints.
  CheckpointRoom& room() { return checkpoints_.room(); }

  // Says in the job's heartbeat that this phase begins.
  void enter(JobPhase phase) { heartbeat_.enter(phase); }

 private:
  TrainingState restore();
  // Fills the parameters with their values before the first update. A collective.
  void fill(ParameterTensors& values);
  void fill_from_model(ParameterTensors& values);
  // Whether this worker writes to the job's directories.
  bool leads() const { return job_.ranks == nullptr || job_.ranks->rank() == 0; }
  void complete_record();
  void change_length();
  // How the loop evaluates on the retrieval set; nullopt: there is none.
  std::optional<RetrievalEvaluation> retrieval_evaluation() const;
  void keep_record();
  void add_observers();
  void add_mlflow();
  void add_report();
  void end_hung(double silent_s) const;
  void begin_probes(Observer& observer);

  // Removes the observers of the job. They store their remaining records while the lease is held.
  class LastActs {
   public:
    explicit LastActs(Job& job) : job_(job), observers_before_(job.output.observers()) {}
    ~LastActs() {
      if (std::uncaught_exceptions() > 0) job_.fences.begin_last_acts();
      job_.output.keep_observers(observers_before_);
    }
    LastActs(const LastActs&) = delete;
    LastActs& operator=(const LastActs&) = delete;

   private:
    Job& job_;
    const size_t observers_before_;
  };

  Job& job_;
  const JobDirectory& directory_;
  TrainingInputs& inputs_;
  const TrainingPlan& plan_;
  Device& device_;
  const std::unique_ptr<const OutputLocks> locks_;  // null: Job::has_leases
  Heartbeat heartbeat_;  // after the locks, because only their holder writes it
  const std::unique_ptr<Engine> engine_;
  CheckpointStore checkpoints_;
  TrainingState state_;
  JobRecord record_;
  HtmlReport* report_ = nullptr;    // one of the observers; null: the job writes none
  const LastActs last_acts_{job_};  // the last member, so that it ends before the others
};

// The last phase: evaluates the model on MNLI's second set where there is one, exports the finished
// model, and reports the results. metrics.json is written last, because it says that the job is
// finished. The engine of `run` holds the trained model. Where the disk is full, older checkpoints
// make room. Throws what storage throws, and kStopped.
void write_results(Job& job, const JobDirectory& directory, const TrainingInputs& inputs,
                   const TrainingPlan& plan, TrainingRun& run, const TrainResult& result);

}  // namespace berth
