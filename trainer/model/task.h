#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// What a model is trained to do. A task is the key of one row in the table of task traits below,
// and of one row in trainer/tasks/task_results.cpp. Other code asks for a trait and not for a task.
enum class Task {
  kSequenceClassification,  // one class for each text, or pair of texts
  kRegression,              // one number for each text or pair
  kMultiLabel,              // any number of classes for each text or pair
  kTokenClassification,     // one class for each word
  kQuestionAnswering,       // the span of a context that answers a question
  kMaskedLm,                // the ids of masked tokens
  kReplacedTokenDetection,  // which tokens a generator, which learns beside the model, replaced
  kNextSentence,            // the ids of masked tokens, and whether the second of two texts follows
                            // the first one
  kSentenceOrder,           // the ids of masked tokens, and in which order two texts stand
  kEmbeddingDistillation,   // the output of another model, the teacher, for each text
  kHiddenStateDistillation,  // a teacher's output for each token: its last hidden state
  kTextEmbedding,            // one vector for each text; only for inference, as a teacher does
  kHiddenStates,             // one vector for each token; only for inference, as a teacher does
  kSimilarity,               // how similar two texts are, as the cosine of their embeddings
  kInBatchNegatives,         // embeddings by which a text finds its partner among others
  kReranking,                // how well a passage answers a query, which one network reads together
  kListReranking,            // the same from rows that hold passages which do not answer, too
  kMultipleChoice,           // which of several texts is right behind a context
};

// The task of rows that say nothing else.
inline constexpr Task kDefaultTask = Task::kSequenceClassification;

// What a row of data consists of, apart from its label.
enum class InputKind {
  kTexts,      // one text, or a pair
  kText,       // one text; a pair only where the user names a second column
  kTextGroup,  // two texts or more that are compared. Where embeddings are, each is a sequence of
               // its own; else each but the first one is a pair with the first one
  kWords,      // a sentence that is already split into words
  kQuestion,   // a question and the context that may answer it; a long context becomes several
               // windows, each a sequence of its own
  kDocument,   // one text; a long one becomes several sequences, which share no token
  kSentences,  // a document with a sentence on each line; pairs are made of it, anew in each epoch
};

// What the label of a row is.
enum class LabelKind {
  kClass,           // one class
  kNumber,          // one number
  kSet,             // any number of classes
  kTagPerWord,      // one class for each word
  kSpan,            // the first and the last token of the answer
  kMaskedId,        // the ids of the masked tokens; a pair may have a class beside them
  kVector,          // several numbers, which a teacher makes
  kVectorPerToken,  // several numbers for each token, which a teacher makes
  kPlaceInBatch,    // the row's number in its micro-batch, which packing makes
  kChoice,          // the number of a text of the group, from 0: the first text does not count
};

// The tokens whose hidden states the head turns into logits, one row of logits for each.
enum class HeadRows {
  kSequences,  // the first token of each sequence
  kTokens,     // every token
  kMasked,     // the masked tokens
  kReplaced,   // every token; a generator replaces the masked ones before the encoder reads them
  kMaskedAndFirst,  // the masked tokens, and the first token of each sequence for a second loss
  kPooled,          // as ModelConfig::pooling says; a sequence's logits are its embedding
  kStates,          // every token, and its hidden state is its row of logits
  kGroups,  // as kPooled, but a row of logits belongs to the texts of a row of data together
};

enum class LossKind {
  kCrossEntropy,        // softmax over the classes, or the choices, of a row of logits
  kSquaredError,        // between outputs and numbers, summed over the outputs
  kMeanSquaredError,    // the same, averaged over the outputs
  kBinaryCrossEntropy,  // a sigmoid for each output
  kSpanCrossEntropy,    // softmax over the tokens of a sequence: one of starts, one of ends
  kCosineSquaredError,  // between the cosine of two embeddings and a number
  kInBatchNegatives,    // softmax over the second texts of a micro-batch, by their cosines
  kReranking,           // as ModelConfig::reranking says
};

// One row of the table: what every floor may know of a task.
struct TaskTraits {
  Task task;

  // The names that --task takes, in lower case; unused places are empty. The first is the task's
  // own name, which metrics.json and job.json hold.
  std::array<std::string_view, 5> names{};
  // The one of its other names by which people know it. Empty: they know its own.
  std::string_view short_name{};
  // Whether --task takes them: a job can train the task.
  bool is_offered = true;
  // How users ask for a task that is not offered, because the rows or another flag choose it.
  // Empty: it is offered, or no job can train it.
  std::string_view asked_as{};

  InputKind inputs = InputKind::kTexts;
  LabelKind labels = LabelKind::kClass;
  HeadRows rows = HeadRows::kSequences;
  LossKind loss = LossKind::kCrossEntropy;

  // Whether the rows of data hold the labels, as `labels` says. Other tasks make labels from the
  // texts.
  bool has_label_column = false;

  // The task of the same rows where they have no label column. Empty: it is this one.
  std::optional<Task> unlabelled{};

  // Whether labels come from a finite set whose members have names or numbers, as `labels` says.
  bool has_classes = false;
  // Columns of the logits; 0: one for each class.
  int64_t outputs = 0;
  // If the outputs are not classes: the name of the only output in config.json's id2label. Empty:
  // outputs have no names.
  std::string_view output_name{};

  // What predictions.tsv calls the first text of a row, and the others. A name that ends with '_'
  // gets the number of the text, from 0.
  std::string_view first_text = "text", other_texts = "text_pair";

  // The names that a table's columns of texts and of labels usually have, in order of preference.
  std::span<const std::string_view> text_columns{}, label_columns{};

  // transformers' config.json identifies the task by the end of the class's name
  // ("ForTokenClassification"). For tasks of sequences, it also has a problem_type. A model whose
  // class is "Model" is saved without its head.
  std::string_view class_suffix{}, problem_type{};
  // Where other architectures have a class of this suffix for another task: how the class begins.
  std::string_view class_prefix{};
  // The name of the head's only dense layer in transformers' models, where the head reads all
  // tokens. Heads of sequences and of masked tokens are named by the architecture (part_names.h).
  std::string_view token_head{};
  // PEFT's task_type, by which it chooses a wrapper ("SEQ_CLS"). Empty: null in
  // adapter_config.json.
  std::string_view peft_type{};
  // The task_type that create_finetuning_data.py of TensorFlow's Model Garden, or a program like
  // it, writes beside its TFRecords. Empty: there are no such records of this task.
  std::string_view record_type{};

  // The heading of the exported model's README.md, and what the model is.
  std::string_view card_title{}, card_subject{};
  // The task of the hub that its models have (huggingface.co/tasks). Empty: the hub has none.
  std::string_view pipeline_tag{};
};

// All rows, in the order of the enumeration.
std::span<const TaskTraits> task_table();
// The row of `task`.
const TaskTraits& traits(Task task);

// The usual task of rows with such labels: the first one in the table.
Task usual_task(LabelKind labels);

// Whether labels are vectors that a teacher makes.
bool are_vectors(LabelKind labels);

// Whether the model makes one vector of each text.
bool makes_embeddings(Task task);

// Whether one network reads a query with each passage, and gives each pair a logit.
bool ranks_passages(Task task);

// Whether the sequences of a group are the pairs of its first text with each of the others.
bool pairs_with_first(Task task);

// The task's own name.
std::string_view task_name(Task task);
// How users ask for the task: its own name, or TaskTraits::asked_as.
std::string_view asked_name(Task task);
// Whether `name` is among the names of `task`. Case is ignored, and '-' is read as '_'.
bool is_named(Task task, std::string_view name);
// The offered task that has `name` among its names.
std::optional<Task> find_task(std::string_view name);
// The names of the tasks that --task offers, with their short names, separated by commas, for
// messages and --help: "regression, token_classification (or ner)".
std::string known_tasks();

// The labels of a task without classes, as ModelConfig and the exported config.json hold them: the
// output's name, or none.
std::vector<std::string> output_labels(Task task);

}  // namespace berth
