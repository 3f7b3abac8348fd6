// The JSON files of a job directory and of a model's folder. berth writes them and reads them back,
// and others may have written to them in between.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "entrypoint/flags/flags.h"
#include "entrypoint/gathering/gathering.h"
#include "entrypoint/job/earlier_job.h"
#include "entrypoint/job/resolve_settings.h"
#include "entrypoint/modes/seeds.h"
#include "entrypoint/modes/tools.h"
#include "entrypoint/report/heartbeat.h"
#include "entrypoint/report/mlflow/mlflow_run.h"
#include "entrypoint/training/finished_job.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/fenced_storage.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/objects_in_memory.h"
#include "tests/support/well_formed.h"
#include "trainer/inputs/job_record.h"
#include "trainer/inputs/sentence_files.h"
#include "trainer/loop/checkpoint_folder.h"
#include "trainer/model/config.h"

namespace berth {
namespace {

const CommandLine& asked() {
  static const CommandLine line = [] {
    constexpr const char* kArguments[] = {"--train-data-file", "a.csv", "--job-dir", "job"};
    return parse_flags(kArguments, {});
  }();
  return line;
}

// 0: state.json, 1: MANIFEST.json, 2: best.json. What was understood is written and understood
// again.
void read_checkpoint(uint8_t kind, Bytes input) {
  const std::string_view json = as_text(input);
  may_refuse([&] {
    if (kind % 3 == 0) {
      const std::string state = to_json(parse_training_state(json));
      require(to_json(parse_training_state(state)) == state);
    } else if (kind % 3 == 1) {
      const std::string manifest = manifest_json(parse_manifest(json));
      require(manifest_json(parse_manifest(manifest)) == manifest);
    } else {
      const std::string best = to_json(parse_best(json));
      require(to_json(parse_best(best)) == best);
    }
  });
}

void checkpoint(Bytes input) { read_chosen(input, read_checkpoint); }

// Calls what a later job asks of job.json.
void ask_earlier(const EarlierJob& job) {
  job.task();
  require(job.max_seq_length() >= kShortestSequence && job.vector_size() >= 0);
  may_refuse([&] { job.lora(); });
  may_refuse([&] { job.electra({}); });
  job.embedding();
  may_refuse([&] { job.model(); });
  may_refuse([&] { job.checkpoints(); });
  job.first_model({.model = "model"});
}

void job_record(Bytes input) {
  const std::string json(as_text(input));
  may_refuse([&] { ask_earlier(EarlierJob(Uri::parse("job"), json)); });
  const JobRecord now{.settings = settings_table(asked().settings)};
  may_refuse([&] { check_settings_match(json, as_known_to(json, now, unnamed_settings())); });
  may_refuse([&] { check_settings_match(json, with_length_of(json, now)); });
  may_refuse([&] { has_length_of(json, now); });
  may_refuse([&] { job_identity(with_tokenizer_files_of(json, now)); });
  may_refuse([&] { check_reading_matches(json, {.rules = {"a"}, .rows = "b"}, "job"); });
  may_refuse([&] { check_sources_match(json, now); });
  may_refuse([&] { check_sources_known(json, now); });
  ObjectsInMemory storage({{"job/job.json", json}});
  may_refuse([&] { precision_of_job(storage, JobDirectory(Uri::parse("job"))); });
  may_refuse([&] { compared_job(storage, "job"); });
}

const std::string& fitting_record() {
  static const std::string record =
      to_json(JobRecord{.settings = settings_table(asked().settings)});
  return record;
}

// metrics.json beside a job.json that fits.
void metrics(Bytes input) {
  const std::string json(as_text(input));
  ObjectsInMemory storage({{"job/job.json", fitting_record()},
                           {"job/metrics.json", json},
                           {"job/model/config.json", "{}"},
                           {"job/model/model.safetensors", "nine byte"}});
  may_refuse([&] { find_finished_job(storage, asked(), JobDirectory(Uri::parse("job"))); });
  may_refuse([&] { compared_job(storage, "job"); });
  may_refuse([&] { spreads({seeds_json(0, spreads({json, json}))}); });
  const OrderedJson parsed = parse_ordered_json(json);
  if (parsed.is_object()) evaluation_of(parsed);
}

// 0: job.json, 1: metrics.json, of a job that stands beside others on a page.
void read_compared(uint8_t kind, Bytes input) {
  const std::string json(as_text(input));
  ObjectsInMemory storage({{"job/job.json", kind == 0 ? json : fitting_record()},
                           {"job/metrics.json", kind == 0 ? "{}" : json}});
  require(xml_problem(compare_page({compared_job(storage, "job")}, 0)).empty());
}

void compared(Bytes input) {
  may_refuse([&] { read_chosen(input, read_compared); });
}

void rendezvous(Bytes input) {
  const auto place = parse_leader_place(as_text(input));
  if (!place) return;
  require(place->port > 0);
  require(to_json(parse_leader_place(to_json(*place)).value()) == to_json(*place));
}

void lease(Bytes input) {
  const auto read = parse_lease(std::string(as_text(input)));
  if (!read) return;
  const Json again = {{"holder", read->holder}, {"process", read->process}};
  require(parse_lease(to_text(again))->holder == read->holder);
}

void heartbeat(Bytes input) {
  const std::string_view json = as_text(input);
  require(attempt_after(json) >= 1);
  may_refuse([&] {
    judge_heartbeat(json,
                    {.now_s = 1.8e9, .max_age_s = 60, .is_running = [](std::string_view name) {
                       return name.size() % 2 == 0;
                     }});
  });
}

void mlflow_record(Bytes input) { recorded_run(as_text(input), "http://127.0.0.1:5000"); }

// 0: config.json, 1: input_meta_data.json; from 2 on, the files of
// sentence-transformers.
void read_model_file(uint8_t kind, Bytes input) {
  const std::string json(as_text(input));
  if (kind == 0) {
    // A classifier without labels has two of them when it is read again.
    const std::string written = to_config_json(parse_config(to_config_json(parse_config(json))));
    require(to_config_json(parse_config(written)) == written);
  } else if (kind == 1) {
    ObjectsInMemory storage({{"meta", json}});
    CommandLine line = asked();
    line.settings.data.input_meta_data_path = "meta";
    resolve_data(storage, line, line.settings);
  } else {
    constexpr const char* kFiles[] = {"modules.json", "sentence_bert_config.json",
                                      "config_sentence_transformers.json", "1_Pooling/config.json"};
    std::map<std::string, std::string> files = {
        {"m/config.json", "{}"},
        {"m/model.safetensors", ""},
        {"m/modules.json", R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
          {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])"},
        {"m/1_Pooling/config.json", R"({"pooling_mode_mean_tokens": true})"}};
    files[cat("m/", kFiles[kind % std::size(kFiles)])] = json;
    ObjectsInMemory storage(files);
    ModelFolder folder(storage, {.model = "m"});
    read_sentence_files(folder);
  }
}

void model_file(Bytes input) {
  may_refuse([&] { read_chosen(input, read_model_file); });
}

const FuzzTargets kJobTargets = {
    {"checkpoint", checkpoint},       {"compared", compared},     {"heartbeat", heartbeat},
    {"job_record", job_record},       {"lease", lease},           {"metrics", metrics},
    {"mlflow_record", mlflow_record}, {"model_file", model_file}, {"rendezvous", rendezvous}};

}  // namespace
}  // namespace berth
