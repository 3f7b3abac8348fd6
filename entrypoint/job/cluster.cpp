#include "entrypoint/job/cluster.h"

#include <utility>

#include "entrypoint/flags/flags.h"
#include "entrypoint/flags/help.h"
#include "entrypoint/platform/this_process.h"
#include "storage/base/clock.h"
#include "storage/base/log.h"
#include "storage/base/secrets.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"
#include "trainer/distributed/gloo_communicator.h"
#include "trainer/inputs/job_directory.h"
#include "trainer/inputs/job_record.h"

namespace berth {
namespace {

constexpr double kVerdict_s = 5;  // beyond the silence after which a worker counts as lost

// What all workers must agree on, because it decides what they compute and which messages they
// exchange.
// The precision is not part of it. Worker 0 sends it later, because only worker 0 can read the
// precision of an earlier job from the job directory.
std::string agreement(const CommandLine& command_line) {
  Settings settings = command_line.settings;
  if (traits(settings.mode).trains() && !command_line.gives("precision"))
    settings.precision = Settings().precision;
  return cat(version_text(), " ", common_settings(settings_table(settings)));
}

constexpr size_t kLeastSecretBytes = 16, kMostSecretBytes = 4096;

// The secret that the workers were given; empty: none. Throws kNotFound where its file is absent,
// and kUsage where it is too short to be one.
std::string given_secret(const Job& job) {
  const ClusterOptions& asked = job.command_line.cluster;
  std::string secret = asked.secret, where = "BERTH_CLUSTER_SECRET";
  if (!asked.secret_file.empty()) {
    where = cat("--cluster-secret-file ", asked.secret_file);
    const auto text = read_text(job.storage, Uri::parse(asked.secret_file));
    if (!text) throw Error(Code::kNotFound, "the file is absent", where);
    secret = *text;
  }
  secret = std::string(trimmed(secret));
  if (secret.empty() && asked.secret_file.empty()) return secret;
  if (secret.size() < kLeastSecretBytes || secret.size() > kMostSecretBytes) {
    throw Error(Code::kUsage,
                cat("the secret of the workers has ", secret.size(), " bytes, and it must have ",
                    kLeastSecretBytes, " to ", kMostSecretBytes),
                where, "make one by openssl rand -hex 32");
  }
  remember_secret(secret);
  return secret;
}

}  // namespace

Cluster::Cluster(const Job& job, std::function<bool()> is_finished)
    : job_(job),
      options_{.rank = job.command_line.cluster.rank.value(),
               .size = job.command_line.cluster.size.value(),
               .least = job.command_line.cluster.least > 0 ? job.command_line.cluster.least
                                                           : *job.command_line.cluster.size,
               .last_call_s = 2.0 * static_cast<double>(job.command_line.cluster.peer_timeout_s),
               .host = host_name(),
               .job = agreement(job.command_line),
               .secret = given_secret(job),
               .patience_s = static_cast<double>(job.command_line.cluster.rendezvous_timeout_s),
               .silence_s = static_cast<double>(job.command_line.cluster.peer_timeout_s),
               .is_finished = std::move(is_finished),
               .on_lost = job.end_process} {
  const ClusterOptions& asked = job.command_line.cluster;
  const bool through_storage = asked.leader_host.empty();
  if (!through_storage && options_.secret.empty()) {
    log_warning(
        "the workers have no secret, so any program that reaches their ports can join the job; "
        "give "
        "all of them the same --cluster-secret-file");
  }
  std::string own_address = asked.worker_address;
  KeyValueStore* store = nullptr;
  GatheredPlace gathered;
  if (options_.rank == 0) {
    std::string shared_secret;  // in rendezvous.json
    if (through_storage) {
      require_no_other_leader();
      if (options_.secret.empty()) {
        options_.secret = shared_secret = random_digits();
        remember_secret(shared_secret);
      }
    }
    leader_ = std::make_unique<Leader>(options_, asked.leader_port.value_or(0));
    store = leader_.get();
    if (through_storage) {
      write_text(job.storage, rendezvous(),
                 to_json({.host = own_address.empty() ? address_of_this_host() : own_address,
                          .port = leader_->port(),
                          .attempt = leader_->attempt(),
                          .secret = shared_secret}));
    }
    gathered = {.size = leader_->gather(job.stop),
                .attempt = leader_->attempt(),
                .secret = options_.secret};
    if (own_address.empty()) own_address = leader_->own_address();
    if (own_address.empty()) own_address = address_of_this_host();  // no other worker has come
  } else {
    follower_ = std::make_unique<Follower>(options_, [this] { return leader_place(); });
    store = follower_.get();
    const std::optional<GatheredPlace> joined = follower_->join(job.stop);
    if (!joined) return;
    gathered = *joined;
    if (own_address.empty()) own_address = follower_->own_address();
  }
  // The leader knows the name of a worker that is lost, and reports it first.
  end_process_where_gloo_throws(
      [silence_s = options_.silence_s, end = job.end_process](const Error& error) {
        sleep_s(silence_s + kVerdict_s);
        end(error);
      });
  try {
    ranks_ =
        connect_ranks({.rank = static_cast<int>(gathered.rank),
                       .size = static_cast<int>(gathered.size),
                       .address = own_address,
                       .proof =
                           [&](int from, int to) {
                             return fingerprint(gathered.secret,
                                                cat(gathered.attempt, " from ", from, " to ", to));
                           }},
                      *store);
  } catch (const Error& error) {
    leave(error);  // the others have come and wait for this one
    throw;
  }
  log_info(cat("worker ", gathered.rank, " of ", gathered.size, ": all of them are connected"));
}

Cluster::~Cluster() = default;

RankPlace Cluster::place() const {
  RankPlace place = job_.command_line.settings.training.place;
  place.rank = ranks_->rank();
  place.size = ranks_->size();
  return place;
}

KeyValueStore& Cluster::store() {
  if (leader_) return *leader_;
  return *follower_;
}

Uri Cluster::rendezvous() const {
  return JobDirectory(job_.command_line.settings.output).rendezvous();
}

std::optional<LeaderPlace> Cluster::leader_place() const {
  const ClusterOptions& asked = job_.command_line.cluster;
  if (!asked.leader_host.empty()) {
    return LeaderPlace{.host = asked.leader_host,
                       .port = asked.leader_port.value_or(0),
                       .secret = options_.secret};
  }
  const std::optional<std::string> text = read_text(job_.storage, rendezvous());
  std::optional<LeaderPlace> leader = text ? parse_leader_place(*text) : std::nullopt;
  if (!leader) return std::nullopt;
  if (!options_.secret.empty()) {
    leader->secret = options_.secret;
  } else if (!leader->secret.empty()) {
    remember_secret(leader->secret);
  }
  return leader;
}

void Cluster::require_no_other_leader() const {
  const std::optional<LeaderPlace> other = leader_place();
  if (!other || other->secret.empty() || !is_led(*other)) return;
  throw Error(Code::kInUse,
              cat("another worker 0 leads this job, at ", other->host, ":", other->port),
              rendezvous().to_string(), "wait until it ends, stop it, or use another directory");
}

void Cluster::finish() {
  if (leader_) {
    if (job_.command_line.cluster.leader_host.empty()) job_.storage.remove(rendezvous());
    leader_->finish();
  } else if (ranks_) {
    follower_->wait_until_finished(job_.stop);
  }
}

void Cluster::leave(const Error& error) {
  if (error.code() == Code::kPeerLost && ranks_) sleep_s(options_.silence_s + kVerdict_s);
  if (leader_) leader_->leave(exit_code(error.code()), error.what());
  if (follower_) follower_->leave(exit_code(error.code()), error.what());
}

void work_together(const Job& job, const std::function<void(Cluster& cluster)>& work,
                   std::function<bool()> is_finished) {
  Cluster cluster(job, std::move(is_finished));
  if (cluster.ranks() == nullptr) return log_info("the job was finished without this worker");
  try {
    work(cluster);
    cluster.finish();
  } catch (const Error& error) {
    cluster.leave(error);
    throw;
  } catch (const std::exception& failure) {
    cluster.leave(Error(Code::kInternal, failure.what()));
    throw;
  }
}

}  // namespace berth
