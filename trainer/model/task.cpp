#include "trainer/model/task.h"

#include <algorithm>
#include <array>

#include "storage/base/text.h"

namespace berth {
namespace {

using Names = std::string_view[];

// Names of columns that hold texts.
constexpr Names kTexts = {"text",      "sentence",     "content", "review",    "document",
                          "sentence1", "text_a",       "text1",   "tweet",     "comment",
                          "body",      "message",      "premise", "question1", "description",
                          "utterance", "comment_text", "data"};
// Names of columns that hold the first text of two that are compared.
constexpr Names kCompared = {"sentence1", "text_a",   "text1",      "anchor", "query",   "premise",
                             "question1", "question", "sentence_A", "text",   "sentence"};
constexpr Names kWords = {"tokens", "words", "sentence", "text", "word", "token"};
constexpr Names kQuestions = {"question", "query"};
// Names of columns that hold what several texts may follow. A question comes last, because it
// stands behind its passage where there is one.
constexpr Names kContexts = {
    "sent1",    "ctx",      "article",  "context",       "passage", "paragraph", "premise",
    "story",    "document", "dialogue", "support",       "hint",    "content",   "goal",
    "sentence", "text",     "question", "question_stem", "stem",    "query",     "prompt"};

// Names of columns that hold labels.
constexpr Names kClasses = {"label",  "labels",      "target",  "class", "category",
                            "intent", "sentiment",   "emotion", "topic", "label_id",
                            "y",      "score",       "rating",  "stars", "similarity",
                            "value",  "is_duplicate"};
constexpr Names kScores = {"label",
                           "score",
                           "target",
                           "labels",
                           "rating",
                           "similarity",
                           "stars",
                           "value",
                           "y",
                           "similarity_score",
                           "relatedness_score",
                           "is_duplicate"};
// The same of two texts that are compared, or of a passage. A retriever may have left its score
// beside the judgement.
constexpr Names kGrades = {
    "label",        "relevance", "score", "target", "labels",           "rating",
    "similarity",   "stars",     "value", "y",      "similarity_score", "relatedness_score",
    "is_duplicate", "scores"};
constexpr Names kTags = {"tags",  "ner_tags", "ner", "labels",
                         "label", "pos_tags", "tag", "ner_tag"};
constexpr Names kAnswers = {"answers", "answer", "answer_text", "answers.text"};
constexpr Names kRightChoices = {
    "label",      "labels",         "answer",         "answerKey",
    "answer_key", "answer_idx",     "answer_index",   "correct_answer_id",
    "gold_label", "correct_choice", "correct_option", "target"};

constexpr std::string_view kOfSequences = "ForSequenceClassification";
constexpr std::string_view kEncoderAlone = "Model";

// A field without a value here has the default of TaskTraits, or what kTable gives it.
constexpr TaskTraits kRows[] = {
    {.task = Task::kSequenceClassification,
     .names = {"sequence_classification", "classification", "text_classification",
               "single_label_classification", "bert_classification"},
     .class_suffix = kOfSequences,
     .problem_type = "single_label_classification",
     .peft_type = "SEQ_CLS",
     .record_type = "bert_classification",
     .card_title = "Text classifier",
     .card_subject = "A sequence classifier",
     .pipeline_tag = "text-classification"},
    {.task = Task::kRegression,
     .names = {"regression", "bert_regression", "scoring"},
     .labels = LabelKind::kNumber,
     .loss = LossKind::kSquaredError,
     .outputs = 1,
     .output_name = "score",
     .label_columns = kScores,
     .class_suffix = kOfSequences,
     .problem_type = "regression",
     .peft_type = "SEQ_CLS",
     .record_type = "bert_regression",
     .card_title = "Text scorer",
     .card_subject = "A regression of texts",
     .pipeline_tag = "text-classification"},
    {.task = Task::kMultiLabel,
     .names = {"multi_label", "multi_label_classification", "multilabel"},
     .labels = LabelKind::kSet,
     .loss = LossKind::kBinaryCrossEntropy,
     .class_suffix = kOfSequences,
     .problem_type = "multi_label_classification",
     .peft_type = "SEQ_CLS",
     .record_type = "bert_multi_label",
     .card_title = "Text classifier",
     .card_subject = "A classifier of texts that may have several labels",
     .pipeline_tag = "text-classification"},
    {.task = Task::kTokenClassification,
     .names = {"token_classification", "ner", "pos", "chunk", "tagging"},
     .short_name = "ner",
     .inputs = InputKind::kWords,
     .labels = LabelKind::kTagPerWord,
     .rows = HeadRows::kTokens,
     .text_columns = kWords,
     .label_columns = kTags,
     .class_suffix = "ForTokenClassification",
     .token_head = "classifier",
     .peft_type = "TOKEN_CLS",
     .record_type = "bert_tagging",
     .card_title = "Word classifier",
     .card_subject = "A classifier of words",
     .pipeline_tag = "token-classification"},
    {.task = Task::kQuestionAnswering,
     .names = {"question_answering", "qa", "squad", "squad_v2"},
     .inputs = InputKind::kQuestion,
     .labels = LabelKind::kSpan,
     .rows = HeadRows::kTokens,
     .loss = LossKind::kSpanCrossEntropy,
     .outputs = 2,
     .first_text = "question",
     .other_texts = "context",
     .text_columns = kQuestions,
     .label_columns = kAnswers,
     .class_suffix = "ForQuestionAnswering",
     .token_head = "qa_outputs",
     .peft_type = "QUESTION_ANS",
     .card_title = "Question answering",
     .card_subject = "A model that finds answers in texts",
     .pipeline_tag = "question-answering"},
    {.task = Task::kMaskedLm,
     .names = {"masked_lm", "mlm", "masked_language_modeling"},
     .short_name = "mlm",
     .inputs = InputKind::kDocument,
     .labels = LabelKind::kMaskedId,
     .rows = HeadRows::kMasked,
     .class_suffix = "ForMaskedLM",
     .card_title = "Masked language model",
     .card_subject = "A masked language model",
     .pipeline_tag = "fill-mask"},
    {.task = Task::kReplacedTokenDetection,
     .names = {"replaced_token_detection", "electra", "rtd"},
     .short_name = "electra",
     .inputs = InputKind::kDocument,
     .labels = LabelKind::kMaskedId,
     .rows = HeadRows::kReplaced,
     .loss = LossKind::kBinaryCrossEntropy,
     .outputs = 1,
     .class_suffix = "ForPreTraining",
     .class_prefix = "Electra",
     .card_title = "Detector of replaced tokens",
     .card_subject = "A discriminator of tokens that a generator replaced"},
    {.task = Task::kNextSentence,
     .names = {"mlm_nsp", "next_sentence_prediction", "nsp", "bert_pretraining"},
     .inputs = InputKind::kSentences,
     .labels = LabelKind::kMaskedId,
     .rows = HeadRows::kMaskedAndFirst,
     .outputs = 2,
     .class_suffix = "ForPreTraining",
     .class_prefix = "Bert",
     .card_title = "Pre-trained encoder",
     .card_subject = "A masked language model that also predicts next sentences",
     .pipeline_tag = "fill-mask"},
    {.task = Task::kSentenceOrder,
     .names = {"mlm_sop", "sentence_order_prediction", "sop", "albert_pretraining"},
     .inputs = InputKind::kSentences,
     .labels = LabelKind::kMaskedId,
     .rows = HeadRows::kMaskedAndFirst,
     .outputs = 2,
     .class_suffix = "ForPreTraining",
     .class_prefix = "Albert",
     .card_title = "Pre-trained encoder",
     .card_subject = "A masked language model that also predicts the order of two texts",
     .pipeline_tag = "fill-mask"},
    {.task = Task::kEmbeddingDistillation,
     .names = {"embedding_distillation"},
     .is_offered = false,
     .asked_as = "masked_lm with --teacher",
     .labels = LabelKind::kVector,
     .loss = LossKind::kSquaredError,
     .class_suffix = kEncoderAlone,
     .card_title = "Distilled encoder",
     .card_subject = "An encoder that was distilled from the text embeddings of another",
     .pipeline_tag = "feature-extraction"},
    {.task = Task::kHiddenStateDistillation,
     .names = {"hidden_state_distillation"},
     .is_offered = false,
     .asked_as = "masked_lm with --teacher",
     .inputs = InputKind::kDocument,
     .labels = LabelKind::kVectorPerToken,
     .rows = HeadRows::kTokens,
     .loss = LossKind::kMeanSquaredError,
     .class_suffix = kEncoderAlone,
     .token_head = "teacher_states",
     .card_title = "Distilled encoder",
     .card_subject = "An encoder that was distilled from the hidden states of another",
     .pipeline_tag = "feature-extraction"},
    {.task = Task::kTextEmbedding,
     .names = {"text_embedding"},
     .is_offered = false,
     .inputs = InputKind::kText,
     .labels = LabelKind::kVector,
     .rows = HeadRows::kPooled,
     .class_suffix = kEncoderAlone,
     .card_title = "Text encoder",
     .card_subject = "An encoder of texts",
     .pipeline_tag = "feature-extraction"},
    {.task = Task::kHiddenStates,
     .names = {"hidden_states"},
     .is_offered = false,
     .inputs = InputKind::kDocument,
     .labels = LabelKind::kVectorPerToken,
     .rows = HeadRows::kStates,
     .class_suffix = kEncoderAlone,
     .card_title = "Text encoder",
     .card_subject = "An encoder of texts",
     .pipeline_tag = "feature-extraction"},
    {.task = Task::kSimilarity,
     .names = {"similarity", "sentence_similarity", "text_similarity"},
     .inputs = InputKind::kTextGroup,
     .labels = LabelKind::kNumber,
     .rows = HeadRows::kGroups,
     .loss = LossKind::kCosineSquaredError,
     .unlabelled = Task::kInBatchNegatives,
     .text_columns = kCompared,
     .label_columns = kGrades,
     .class_suffix = kEncoderAlone,
     .card_title = "Text embeddings",
     .card_subject = "A sentence transformer",
     .pipeline_tag = "sentence-similarity"},
    {.task = Task::kInBatchNegatives,
     .names = {"in_batch_negatives"},
     .is_offered = false,
     .asked_as = "similarity without labels",
     .inputs = InputKind::kTextGroup,
     .labels = LabelKind::kPlaceInBatch,
     .rows = HeadRows::kGroups,
     .loss = LossKind::kInBatchNegatives,
     .text_columns = kCompared,
     .label_columns = kGrades,
     .class_suffix = kEncoderAlone,
     .card_title = "Text embeddings",
     .card_subject = "A sentence transformer",
     .pipeline_tag = "sentence-similarity"},
    {.task = Task::kReranking,
     .names = {"reranking", "rerank", "cross_encoder"},
     .inputs = InputKind::kTextGroup,
     .labels = LabelKind::kNumber,
     .loss = LossKind::kReranking,
     .unlabelled = Task::kListReranking,
     .outputs = 1,
     .output_name = "score",
     .text_columns = kCompared,
     .label_columns = kGrades,
     .class_suffix = kOfSequences,
     .problem_type = "regression",
     .peft_type = "SEQ_CLS",
     .card_title = "Reranker",
     .card_subject = "A cross-encoder",
     .pipeline_tag = "text-ranking"},
    {.task = Task::kListReranking,
     .names = {"list_reranking"},
     .is_offered = false,
     .asked_as = "reranking without labels",
     .inputs = InputKind::kTextGroup,
     .labels = LabelKind::kPlaceInBatch,
     .loss = LossKind::kReranking,
     .outputs = 1,
     .output_name = "score",
     .text_columns = kCompared,
     .label_columns = kGrades,
     .class_suffix = kOfSequences,
     .problem_type = "regression",
     .peft_type = "SEQ_CLS",
     .card_title = "Reranker",
     .card_subject = "A cross-encoder",
     .pipeline_tag = "text-ranking"},
    {.task = Task::kMultipleChoice,
     .names = {"multiple_choice", "swag", "race"},
     .inputs = InputKind::kTextGroup,
     .labels = LabelKind::kChoice,
     .outputs = 1,
     .other_texts = "choice_",
     .text_columns = kContexts,
     .label_columns = kRightChoices,
     .class_suffix = "ForMultipleChoice",
     .card_title = "Multiple choice",
     .card_subject = "A model that chooses one of several texts",
     .pipeline_tag = "multiple-choice"},
};

constexpr std::array kTable = [] {
  std::array rows = std::to_array(kRows);
  for (TaskTraits& row : rows) {
    const auto are_one_of = [&](std::initializer_list<LabelKind> kinds) {
      return std::ranges::find(kinds, row.labels) != kinds.end();
    };
    row.has_classes = are_one_of({LabelKind::kClass, LabelKind::kSet, LabelKind::kTagPerWord});
    row.has_label_column =
        row.has_classes || are_one_of({LabelKind::kNumber, LabelKind::kSpan, LabelKind::kChoice});
    if (row.text_columns.empty()) row.text_columns = kTexts;
    if (row.label_columns.empty()) row.label_columns = kClasses;
  }
  return rows;
}();

constexpr bool is_in_order() {
  for (size_t i = 0; i < std::size(kTable); ++i) {
    if (kTable[i].task != static_cast<Task>(i)) return false;
  }
  return true;
}
static_assert(is_in_order(), "traits() finds a row by the task's number");

}  // namespace

std::span<const TaskTraits> task_table() { return kTable; }

const TaskTraits& traits(Task task) { return kTable[static_cast<size_t>(task)]; }

Task usual_task(LabelKind labels) {
  return std::ranges::find(kTable, labels, &TaskTraits::labels)->task;
}

bool are_vectors(LabelKind labels) {
  return labels == LabelKind::kVector || labels == LabelKind::kVectorPerToken;
}

bool makes_embeddings(Task task) {
  const HeadRows rows = traits(task).rows;
  return rows == HeadRows::kPooled || rows == HeadRows::kGroups;
}

bool ranks_passages(Task task) { return traits(task).loss == LossKind::kReranking; }

bool pairs_with_first(Task task) {
  return traits(task).inputs == InputKind::kTextGroup && !makes_embeddings(task);
}

std::string_view task_name(Task task) { return traits(task).names[0]; }

std::string_view asked_name(Task task) {
  const TaskTraits& row = traits(task);
  return row.asked_as.empty() ? row.names[0] : row.asked_as;
}

bool is_named(Task task, std::string_view name) {
  if (name.empty()) return false;  // unused places of the table are empty, too
  std::string wanted = lower_ascii(name);
  std::ranges::replace(wanted, '-', '_');
  return std::ranges::find(traits(task).names, wanted) != traits(task).names.end();
}

std::optional<Task> find_task(std::string_view name) {
  for (const TaskTraits& row : kTable) {
    if (row.is_offered && is_named(row.task, name)) return row.task;
  }
  return std::nullopt;
}

std::string known_tasks() {
  std::string text;
  for (const TaskTraits& row : kTable) {
    if (!row.is_offered) continue;
    text += cat(text.empty() ? "" : ", ", row.names[0]);
    if (!row.short_name.empty()) text += cat(" (or ", row.short_name, ")");
  }
  return text;
}

std::vector<std::string> output_labels(Task task) {
  const std::string_view name = traits(task).output_name;
  return name.empty() ? std::vector<std::string>() : std::vector{std::string(name)};
}

}  // namespace berth
