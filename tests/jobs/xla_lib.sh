# The tests of the XLA engine source this file behind lib.sh. It provides the plugin for CPUs, and jobs whose losses are compared.
export ASAN_OPTIONS=detect_leaks=0:${ASAN_OPTIONS:-}  # plugins keep memory until the process ends
plugins=${BERTH_XLA_PLUGINS:-$repository/build/xla-plugins}
plugin=$plugins/pjrt-cpu-0.115.so

on() { echo --device xla-cpu --pjrt-plugin "$1"; }

# require_plugin WHAT: skips what follows if the plugin is not installed.
require_plugin() {
  [ ! -s "$plugin" ] || return 0
  [ "$failures" = 0 ] || finish
  echo "NOT TESTED: $1, because there is no $plugin; run scripts/install-xla-plugin.sh, or set BERTH_XLA_PLUGINS"
  exit 77
}

# train LOG FLAG...: trains and keeps the log.
train() {
  local log=$1
  shift
  timeout 300 "$berth" "$@" --logging-steps 1 >/dev/null 2>"$log" || fail "berth $*: $(tail -n 1 "$log")"
}
# losses LOG...: "STEP LOSS" for each update, the last log counting where two have the same update.
losses() {
  cat "$@" | sed -n 's/.*"event":"step".*"step":\([0-9]*\),.*"loss":\([0-9.e+-]*\),.*/\1 \2/p' |
    awk '{loss[$1] = $2} END {for (step in loss) print step, loss[step]}' | sort -n
}
# same_losses WHAT FILE FILE: fails if the losses of an update differ by more than 1/500.
same_losses() {
  [ -s "$2" ] || fail "$1: no losses"
  join "$2" "$3" | awk -v want="$(wc -l <"$2")" '
    {d = $2 - $3; if (d < 0) d = -d; if (d > 0.002 * $2) bad = bad " " $1} END {exit bad != "" || NR != want}' ||
    fail "$1: the losses differ: $(paste "$2" "$3" | sed -n 1,5p | tr '\n\t' ', ')"
}
