#include "trainer/loop/evaluate_retrieval.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <future>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/base/thread_pool.h"
#include "trainer/metrics/retrieval.h"

namespace berth {
namespace {

// The passages of a block. Texts of similar lengths share batches, so a block has many of them.
constexpr size_t kBlock = 2048;

// Texts as token ids.
using TokenizedTexts = std::vector<std::vector<int32_t>>;

// The first `size` numbers of each vector of `width` numbers, scaled to length 1.
std::vector<float> first_numbers(std::span<const float> vectors, size_t width, size_t size) {
  std::vector<float> shorter;
  for (size_t begin = 0; begin < vectors.size(); begin += width) {
    const auto first = vectors.subspan(begin, size);
    shorter.insert(shorter.end(), first.begin(), first.end());
    scale_to_one(std::span(shorter).last(size));
  }
  return shorter;
}

// Embeds texts by an engine whose task makes embeddings.
class Embedder {
 public:
  Embedder(Engine& engine, const RetrievalReading& reading, const std::atomic<bool>& stop)
      : engine_(engine), reading_(reading), stop_(stop) {}

  std::vector<int32_t> tokens(const std::string& prompt, const std::string& text) const {
    return reading_.tokenizer.encode(prompt + text, std::nullopt, reading_.max_seq_length)
        .input_ids;
  }

  // The embeddings of the texts, scaled to length 1, one behind the other. Calls `did` with the
  // number of texts that are done. Incomplete if the job is stopped meanwhile.
  template <typename Did>
  std::vector<float> embed(const TokenizedTexts& texts, const Did& did) {
    std::vector<size_t> order(texts.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return texts[i].size(); });
    std::vector<float> vectors;
    for (size_t done = 0; done < order.size() && !stop_;) {
      const std::span<const size_t> batch = next_batch(texts, std::span(order).subspan(done));
      LossSum none;
      const std::vector<float> logits = engine_.infer(pack(texts, batch), none);
      const size_t own_width = logits.size() / batch.size();
      const auto compared = static_cast<size_t>(reading_.compared_size);
      width_ = compared > 0 ? std::min(compared, own_width) : own_width;
      vectors.resize(texts.size() * width_);
      for (size_t i = 0; i < batch.size(); ++i) {
        const std::span<float> vector = std::span(vectors).subspan(batch[i] * width_, width_);
        std::copy_n(logits.begin() + static_cast<ptrdiff_t>(i * own_width), width_, vector.begin());
        scale_to_one(vector);
      }
      done += batch.size();
      did(done);
    }
    return vectors;
  }

  // The same, or what an earlier job has saved of these texts by this name.
  template <typename Did>
  std::vector<float> embed_once(const std::string& name, const TokenizedTexts& texts,
                                const Did& did) {
    SavedVectors* const saved = reading_.saved;
    if (saved == nullptr || texts.empty()) return embed(texts, did);
    if (auto found = saved->load(name, texts)) {
      width_ = found->size() / texts.size();
      did(texts.size());
      return std::move(*found);
    }
    std::vector<float> vectors = embed(texts, did);
    const bool are_good = std::ranges::all_of(vectors, [](float x) { return std::isfinite(x); });
    if (!stop_ && are_good) saved->save(name, texts, vectors);
    return vectors;
  }

  size_t width() const { return width_; }  // of the last embedding

 private:
  // The first texts that fit a batch; at least one.
  std::span<const size_t> next_batch(const TokenizedTexts& texts,
                                     std::span<const size_t> order) const {
    size_t count = 0;
    int64_t tokens = 0;
    while (count < order.size() && static_cast<int64_t>(count) < reading_.limits.sequences) {
      tokens += std::ssize(texts[order[count]]);
      if (count > 0 && tokens > reading_.limits.tokens) break;
      ++count;
    }
    return order.first(count);
  }

  static PackedBatch pack(const TokenizedTexts& texts, std::span<const size_t> which) {
    PackedBatch batch;
    for (const size_t text : which) {
      const std::vector<int32_t>& ids = texts[text];
      batch.input_ids.insert(batch.input_ids.end(), ids.begin(), ids.end());
      for (size_t i = 0; i < ids.size(); ++i) {
        batch.position_ids.push_back(static_cast<int32_t>(i));
      }
      batch.cu_seqlens.push_back(static_cast<int32_t>(batch.input_ids.size()));
    }
    batch.token_type_ids.resize(batch.input_ids.size());
    return batch;
  }

  Engine& engine_;
  const RetrievalReading& reading_;
  const std::atomic<bool>& stop_;
  size_t width_ = 0;
};

// Throws kBadData where a vector has a number that is not finite. `name` names a vector.
template <typename Name>
void require_finite_vectors(std::span<const float> vectors, size_t width, const Name& name) {
  const auto bad = std::ranges::find_if(vectors, [](float value) { return !std::isfinite(value); });
  if (bad == vectors.end()) return;
  throw Error(Code::kBadData, "the model computes a number that is not finite",
              name(static_cast<size_t>(bad - vectors.begin()) / width),
              "its parameters may be damaged, or come from a job that diverged");
}

std::string cut(const std::string& text) {
  constexpr size_t kLongest = 600;
  return shortened(text, kLongest);
}

// The cosines of queries with the documents that their judgements name.
class JudgedScores {
 public:
  JudgedScores(const RetrievalSet& set, std::vector<float> queries, size_t width)
      : queries_(std::move(queries)), width_(width) {
    for (size_t query = 0; query < set.queries().size(); ++query) {
      const std::vector<Judgement>& judgements = set.queries()[query].judgements;
      scores_.emplace_back(judgements.size());
      for (size_t i = 0; i < judgements.size(); ++i) {
        pairs_.push_back({judgements[i].document, query, i});
      }
    }
    std::ranges::sort(pairs_, {}, &JudgedPair::document);
  }

  // The vectors of the documents from number `first` on.
  void add(uint32_t first, std::span<const float> vectors) {
    const auto end = first + static_cast<uint32_t>(vectors.size() / width_);
    auto pair = std::ranges::lower_bound(pairs_, first, {}, &JudgedPair::document);
    for (; pair != pairs_.end() && pair->document < end; ++pair) {
      const float* const query = &queries_[pair->query * width_];
      const float* const document = &vectors[(pair->document - first) * width_];
      double sum = 0;
      for (size_t i = 0; i < width_; ++i) sum += double{query[i]} * double{document[i]};
      scores_[pair->query][pair->place] = static_cast<float>(sum);
    }
  }

  // Every rank knows the scores of its own documents. The others are 0 there.
  void add_up(Communicator& ranks) {
    std::vector<double> own;
    for (const std::vector<float>& scores : scores_) {
      own.insert(own.end(), scores.begin(), scores.end());
    }
    const std::vector<std::vector<double>> all = gather_values(ranks, own);
    size_t place = 0;
    for (std::vector<float>& scores : scores_) {
      for (float& score : scores) {
        double sum = 0;
        for (const std::vector<double>& of_rank : all) sum += of_rank[place];
        score = static_cast<float>(sum);
        ++place;
      }
    }
  }

  std::vector<std::vector<float>> take() { return std::move(scores_); }

 private:
  struct JudgedPair {
    uint32_t document;
    size_t query, place;
  };
  const std::vector<float> queries_;
  const size_t width_;
  std::vector<JudgedPair> pairs_;  // in the order of the documents
  std::vector<std::vector<float>> scores_;
};

// One run over the queries and the corpus.
class Retrieval {
 public:
  Retrieval(Engine& engine, const RetrievalSet& set, const RetrievalReading& reading,
            Observer& observer, const std::atomic<bool>& stop, Communicator* ranks)
      : set_(set),
        reading_(reading),
        observer_(observer),
        stop_(stop),
        ranks_(ranks),
        embedder_(engine, reading, stop),
        pool_(reading.threads) {}

  // nullopt: stopped.
  std::optional<EvaluationResult> run() {
    std::vector<float> queries = embed_queries();
    if (is_stopped()) return std::nullopt;
    const size_t width = embedder_.width();
    std::vector<SizedSearch> searches;
    searches.push_back({width, search_for(queries, width)});
    for (const int64_t nested : reading_.nested_sizes) {
      const auto size = static_cast<size_t>(nested);
      if (size >= width) continue;
      searches.push_back({size, search_for(first_numbers(queries, width, size), size)});
    }
    if (!search_corpus(searches, nullptr)) return std::nullopt;
    if (ranks_ != nullptr) {
      for (SizedSearch& sized : searches) share_found(*sized.search);
    }
    EvaluationResult result = score(*searches.front().search);
    for (const SizedSearch& sized : std::span(searches).subspan(1)) {
      const std::string main = RetrievalMetrics::names().front();
      result.scores.metrics[cat(main, "_dim_", sized.size)] =
          score(*sized.search).scores.metrics.at(main);
    }
    return result;
  }

  // nullopt: stopped.
  std::optional<FoundPassages> find(size_t depth) {
    std::vector<float> queries = embed_queries();
    if (is_stopped()) return std::nullopt;
    JudgedScores judged(set_, queries, embedder_.width());
    std::vector<SizedSearch> searches;
    searches.push_back(
        {embedder_.width(), std::make_unique<ExactSearch>(std::move(queries), embedder_.width(),
                                                          depth, set_.places(), pool_)});
    if (!search_corpus(searches, &judged)) return std::nullopt;
    ExactSearch& search = *searches.front().search;
    if (ranks_ != nullptr) {
      share_found(search);
      judged.add_up(*ranks_);
    }
    FoundPassages found{.judged = judged.take()};
    for (size_t query = 0; query < search.queries(); ++query) {
      found.rankings.push_back(search.ranking(query));
    }
    return found;
  }

 private:
  // A search that compares the first `size` numbers of the embeddings.
  struct SizedSearch {
    size_t size = 0;
    std::unique_ptr<ExactSearch> search;
  };

  std::unique_ptr<ExactSearch> search_for(std::vector<float> queries, size_t size) {
    return std::make_unique<ExactSearch>(std::move(queries), size, RetrievalMetrics::kDepth,
                                         set_.places(), pool_);
  }

  bool is_stopped() const { return ranks_ == nullptr ? stop_.load() : any_rank(*ranks_, stop_); }
  size_t rank() const { return ranks_ == nullptr ? 0 : static_cast<size_t>(ranks_->rank()); }
  size_t ranks() const { return ranks_ == nullptr ? 1 : static_cast<size_t>(ranks_->size()); }

  void tell(size_t done) const {
    const size_t all = set_.queries().size() + set_.documents();
    observer_.on(Evaluating{.done = static_cast<int64_t>(std::min(done, all)),
                            .total = static_cast<int64_t>(all)});
  }

  // Every rank embeds all queries, which are few.
  std::vector<float> embed_queries() {
    TokenizedTexts texts;
    for (const RetrievalQuery& query : set_.queries()) {
      texts.push_back(embedder_.tokens(reading_.prompts.query, query.text));
    }
    std::vector<float> vectors =
        embedder_.embed_once("queries", texts, [this](size_t done) { tell(done); });
    if (stop_) return vectors;
    require_finite_vectors(vectors, embedder_.width(), [this](size_t query) {
      return cat(set_.name(), ": query ", quoted(set_.queries()[query].id));
    });
    return vectors;
  }

  TokenizedTexts read_block(size_t begin) const {
    TokenizedTexts texts;
    const size_t end = std::min(begin + kBlock, set_.documents());
    for (size_t i = begin; i < end; ++i) {
      const Example document = set_.document(static_cast<uint32_t>(i));
      texts.push_back(embedder_.tokens(reading_.prompts.passage, document.texts[0]));
    }
    return texts;
  }

  // The ranks take the blocks in turn. A stop waits for the end of a block where there are
  // several ranks. False: stopped.
  bool search_corpus(std::span<const SizedSearch> searches, JudgedScores* judged) {
    const size_t step = kBlock * ranks();
    TokenizedTexts now = read_block(rank() * kBlock);
    for (size_t round = 0; round < set_.documents(); round += step) {
      const size_t begin = round + rank() * kBlock;
      // While the engine computes, another thread reads and tokenizes the next block.
      std::future<TokenizedTexts> next =
          std::async(std::launch::async, [&] { return read_block(begin + step); });
      const std::vector<float> vectors = embedder_.embed_once(
          cat("passages-", begin), now,
          [&](size_t done) { tell(set_.queries().size() + round + done * ranks()); });
      next.wait();
      if (is_stopped()) return false;
      if (!vectors.empty()) {
        require_finite_vectors(vectors, embedder_.width(), [&](size_t document) {
          const auto number = static_cast<uint32_t>(begin + document);
          return cat(set_.name(), ": passage ", quoted(set_.document(number).id));
        });
        for (const auto& [size, search] : searches) {
          const bool is_whole = size == embedder_.width();
          search->add(static_cast<uint32_t>(begin),
                      is_whole ? vectors : first_numbers(vectors, embedder_.width(), size));
        }
        if (judged != nullptr) judged->add(static_cast<uint32_t>(begin), vectors);
      }
      now = next.get();
    }
    return true;
  }

  // Gives every rank what the others found.
  void share_found(ExactSearch& search) {
    std::vector<std::vector<FoundDocument>> own;
    for (size_t query = 0; query < search.queries(); ++query) own.push_back(search.ranking(query));
    std::vector<FoundDocument> flat;
    std::vector<double> counts;
    for (const std::vector<FoundDocument>& found : own) {
      flat.insert(flat.end(), found.begin(), found.end());
      counts.push_back(static_cast<double>(found.size()));
    }
    const std::vector<std::vector<double>> all_counts = gather_values(*ranks_, counts);
    const std::vector<std::vector<std::byte>> all =
        gather_bytes(*ranks_, std::as_bytes(std::span(flat)));
    for (size_t r = 0; r < all.size(); ++r) {
      if (r == rank()) continue;
      std::vector<FoundDocument> found(all[r].size() / sizeof(FoundDocument));
      if (!found.empty()) std::memcpy(found.data(), all[r].data(), all[r].size());
      std::span<const FoundDocument> rest = found;
      for (size_t query = 0; query < search.queries(); ++query) {
        const auto count = static_cast<size_t>(all_counts[r][query]);
        search.add_found(query, rest.first(count));
        rest = rest.subspan(count);
      }
    }
  }

  EvaluationResult score(const ExactSearch& search) const {
    RetrievalMetrics metrics;
    struct Scored {
      size_t query;
      double gain;
    };
    std::vector<Scored> scored;
    for (size_t query = 0; query < search.queries(); ++query) {
      std::vector<uint32_t> ranking;
      for (const FoundDocument& found : search.ranking(query)) ranking.push_back(found.document);
      const double gain = metrics.add(ranking, set_.queries()[query].judgements);
      if (gain < 1) scored.push_back({query, gain});
    }
    std::ranges::stable_sort(scored, std::less(), &Scored::gain);
    EvaluationResult result{.examples = std::ssize(set_.queries()),
                            .loss = std::numeric_limits<double>::quiet_NaN(),
                            .scores = {.metrics = metrics.metrics()},
                            .has_loss = false};
    result.scores.note = cat("of ", std::ssize(set_.queries()),
                             set_.queries().size() == 1 ? " query in " : " queries in ",
                             counted(set_.documents(), "passage"));
    for (size_t i = 0; i < std::min(scored.size(), kMostMissed); ++i) {
      result.scores.details.missed.push_back(
          missed(scored[i].query, scored[i].gain, search.ranking(scored[i].query)));
    }
    return result;
  }

  MissedQuery missed(size_t number, double gain, const std::vector<FoundDocument>& ranking) const {
    const RetrievalQuery& query = set_.queries()[number];
    // Of equally relevant passages, the one that was found first, or that was judged first.
    const auto rank_of = [&](const Judgement& judgement) {
      const auto found = std::ranges::find(ranking, judgement.document, &FoundDocument::document);
      return found - ranking.begin();
    };
    const auto is_less_wanted = [&](const Judgement& a, const Judgement& b) {
      return a.grade != b.grade ? a.grade < b.grade : rank_of(a) > rank_of(b);
    };
    const Judgement wanted = *std::ranges::max_element(query.judgements, is_less_wanted);
    const Example wanted_passage = set_.document(wanted.document);
    MissedQuery miss{.id = cut(query.id),
                     .query = cut(query.text),
                     .wanted_id = cut(wanted_passage.id),
                     .wanted = cut(wanted_passage.texts[0]),
                     .ndcg = gain};
    if (const auto at = rank_of(wanted); at < std::ssize(ranking)) miss.rank = at + 1;
    if (!ranking.empty()) {
      const Example first = set_.document(ranking[0].document);
      miss.first_id = cut(first.id);
      miss.first = cut(first.texts[0]);
    }
    return miss;
  }

  static constexpr size_t kMostMissed = 10;

  const RetrievalSet& set_;
  const RetrievalReading& reading_;
  Observer& observer_;
  const std::atomic<bool>& stop_;
  Communicator* const ranks_;
  Embedder embedder_;
  ThreadPool pool_;
};

}  // namespace

std::string describe(const SearchPrompts& prompts) {
  if (prompts.query.empty() && prompts.passage.empty()) {
    return "retrieval: the model has no prompts for queries and passages";
  }
  const auto one = [](const std::string& prompt) {
    return prompt.empty() ? std::string("nothing") : quoted(prompt);
  };
  return cat("retrieval: ", one(prompts.query), " stands before each query and ",
             one(prompts.passage), " before each passage (the model's prompts)");
}

std::optional<EvaluationResult> evaluate_retrieval(Engine& engine, const RetrievalSet& set,
                                                   const RetrievalReading& reading,
                                                   Observer& observer,
                                                   const std::atomic<bool>& stop,
                                                   Communicator* ranks) {
  const auto start = std::chrono::steady_clock::now();
  std::optional<EvaluationResult> result =
      Retrieval(engine, set, reading, observer, stop, ranks).run();
  if (!result) return result;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  result->seconds = elapsed.count();
  return result;
}

std::optional<FoundPassages> search_passages(Engine& engine, const RetrievalSet& set,
                                             const RetrievalReading& reading, size_t depth,
                                             Observer& observer, const std::atomic<bool>& stop,
                                             Communicator* ranks) {
  return Retrieval(engine, set, reading, observer, stop, ranks).find(depth);
}

EvaluationResult with_retrieval(EvaluationResult rows, EvaluationResult retrieval) {
  for (const auto& [name, value] : retrieval.scores.metrics) rows.scores.metrics[name] = value;
  rows.scores.details.missed = std::move(retrieval.scores.details.missed);
  rows.scores.note = std::move(retrieval.scores.note);
  rows.seconds += retrieval.seconds;
  return rows;
}

}  // namespace berth
