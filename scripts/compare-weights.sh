#!/usr/bin/env bash
# Compares two builds of berth by their results. Each build runs the same jobs, with the same flags, and
# every file of weights and every prediction must have the same bytes. Run it by hand before a change lands
# that should not change any number.
#
#   bash scripts/compare-weights.sh COMMIT                # COMMIT against the working tree; builds both
#   bash scripts/compare-weights.sh --binaries OLD NEW    # two programs that are built already
#
#   --only PATTERN   runs only the jobs whose name matches this extended regular expression
#   --threads N      computes with N threads (default: 2)
#   --list           prints the names of the jobs, and runs nothing
#   --keep           leaves the job directories in build/compare-weights
#
# The script prints a line for each job. It exits with 1 if a job fails, or if a file differs or is missing in one
# of the builds. If only the optimizer's state differs, the line says so, and the exit code stays 0: a change may
# store the state in another form. Both programs run on this machine, and its instruction sets decide which
# kernels are compared.
set -uo pipefail
cd "$(dirname "$0")/.."
repository=$PWD
work=$repository/build/compare-weights

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
commit= old= new= only=. threads=2 list=no keep=no
while [ $# -gt 0 ]; do
  case $1 in
    --binaries) [ $# -ge 3 ] || usage; old=$(realpath "$2") new=$(realpath "$3"); shift 2 ;;
    --only) [ $# -ge 2 ] || usage; only=$2; shift ;;
    --threads) [ $# -ge 2 ] || usage; threads=$2; shift ;;
    --list) list=yes ;;
    --keep) keep=yes ;;
    -*) usage ;;
    *) commit=$1 ;;
  esac
  shift
done
[ $list = yes ] || [ -n "$commit$old" ] || usage

build() {  # build SOURCE_FOLDER BUILD_FOLDER: a release build of the program alone
  cmake -S "$1" -B "$2" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF >/dev/null && ninja -C "$2" berth
}

if [ $list = no ] && [ -z "$old" ]; then
  commit=$(git rev-parse --verify --quiet "$commit^{commit}") || { echo "compare-weights: no such commit" >&2; exit 2; }
  ! command -v ccache >/dev/null || export CMAKE_CXX_COMPILER_LAUNCHER=ccache
  source=$work/source
  git worktree remove --force "$source" 2>/dev/null
  git worktree prune
  git worktree add --quiet --detach "$source" "$commit" &&
    build "$source" "$work/old" && build . "$work/new" || { echo "compare-weights: the build failed" >&2; exit 1; }
  git worktree remove --force "$source"
  old=$work/old/berth new=$work/new/berth
fi

sample=$repository/examples/data/df.pickle
tiny=$repository/tests/testdata/tiny_model
runs=$work/runs
rm -rf "$runs" && mkdir -p "$runs/old" "$runs/new" "$runs/data"
data=../../data  # as a job sees it: each job runs in runs/BUILD/JOB
failures=0 differing=0 compared_jobs=0

# A job is a function of this script that calls `berth`. It runs in an empty directory, once for each build. It computes in fp32 unless it
# says otherwise, because builds differ in what they take without the flag.
berth() { "$program" --precision fp32 "$@" --threads "$threads" >>out.txt 2>>err.txt; }

# fit FLAGS...: trains in job/. predict FILE FLAGS...: writes job/predictions.tsv.
fit() { berth --job-dir job --learning-rate 1e-3 "$@"; }
predict() { berth --mode predict --job-dir job --predict-data-file "$@"; }

run_in() {  # run_in BUILD PROGRAM NAME COMMAND...
  local folder=$runs/$1/$3 program=$2
  shift 3
  mkdir -p "$folder" && (cd "$folder" && "$@")
}

# The files that a build's job must have in common with the other's: weights, and what they predict.
results_of() {
  (cd "$1" && find . \( -name '*.safetensors' -o -name '*.ckpt.data-*' -o -name '*.ckpt.index' -o -name 'predictions.tsv' \
    -o -name '*.tf_record*' \) -type f | sort)
}

report() { printf '%-34s %5s  %s\n' "$@"; }

# compare NAME COMMAND...: one line of the table.
compare() {
  local name=$1 start=$SECONDS file verdict='same' count=0 state=
  shift
  [[ $name =~ $only ]] || return 0
  if [ $list = yes ]; then echo "$name"; return 0; fi
  compared_jobs=$((compared_jobs + 1))
  local build program
  for build in old new; do
    program=$old
    [ $build = old ] || program=$new
    if ! run_in $build "$program" "$name" "$@"; then
      report "$name" "$((SECONDS - start)) s" "FAILED in the $build build: $(tail -n 1 "$runs/$build/$name/err.txt")"
      failures=$((failures + 1))
      return 0
    fi
  done
  local different=()
  while read -r file; do
    count=$((count + 1))
    cmp -s "$runs/old/$name/$file" "$runs/new/$name/$file" && continue
    case $file in
      */optimizer.safetensors) state=', but another optimizer state' ;;
      *) different+=("$file") ;;
    esac
  done < <({ results_of "$runs/old/$name"; results_of "$runs/new/$name"; } | sort -u)
  if [ ${#different[@]} -gt 0 ]; then
    verdict="DIFFERENT: ${#different[@]} of them, ${different[-1]} for one"
    differing=$((differing + 1))
  elif [ $count = 0 ]; then
    verdict='FAILED, because the job left no results'
    failures=$((failures + 1))
  fi
  report "$name" "$((SECONDS - start)) s" "$count files: $verdict$state"
  [ $keep = yes ] || rm -rf "${runs:?}/old/$name" "${runs:?}/new/$name"
}

# -- Data

cd "$runs/data"
for topic in food sport travel; do head -n 15 "$repository/examples/topics/$topic.txt"; done |
  sed 's/["\\]/\\&/g; s/.*/{"text": "&"}/' >texts.jsonl
printf 'sentence1,sentence2,score\nA cat sits,A cat is sitting,4.75\nIt rains,Bread is good,0.25\nShe sings,A song,3\n' >pairs.csv
printf 'text,rude,kind\nThank you,0,1\nGo away,1,0\nWell,0,0\n' >marks.csv
printf 'Aunt B-PER\nIda I-PER\nsings O\n\nRome B-LOC\nis O\nfar O\n' >words.conll
printf '%s' '{"data": [{"paragraphs": [{"context": "It rains in Rome today.", "qas": [
  {"id": "q1", "question": "Where?", "answers": [{"text": "Rome", "answer_start": 12}]},
  {"id": "q2", "question": "When?", "answers": [{"text": "today", "answer_start": 17}]}]}]}]}' >squad.json
printf 'text,label,w\na ball,x,1\nbread,y,0.5\na train,x,2\nrain,y,1\n' >weights.csv
mkdir MNLI && for split in train dev_matched dev_mismatched; do
  printf 'index\tsentence1\tsentence2\tgold_label\n0\tIt rains\tIt is wet\tentailment\n1\tIt rains\tIt is dry\tcontradiction\n2\tIt rains\tI sing\tneutral\n' >MNLI/$split.tsv
done
vocabulary=$(sed -n 's/.*"vocab_size": *\([0-9]*\).*/\1/p' "$tiny/config.json")
sizes='"vocab_size": '$vocabulary', "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 96,
  "max_position_embeddings": 160, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "pad_token_id": 0'
architecture() { printf '{"model_type": "%s", %s}\n' "$2" "$3" >"$1.json"; }  # architecture NAME TYPE KEYS
relative='"type_vocab_size": 0, "relative_attention": true, "max_relative_positions": -1, "position_biased_input": false,
  "pooler_dropout": 0.1, "pooler_hidden_act": "gelu", "layer_norm_eps": 1e-7'
architecture bert bert "$sizes"
architecture roberta roberta "$sizes, \"type_vocab_size\": 2, \"layer_norm_eps\": 1e-5"
architecture xlm-roberta xlm-roberta "$sizes, \"type_vocab_size\": 2, \"layer_norm_eps\": 1e-5"
architecture electra electra "$sizes, \"embedding_size\": 24"
architecture albert albert "$sizes, \"embedding_size\": 24, \"num_hidden_groups\": 1, \"hidden_act\": \"gelu_new\""
architecture albert-groups albert "$sizes, \"embedding_size\": 24, \"num_hidden_groups\": 2, \"hidden_act\": \"relu\""
architecture distilbert distilbert '"vocab_size": '"$vocabulary"', "dim": 48, "n_layers": 3, "n_heads": 4, "hidden_dim": 96,
  "dropout": 0.1, "attention_dropout": 0.1, "seq_classif_dropout": 0.2, "max_position_embeddings": 160'
architecture deberta deberta-v2 "$sizes, $relative, \"position_buckets\": 16, \"share_att_key\": true,
  \"pos_att_type\": [\"p2c\", \"c2p\"], \"norm_rel_ebd\": \"layer_norm\""
architecture deberta-convolved deberta-v2 "$sizes, $relative, \"position_buckets\": 16, \"share_att_key\": true,
  \"pos_att_type\": \"p2c|c2p\", \"norm_rel_ebd\": \"layer_norm\", \"conv_kernel_size\": 3, \"conv_act\": \"gelu\""
architecture deberta-biased deberta-v2 "$sizes, \"type_vocab_size\": 2, \"relative_attention\": true, \"position_buckets\": -1,
  \"max_relative_positions\": 12, \"pos_att_type\": \"c2p|p2c\", \"share_att_key\": true, \"position_biased_input\": true"
# Wide enough that few tokens' gradients are kept as factors.
architecture wide bert "${sizes/\"hidden_size\": 48/\"hidden_size\": 384}"
cd "$repository"

# -- Jobs

classify() { fit --train-data-file "$sample" --max-steps 12 --batch-size 8 --validation-split 0.1 --eval-steps 6 "$@" &&
  predict "$data/texts.jsonl"; }
random() { local name=$1; shift; classify --init random --model "$tiny" --model-config "$data/$name.json" --max-steps 6 "$@"; }
few_rows() { local file=$1; shift; fit --train-data-file "$file" --eval-data-file "$file" --max-steps 4 --batch-size 2 "$@"; }
task() { few_rows "$@" && predict "$1" "${@:2}"; }

checkpointed=(--train-data-file "$sample" --max-steps 24 --batch-size 4 --save-steps 4 --eval-steps 8)
# Trains until the first checkpoint is complete, and is killed then.
begin() {
  fit "${checkpointed[@]}" "$@" &
  local shell=$!
  until [ -e job/checkpoints/step-00000004/MANIFEST.json ] || ! kill -0 $shell 2>/dev/null; do sleep 0.01; done
  pkill -9 -P $shell
  wait $shell
  [ -e job/checkpoints/step-00000004/MANIFEST.json ]
} 2>/dev/null
go_on() { fit "${checkpointed[@]}" "$@" && rm -rf job/checkpoints; }
killed() { begin "$@" && go_on "$@"; }
# The old build begins the job, and the build under test goes on with it.
begun_by_old() {
  local under_test=$program program=$old
  begin "$@" && program=$under_test && go_on "$@"
}
glue() { fit --task mnli --data-dir "$data/MNLI" --max-steps 3 --batch-size 2; }
conversions() {
  fit --train-data-file "$sample" --model "$tiny" --max-steps 4 --batch-size 4 --export-format tensorflow &&
    berth --mode convert --model job/model/bert_model.ckpt --export-dir back --export-format safetensors &&
    berth --mode convert --model job --export-dir half --export-dtype bfloat16 &&
    berth --mode export_only --job-dir job --export-dir exported --export-format tensorflow &&
    berth --train-data-file "$sample" --max-steps 2 --batch-size 4 --model half --job-dir from-half
}
records() {
  berth --mode prepare --train-data-file "$sample" --model "$tiny" --export-dir records --num-shards 2 --max-seq-length 24 &&
    fit --train-data-file 'records/train.tf_record-*' --eval-data-file 'records/eval.tf_record-*' --model "$tiny" \
      --input-meta-data-path records/meta_data.json --max-steps 6 --batch-size 4 &&
    predict "$data/texts.jsonl"
}
sample_job() { fit --train-data-file "$sample" --max-steps 30 --learning-rate 5e-4 --batch-size 16 "$@" &&
  predict "$data/texts.jsonl"; }
seeds() { fit --train-data-file "$sample" --max-steps 4 --batch-size 4 --seed 7 --seeds 2; }

[ $list = yes ] || report job time result
for precision in fp32 bf16; do
  compare $precision sample_job --precision $precision
  compare $precision-accumulation classify --precision $precision --gradient-accumulation-steps 4
  compare $precision-recompute classify --precision $precision --recompute
  compare $precision-wide random wide --precision $precision --batch-size 1 --max-seq-length 32
  compare $precision-lora classify --precision $precision --lora-rank 2 --lora-dropout 0.1 --export-adapter
  compare $precision-killed killed --precision $precision
done
for name in bert roberta xlm-roberta electra albert albert-groups distilbert deberta deberta-convolved deberta-biased; do
  compare $name random $name
  compare $name-bf16 random $name --precision bf16
  compare $name-accumulation random $name --gradient-accumulation-steps 2
  compare $name-recompute random $name --recompute
  compare $name-answers task "$data/squad.json" --init random --model "$tiny" --model-config "$data/$name.json" \
    --max-seq-length 24 --doc-stride 2
  compare $name-words task "$data/words.conll" --init random --model "$tiny" --model-config "$data/$name.json"
done
compare token-budget classify --token-budget 600 --gradient-accumulation-steps 2
compare token-budget-recompute classify --token-budget 600 --recompute
compare drop-remainder classify --epochs 1 --max-steps 0 --batch-size 100 --drop-remainder
compare lamb classify --optimizer lamb
compare lamb-accumulation classify --optimizer lamb --gradient-accumulation-steps 2 --precision bf16
compare lamb-wide random wide --optimizer lamb --batch-size 1 --max-seq-length 32
compare wide-killed killed --init random --model "$tiny" --model-config "$data/wide.json" --batch-size 1 --max-seq-length 32
compare lora-all-linear classify --lora-rank 3 --lora-alpha 4 --lora-target-modules all-linear --export-adapter
compare lora-dense classify --lora-rank 2 --lora-target-modules key,dense --precision bf16 --export-adapter
compare lora-accumulation classify --lora-rank 2 --gradient-accumulation-steps 2 --recompute
compare lora-killed killed --lora-rank 2 --lora-dropout 0.1 --export-adapter
compare lora-output classify --lora-rank 2 --lora-target-modules attention.output.dense --model "$tiny"
compare freeze-embeddings classify --freeze-embeddings
compare freeze-layers classify --freeze-encoder-layers 1
compare freeze-all-layers classify --freeze-encoder-layers 2 --precision bf16
compare freeze-killed killed --freeze-encoder-layers 1
compare schedule-cosine classify --lr-scheduler-type cosine --lr-end 1e-5 --warmup-steps 3
compare schedule-polynomial classify --lr-scheduler-type polynomial --lr-power 2 --layerwise-lr-decay 0.9
compare schedule-constant classify --lr-scheduler-type constant --max-grad-norm 0 --weight-decay 0
compare no-warmup classify --warmup-ratio 0 --adam-beta1 0.8 --adam-beta2 0.99 --adam-epsilon 1e-6 --max-grad-norm 0.1
compare class-weights classify --class-weights balanced --label-smoothing 0.1
compare row-weights task "$data/weights.csv" --weight-column w --label-smoothing 0.1
compare best-model classify --load-best-model-at-end --early-stopping-patience 2 --eval-steps 2
compare data-fraction classify --data-fraction 0.3 --max-train-samples 100 --max-seq-length 16
compare task-regression task "$data/pairs.csv"
compare task-multi-label task "$data/marks.csv" --label-column rude,kind
compare task-tokens task "$data/words.conll"
compare task-answers task "$data/squad.json" --max-seq-length 16 --doc-stride 2
compare task-answers-bf16 task "$data/squad.json" --max-seq-length 16 --doc-stride 2 --precision bf16 --version-2-with-negative
compare task-mnli glue
compare seeds seeds
compare conversions conversions
compare records records
compare begun-by-old begun_by_old
compare begun-by-old-bf16-lora begun_by_old --precision bf16 --lora-rank 2
compare begun-by-old-frozen begun_by_old --freeze-embeddings

[ $list = no ] || exit 0
echo "$compared_jobs jobs: $((compared_jobs - differing - failures)) same, $differing different, $failures failed"
[ $((differing + failures)) = 0 ] && [ $compared_jobs -gt 0 ]
