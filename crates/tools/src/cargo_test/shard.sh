#!/bin/sh
# Runs a program of tests for cargo-nextest, and hides those tests from it that are not of this part (shard). nextest asks each program
# for its tests, calls it once for each one, and is given this script as the runner of all. `proctor-shard.plan` has the numbers of the
# part and of all parts, then what the last run timed: the part of each test.
here=${0%/*}
case " $* " in
*" --list "*) ;;
*) exec "$@" ;;
esac
name=${1##*/}
name=${name%-*}
[ "$name" = "$(printf %s "$CARGO_PKG_NAME" | tr - _)" ] && program=$CARGO_PKG_NAME || program=$CARGO_PKG_NAME::$name
program=${NEXTEST_BINARY_ID:-$program}
printed=$here/printed-$$
"$@" >"$printed" || exit
# The second question is for the ignored ones, which the first answer has too.
list=$here/collected.list
case " $* " in *" --ignored "*) list=/dev/null ;; esac
awk -v program="$program" -v list="$list" '
  FNR == 1 && NR == 1 { number = $1; of = $2; next }
  NR == FNR { part = $1; sub(/^[0-9]+ /, ""); placed[$0] = part; next }
  !/: test$/ { print; next }
  {
    test = program " " substr($0, 1, length($0) - 6)
    part = test in placed ? placed[test] : sum(test) % of + 1
    if (part == number) print
    print (part == number ? "own test " : "other test ") test >> list
  }
  # What the last run did not time is placed by a sum of its name.
  function sum(text,  at, total) {
    for (at = 1; at <= length(text); at++)
      total = (total * 31 + index("abcdefghijklmnopqrstuvwxyz_:0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", substr(text, at, 1))) % 1000003
    return total
  }' "$here/proctor-shard.plan" "$printed"
ended=$?
rm -f "$printed"
exit $ended
