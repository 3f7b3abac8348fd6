#pragma once

#include "entrypoint/job/job.h"

namespace berth {

// A function for each mode. run() chooses it by --mode, and promises what it throws.

// --mode train and train_and_eval with one seed: trains in the job directory, or resumes there, and
// exports the finished model. Returns at once where the job is finished. With --dry-run it prints
// the plan instead of training. Throws what run() promises.
void run_training(Job& job);

// --mode train and train_and_eval with several --seeds: trains one job for each seed, one after the
// other, and writes the mean of their metrics. Throws what run() promises.
void run_seeds(Job& job);

// Runs a mode that only reads a model: eval, predict, embed or mine. With several workers, each
// computes a part of the batches, and worker 0 writes the results of all. Throws what `mode` and
// Cluster do.
void run_inference(Job& job, void (*mode)(Job& job));

// --mode eval: evaluates a finished model and prints its metrics as JSON on standard output. Throws
// what run() promises.
void run_evaluation(Job& job);

// --mode predict: writes one prediction for each row to the job directory or, without one, to
// standard output. With --precision int8 and labelled rows to evaluate on, also logs how much
// accuracy int8 costs. Throws what run() promises.
void run_prediction(Job& job);

// --mode embed: writes one vector for each row to the job directory or the file that
// --predictions-file names. Throws what run() promises.
void run_embedding(Job& job);

// --mode mine: finds hard negatives for pairs of texts, and writes rows that train: a line with the
// pair and its negatives, in the job directory or the file that --predictions-file names. Throws
// what run() promises.
void run_mining(Job& job);

// --mode export_only: exports the best checkpoint of --job-dir (or, where its checkpoints are gone,
// its finished model), or --model, and holds --export-dir meanwhile. Throws what run() promises.
void run_export(Job& job);

// --mode convert: writes the parameters of --model to --export-dir in another format or type, and
// holds that directory meanwhile. Throws what run() promises.
void run_conversion(Job& job);

// --mode prepare: writes the rows that training would read as TFRecords or JSONL. Throws what run()
// promises.
void run_preparation(Job& job);

// --mode tokenize: prints the tokens of texts on standard output, one JSON object for each text.
// Throws what run() promises.
void run_tokenization(Job& job);

// --mode train_tokenizer: trains a tokenizer on the texts of --train-data-file and writes its files
// to --export-dir, or else to --job-dir. Throws what run() promises.
void run_tokenizer_training(Job& job);

// --mode inspect: prints what a model, checkpoint, data or event file holds, on standard output.
// Throws what run() promises.
void run_inspection(Job& job);

// --mode fetch: copies the files that the arguments name to --export-dir. Each file appears as a
// whole, and its checksum is compared where its storage knows one. Throws what run() promises.
void run_fetch(Job& job);

// --mode report: writes a page that compares the jobs in several directories, from their job.json,
// metrics.json and report.html, to --report-file. Throws kNotFound, naming the directory, where one
// has no job.json, kIncompatible where that is no job.json, and what writing throws.
void run_comparison(Job& job);

// --mode heartbeat: judges the heartbeat of `--job-dir` and prints the sentence. Throws kNotFound
// where there is none.
void run_heartbeat(Job& job);

// --mode bench: trains and predicts with BERT-base and BERT-large on random tokens. It uses the
// device that a job with the same flags would use. It prints the speeds as a Markdown table
// (machine_row.h). It takes about two minutes. A model that does not fit into the memory is left
// out, and a line below the table says so. Without --precision it takes bf16 if the device
// multiplies it.
void run_benchmark(Job& job);

}  // namespace berth
