#!/bin/bash
# Runs inside the machine as root, then as an unprivileged user: the store lies on a small disk, which gets full and has room again. Prints
# `NAME VALUE` lines; the test judges. Argument: the directory with `proctor`.
set -eu
tools=$1
person=proctor-test
small=/srv/small
if [ "$(id -u)" = 0 ]; then
  number=$(id -u $person)
  mkdir -p $small
  mount -t tmpfs -o "size=32m,mode=700,uid=$number,gid=$number" tmpfs $small
  runtime=/run/user/$number
  exec runuser -u $person -- env HOME="$(getent passwd $person | cut -d: -f6)" XDG_RUNTIME_DIR="$runtime" \
    DBUS_SESSION_BUS_ADDRESS="unix:path=$runtime/bus" XDG_STATE_HOME=$small bash "$0" "$tools"
fi
cd "$HOME"
proctor=$tools/proctor
project=$HOME/shop
filler=$small/filler

await() { # WHAT COMMAND...: polls for two minutes
  local what=$1 tries=0
  shift
  until "$@"; do
    tries=$((tries + 1))
    if [ $tries -ge 1200 ]; then
      echo "LATE $what"
      { "$proctor" status "$project"; journalctl --user -u proctor --no-pager | tail -40; df $small; } >&2 || true
      exit 1
    fi
    sleep 0.1
  done
}
is_fresh() { "$proctor" status "$project" | grep -q "$1"; }
is_named() { "$proctor" status "$project" 2>&1 | grep -q 'no room\|disk'; }
status_of() { local code=0; "$@" >"$HOME/said" 2>&1 || code=$?; echo $code; }

systemctl --user set-environment XDG_STATE_HOME=$small
"$proctor" service install >/dev/null
mkdir -p "$project"
printf '[[check]]\nname = "check"\ncommand = ["grep", "-q", "good", "saved.txt"]\n' >"$project/proctor.toml"
echo 'good 0' >"$project/saved.txt"
"$proctor" add "$project" >/dev/null
await 'the first verdict' is_fresh 'fresh PASS'

head -c 100M /dev/zero >$filler 2>/dev/null || true
echo "FULL $(df --output=avail $small | tail -n 1 | tr -d ' ')"
echo 'bad, saved while the disk is full' >"$project/saved.txt"
await 'the problem to be named' is_named
before=$(date +%s)
echo "WAIT $(status_of timeout 60 "$proctor" wait --fresh --timeout 50s "$project") $(($(date +%s) - before < 20 ? 1 : 0)) $(grep -c 'no room\|disk' "$HOME/said")"
echo "SERVICE $(status_of "$proctor" service status) $(grep -c 'no room\|disk' "$HOME/said")"
echo "JOURNAL $(journalctl --user -u proctor --no-pager | grep -c 'no room\|disk is full\|No space left')"
echo "PRUNE $(status_of "$proctor" prune "$project")"

rm $filler
await 'the verdict on what was saved meanwhile' is_fresh 'fresh FAIL'
is_healed() { "$proctor" service status >/dev/null; }
await 'the problem to be over' is_healed
echo "HEALED $(journalctl --user -u proctor --no-pager | grep -c 'is judged again')"
echo "VERIFIED $(status_of "$proctor" verify --all)"
"$proctor" service uninstall >/dev/null
