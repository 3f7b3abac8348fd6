#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/similarity_rules.h"

namespace berth {
namespace {

auto distillation(auto member) {
  return place(&CommandLine::settings, &Settings::distillation, &DistillationOptions::loss, member);
}

bool has_teacher(const Settings& settings) { return !settings.distillation.teacher.empty(); }

auto electra(auto member) { return place(&CommandLine::settings, &Settings::electra, member); }

}  // namespace

std::vector<Flag> model_flags() {
  using enum Effect;
  return {
      {"model, init-checkpoint, model-name-or-path, predict-checkpoint-path",
       "The model to start from: a directory, archive (.tar.gz, .zip) or file in Hugging Face "
       "layout, or a TensorFlow checkpoint. It may also be the job directory of an earlier job, "
       "or the name of a model on the Hugging Face Hub (bert-base-uncased, org/name@revision).",
       path_value("PATH", model_option(&ModelOptions::model)),
       FlagRole(kPlace, kInReading | kInExport | kInTokenize | kInConvert, kVaried)
           .needed_as(kNeedsModel),
       "the bundled encoder"},
      {"teacher",
       "A model to learn from (distillation), in any form that --model takes. With --task mlm the "
       "encoder learns the teacher's output for texts (--distillation-target). With --task "
       "similarity it learns the teacher's embeddings or scores (--similarity-loss). Else the "
       "teacher is a fine-tuned model with the same labels, whose outputs are learnt.",
       path_value("PATH", place(&CommandLine::settings, &Settings::distillation,
                                &DistillationOptions::teacher)),
       FlagRole(kDecides, kInTraining, kTaskIsRefusedLater).heeded_by(tasks_that::have_a_teacher),
       "none"},
      {"distillation-target",
       "With --task mlm: learn the teacher's embedding of each text, the mean of its last hidden "
       "states, or the last hidden state of each token. The latter needs the teacher's own "
       "vocabulary.",
       choice_value<DistillationTarget>(
           place(&CommandLine::settings, &Settings::distillation, &DistillationOptions::target),
           {{"embedding", DistillationTarget::kEmbedding},
            {"hidden_states", DistillationTarget::kHiddenStates}}),
       FlagRole(kDecides, kInTraining).heeded_by(tasks_that::learn_vectors)},
      {"distillation-weight, distillation-alpha, alpha-ce",
       "How much a classifier's loss follows the teacher's outputs; the rest follows the labels.",
       real_value(distillation(&DistillationLoss::weight),
                  {0, 1, true, true, "a number from 0 to 1"}),
       FlagRole(kDecides, kInTraining)
           .heeded_by(tasks_that::mix_labels)
           .heeded_where(has_teacher, "give a --teacher")},
      {"distillation-temperature",
       "The divisor of teacher's and student's logits before their probabilities are compared.",
       real_value(distillation(&DistillationLoss::temperature),
                  {0, 1000, false, true, "a number above 0, at most 1000"}),
       FlagRole(kDecides, kInTraining)
           .heeded_by(tasks_that::have_one_class)
           .heeded_where(has_teacher, "give a --teacher")},
      {"generator",
       "For --task electra: the generator to go on with, in any form that --model takes, such as "
       "JOB_DIR/model/generator. It uses the model's embeddings.",
       path_value("PATH", electra(&ElectraOptions::generator)),
       FlagRole(kDecides, kEverywhere, kTaskIsRefusedLater).heeded_by(tasks_that::replace_tokens),
       "a new generator, or the finished model's own"},
      {"generator-hidden-fraction, generator-hidden-size",
       "For --task electra: the hidden size, heads and intermediate size of a new generator, as a "
       "fraction of the discriminator's.",
       real_value(electra(&ElectraOptions::generator_hidden_fraction),
                  {0, 1, false, true, "a number above 0, at most 1"}),
       FlagRole(kDecides, kEverywhere)
           .heeded_by(tasks_that::replace_tokens)
           .heeded_where(
               [](const Settings& settings) { return settings.electra.generator.empty(); },
               "leave --generator out")},
      {"discriminator-weight, disc-weight",
       "For --task electra: the factor of the discriminator's loss before the generator's is "
       "added.",
       real_value(electra(&ElectraOptions::discriminator_weight),
                  {0, 1e6, true, true, "a number from 0 to 1e6"}),
       FlagRole(kDecides, kEverywhere, kAsTrained).heeded_by(tasks_that::replace_tokens)},
      {"init",
       "Start from the parameters of the model, or from random parameters of the same shapes.",
       choice_value<Init>(model_option(&ModelOptions::init),
                          {{"pretrained", Init::kPretrained}, {"random", Init::kRandom}}),
       {kDecides, kInTraining}},
      {"ignore-mismatched-sizes",
       "Start the head at random where the model was fine-tuned for another number of classes. "
       "Without it such a model ends the job.",
       switch_value(model_option(&ModelOptions::ignores_mismatched_sizes)),
       {kDecides, kEverywhere}},
      {"model-config, bert-config-file, config, config-name",
       "A config.json or bert_config.json that describes the encoder.",
       path_value("FILE", model_option(&ModelOptions::model_config)),
       {kPlace, kEverywhere | kInExport | kInConvert},
       "the model's own"},
      {"vocab-file",
       "A vocab.txt that lies outside the model's directory.",
       path_value("FILE", model_option(&ModelOptions::vocab_file)),
       {kPlace, kInReading | kInTokenize},
       "the model's own"},
      {"do-lower-case",
       "Convert the text to lower case and strip accents.",
       switch_value(model_option(&ModelOptions::do_lower_case)),
       {kDecides, kInReading | kInTokenize | kInTrainTokenizer},
       "what the model's tokenizer says"},
      {"max-seq-length, max-seq-len, max-length",
       "The longest input in tokens, including [CLS] and [SEP]. Longer texts are truncated.",
       integer_value(data_option(&DataOptions::max_seq_length),
                     {kShortestSequence, kLongestSequence}),
       {kDecides, kInReading, kAsTrained | kVaried}},
  };
}

namespace {

auto embedding(auto member) { return place(&CommandLine::settings, &Settings::embedding, member); }

constexpr ModeSet kPromptModes = kInTraining | kInEval | kInPredict | kInMine;

}  // namespace

std::vector<Flag> embedding_flags() {
  using enum Effect;
  return {
      {"pooling, pooling-mode",
       "For --mode embed and --task similarity: how the hidden states of a text's tokens become "
       "its embedding. mean is their mean, cls the first token's state, and max the largest value "
       "of each dimension.",
       choice_value<Pooling>(
           embedding(&EmbeddingOptions::pooling),
           {{"mean", Pooling::kMean}, {"cls", Pooling::kCls}, {"max", Pooling::kMax}}),
       FlagRole(kDecides, kEverywhere | kInExport | kInConvert).heeded_by(tasks_that::compare),
       "as the model's sentence-transformers files say, else mean"},
      {"normalize-embeddings",
       "For --mode embed: scale each embedding to length 1. With --task similarity the finished "
       "model does so. Most losses compare directions only; margin_mse, distill_kl and "
       "embedding_mse compare lengths, too.",
       switch_value(embedding(&EmbeddingOptions::normalizes)),
       FlagRole(kDecides, kEverywhere | kInExport | kInConvert).heeded_by(tasks_that::compare),
       "as the model's sentence-transformers files say, else false"},
      {"similarity-loss",
       "For --task similarity. With labels, cosine is the squared error between the cosine of two "
       "embeddings and the label. cosent and angle rank pairs by their labels. contrastive and "
       "online_contrastive take labels 0 and 1. Without labels, in_batch_negatives lets each text "
       "find its partner among the partners and negatives of all rows of its micro-batch. In "
       "symmetric, partners must find texts, too. triplet takes rows with one negative. "
       "margin_mse and distill_kl learn a teacher's scores, and embedding_mse and "
       "embedding_cosine the embeddings of --teacher. With --gradient-accumulation-steps, the "
       "micro-batches are smaller and do not see each other.",
       choice_value<SimilarityLoss>(embedding(&EmbeddingOptions::loss),
                                    {similarity_losses().begin(), similarity_losses().end()}),
       FlagRole(kDecides, kEverywhere, kAsTrained).heeded_by(tasks_that::compare),
       "cosine where rows have labels, else in_batch_negatives"},
      {"similarity-scale",
       "For --similarity-loss in_batch_negatives, symmetric, cosent and angle: the factor of "
       "cosines, which is 1 divided by the temperature. For distill_kl: the factor of the model's "
       "scores.",
       optional_real_value(embedding(&EmbeddingOptions::scale),
                           {0, 1e6, false, true, "a number above 0"}),
       FlagRole(kDecides, kEverywhere, kAsTrained).heeded_by(tasks_that::compare),
       "1 for distill_kl, else 20"},
      {"similarity-margin",
       "For --similarity-loss triplet, contrastive and online_contrastive: by how much unlike "
       "texts should be farther apart.",
       optional_real_value(embedding(&EmbeddingOptions::margin),
                           {0, 1e6, true, true, "a number from 0"}),
       FlagRole(kDecides, kEverywhere, kAsTrained).heeded_by(tasks_that::compare),
       "5 for triplet, else 0.5"},
      {"similarity-distance",
       "For --similarity-loss triplet, contrastive and online_contrastive: how far apart two "
       "embeddings are. cosine is 1 less their cosine.",
       choice_value<EmbeddingDistance>(embedding(&EmbeddingOptions::distance),
                                       {{"cosine", EmbeddingDistance::kCosine},
                                        {"euclidean", EmbeddingDistance::kEuclidean},
                                        {"manhattan", EmbeddingDistance::kManhattan}}),
       FlagRole(kDecides, kEverywhere, kAsTrained).heeded_by(tasks_that::compare),
       "euclidean for triplet, else cosine"},
      {"teacher-scale",
       "For --similarity-loss distill_kl: the factor of a teacher's scores before their softmax. "
       "--similarity-scale is the factor of the model's own scores.",
       optional_real_value(embedding(&EmbeddingOptions::teacher_scale),
                           {0, 1e6, false, true, "a number above 0"}),
       FlagRole(kDecides, kEverywhere, kAsTrained).heeded_by(tasks_that::find_partners),
       "the one of the model's scores"},
      {"guide",
       "For --similarity-loss in_batch_negatives: a model that finds false negatives, in any form "
       "that --model takes, or self for the model that learns. For each first text, a text of "
       "another row is left out if the guide finds it more similar than the row's own second text.",
       guide_value(embedding(&EmbeddingOptions::guide)),
       FlagRole(kDecides, kInTraining | kInEval, kAsTrained).heeded_by(tasks_that::find_partners)},
      {"guide-contrasts",
       "With --guide: which texts of the same kind are negatives, too. anchors means the first "
       "texts of other rows, positives means that second texts differ from each other.",
       choice_value<GuideContrasts>(embedding(&EmbeddingOptions::guide_contrasts),
                                    {{"both", GuideContrasts::kBoth},
                                     {"anchors", GuideContrasts::kAnchors},
                                     {"positives", GuideContrasts::kPositives},
                                     {"none", GuideContrasts::kNone}}),
       FlagRole(kDecides, kInTraining | kInEval, kAsTrained)
           .heeded_by(tasks_that::find_partners)
           .only_with("guide", "guide")},
      {"guide-margin",
       "With --guide: how much less similar than the row's own text another text may be and still "
       "be left out. A negative margin leaves out fewer texts.",
       optional_real_value(embedding(&EmbeddingOptions::guide_margin),
                           {-2, 2, true, true, "a number from -2 to 2"}),
       FlagRole(kDecides, kInTraining | kInEval, kAsTrained)
           .heeded_by(tasks_that::find_partners)
           .only_with("guide", "guide"),
       "0"},
      {"guide-relative-margin",
       "The same as a share of the similarity: 0.05 leaves out texts above 95 % of it.",
       optional_real_value(embedding(&EmbeddingOptions::guide_relative_margin),
                           {-1, 1, true, true, "a number from -1 to 1"}),
       FlagRole(kDecides, kInTraining | kInEval, kAsTrained)
           .heeded_by(tasks_that::find_partners)
           .only_with("guide", "guide"),
       "0"},
      {"matryoshka-dims",
       "For --task similarity: sizes such as 768,512,256. The loss is the sum of the losses of "
       "the first 768, 512 and 256 numbers of each embedding. These are scaled to length 1. Short "
       "embeddings are then useful, too (--truncate-dim).",
       text_value("LIST", embedding(&EmbeddingOptions::matryoshka_dims)),
       FlagRole(kDecides, kInScoring, kAsTrained).heeded_by(tasks_that::compare),
       "whole embeddings alone"},
      {"matryoshka-weights",
       "The factor of the loss of each of --matryoshka-dims, in the same order.",
       text_value("LIST", embedding(&EmbeddingOptions::matryoshka_weights)),
       FlagRole(kDecides, kInScoring, kAsTrained)
           .heeded_by(tasks_that::compare)
           .only_with("matryoshka-dims", "size to weigh"),
       "1 for each"},
      {"truncate-dim",
       "For --mode embed: write only the first N numbers of each embedding. --mode predict and "
       "eval of --task similarity compare these.",
       optional_integer_value(embedding(&EmbeddingOptions::truncate_dim), {1, int64_t{1} << 20}),
       {kFree, kInInference},
       "truncate_dim of the model's sentence-transformers files for --mode embed, else all"},
      {"query-prompt",
       "For --task similarity: what stands before the first text of each row, such as \"query: "
       "\", and before the queries of --eval-retrieval. The finished model keeps it as its prompt "
       "query.",
       text_value("TEXT", embedding(&EmbeddingOptions::query_prompt)),
       FlagRole(kDecides, kPromptModes, kAsTrained | kRefusedElsewhere)
           .heeded_by(tasks_that::compare),
       "none before rows; before queries the model's own"},
      {"passage-prompt",
       "The same before the other texts of each row, and before the passages of --eval-retrieval. "
       "The finished model keeps it as its prompt document.",
       text_value("TEXT", embedding(&EmbeddingOptions::passage_prompt)),
       FlagRole(kDecides, kPromptModes, kAsTrained | kRefusedElsewhere)
           .heeded_by(tasks_that::compare),
       "none before rows; before passages the model's own"},
      {"prompt",
       "For --mode embed: what stands before each text.",
       text_value("TEXT", embedding(&EmbeddingOptions::prompt)),
       {kFree, kInEmbed, kRefusedElsewhere},
       "the model's default prompt, if it has one"},
      {"prompt-name",
       "For --mode embed: the name of the model's prompt that stands before each text, such as "
       "query or document.",
       text_value("NAME", embedding(&EmbeddingOptions::prompt_name)),
       {kFree, kInEmbed, kRefusedElsewhere},
       "the model's default prompt, if it has one"},
      {"max-negatives",
       "For --task similarity and reranking: how many negatives of a row are read at most, from "
       "the first one on; 0 means all. All rows need the same number.",
       integer_value(data_option(&DataOptions::max_negatives), {0, 10'000}),
       FlagRole(kDecides, kEverywhere, kAsTrained).heeded_by(tasks_that::read_negatives)},
      {"max-similarity",
       "For --task similarity: the label of texts that mean the same, such as 5 for STS-B. Labels "
       "are divided by it.",
       real_value(data_option(&DataOptions::max_similarity),
                  {0, 1e9, false, true, "a number above 0"}),
       FlagRole(kDecides, kInScoring, kAsTrained).heeded_by(tasks_that::compare_with_labels)},
      {"embeddings-format",
       "For --mode embed: the format of the embeddings. npy is a NumPy array of float32, one row "
       "for each text. parquet and jsonl have the columns id and embedding.",
       choice_value<EmbeddingsFormat>(embedding(&EmbeddingOptions::format),
                                      {{"npy", EmbeddingsFormat::kNpy},
                                       {"parquet", EmbeddingsFormat::kParquet},
                                       {"jsonl", EmbeddingsFormat::kJsonl}}),
       {kFree, kInEmbed}},
      {"embeddings-type",
       "For --mode embed: the type of the numbers, as in sentence-transformers. int8 and uint8 "
       "cut the range of each number into 256 steps. binary and ubinary keep the sign of each "
       "number, eight in a byte.",
       choice_value<EmbeddingsType>(embedding(&EmbeddingOptions::type),
                                    {{"float32", EmbeddingsType::kFloat32},
                                     {"int8", EmbeddingsType::kInt8},
                                     {"uint8", EmbeddingsType::kUint8},
                                     {"binary", EmbeddingsType::kBinary},
                                     {"ubinary", EmbeddingsType::kUbinary}}),
       {kFree, kInEmbed}},
      {"embeddings-file-rows",
       "For --mode embed: how many rows each file of embeddings has, in a folder of files. The "
       "same command again goes on behind the files that are there. 0 means one file for all rows.",
       integer_value(embedding(&EmbeddingOptions::file_rows), {0, 1'000'000'000}),
       {kFree, kInEmbed}},
  };
}

namespace {

auto reranking(auto member) { return place(&CommandLine::settings, &Settings::reranking, member); }

}  // namespace

std::vector<Flag> reranking_flags() {
  using enum Effect;
  return {
      {"reranking-loss",
       "For --task reranking. bce is the binary cross-entropy of each pair, whose label is from 0 "
       "to 1. mse is the squared error of its output, for any numbers. The others compare the "
       "passages of a row, so rows need negatives: softmax is the cross-entropy over them, and "
       "lambda weighs each pair of them by what it means for nDCG. margin_mse learns by how much "
       "a teacher's score of the positive is above each negative's. Rows hold these scores.",
       choice_value<RerankingLoss>(reranking(&RerankingOptions::loss),
                                   {{"bce", RerankingLoss::kBinaryCrossEntropy},
                                    {"mse", RerankingLoss::kSquaredError},
                                    {"softmax", RerankingLoss::kSoftmax},
                                    {"lambda", RerankingLoss::kLambda},
                                    {"margin_mse", RerankingLoss::kMarginMse}}),
       FlagRole(kDecides, kEverywhere, kAsTrained).heeded_by(tasks_that::rank_passages), "bce"},
      {"positive-weight",
       "For --reranking-loss bce: the factor of the label 1. The number of negatives for each "
       "positive is usual where there are many (pos_weight).",
       real_value(reranking(&RerankingOptions::positive_weight),
                  {0, 1e6, false, true, "a number above 0"}),
       FlagRole(kDecides, kInScoring, kAsTrained).heeded_by(tasks_that::rank_passages)},
  };
}

}  // namespace berth
