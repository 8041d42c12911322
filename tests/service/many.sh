#!/bin/bash
# Runs inside the machine, as an unprivileged user: many projects at the usual limit of open files, a second service, a crash, and an
# update during a run. Prints `NAME VALUE` lines; the test judges. Arguments: the directory with `proctor`, the number of
# projects, the number of files in each, the seconds of idling that are measured.
set -eu
tools=$1 count=$2 files=$3 seconds=$4
units=$HOME/.config/systemd/user
state=$HOME/.local/state/proctor
many=$HOME/many
mkdir -p "$HOME/bin"
cp "$tools/proctor" "$HOME/bin/proctor"
proctor=$HOME/bin/proctor

show() { systemctl --user show -p "$1" --value proctor.service; }
main() { show MainPID; }
runs() { cat "$state"/ledger/*.jsonl 2>/dev/null | grep -c '"kind":"run"' || true; }
await() { # WHAT COMMAND...: polls for five minutes
  local what=$1 tries=0
  shift
  until "$@"; do
    tries=$((tries + 1))
    if [ $tries -ge 1500 ]; then
      echo "LATE $what"
      { systemctl --user status --no-pager proctor.service; journalctl --user -u proctor --no-pager | tail -40; "$proctor" status --all | grep -v 'fresh PASS' | head; } >&2 || true
      exit 1
    fi
    sleep 0.2
  done
}
judged() { [ "$("$proctor" status --all 2>/dev/null | grep -c 'fresh PASS')" -ge "$1" ]; }
processes() { cat "/sys/fs/cgroup$(show ControlGroup)/cgroup.procs" $(find "/sys/fs/cgroup$(show ControlGroup)" -mindepth 2 -name cgroup.procs) 2>/dev/null | sort -u; }
sum() { # FIELD FILE: the sum over all processes of the service
  local all=0 one process
  for process in $(processes); do
    one=$(awk -v field="$1:" '$1 == field { print $2 }' "/proc/$process/$2" 2>/dev/null || true)
    all=$((all + ${one:-0}))
  done
  echo $all
}
ticks() { # processor time of all processes of the service, in hundredths of a second
  local all=0 process
  for process in $(processes); do
    all=$((all + $(awk '{ sub(/^.*[)] /, ""); print $12 + $13 }' "/proc/$process/stat" 2>/dev/null || echo 0)))
  done
  echo $all
}

"$proctor" service install >/dev/null
mkdir -p "$units/proctor.service.d"
printf '[Service]\nLimitNOFILE=1024\n' >"$units/proctor.service.d/limit.conf"
systemctl --user daemon-reload
systemctl --user restart proctor.service
echo "LIMIT $(awk '/^Max open files/ { print $4, $5 }' "/proc/$(main)/limits")"

for number in $(seq "$count"); do
  project=$many/$number
  mkdir -p "$project/src"
  printf '[[check]]\nname = "check"\ncommand = ["true"]\n\n[evidence]\nlink = ""\n' >"$project/proctor.toml"
  if [ "$number" = 1 ]; then
    printf '[[check]]\nname = "check"\ncommand = ["/bin/sh", "check.sh"]\n\n[evidence]\nlink = ""\n' >"$project/proctor.toml"
    echo 'if grep -q slow src/1.txt; then sleep 6.25; fi' >"$project/check.sh"
  fi
  for file in $(seq "$files"); do echo "$number $file" >"$project/src/$file.txt"; done
  "$proctor" add "$project" >/dev/null 2>&1
done
await 'every project to be judged' judged "$count"
echo "JUDGED $("$proctor" status --all | grep -c 'fresh PASS')"
# One save in every project.
for number in $(seq "$count"); do echo saved >"$many/$number/src/1.txt"; done
await 'every save to be judged' judged "$count"

# The projects that have just done something stay ready for half a minute. Then nothing is left open, whatever was open before.
index() { readlink "/proc/$(main)/fd/"* | grep -c '/state\.db' || true; }
at_rest() { [ "$(index)" = 0 ]; }
await 'the index to be closed' at_rest
before=$(ticks)
sleep "$seconds"
echo "IDLE $(($(ticks) - before)) hundredths of a second in $seconds s"
echo "RESIDENT $(sum VmRSS status) KiB"
echo "PROPORTIONAL $(sum Pss smaps_rollup) KiB"
echo "DESCRIPTORS $(ls "/proc/$(main)/fd" | wc -l)"
echo "FILES $(readlink "/proc/$(main)/fd/"* | sed "s#$many/[0-9]*#PROJECT#; s#$HOME#~#; s/[0-9][0-9]*/N/g" | sort | uniq -c | sort -rn | awk '{ n = $1; $1 = ""; printf "%s:%s, ", $0, n }')"
echo "THREADS $(ls "/proc/$(main)/task" | wc -l)"
echo "PROCESSES $(processes | wc -l)"

# A second service of the same store is refused, wherever its socket is.
second=0
XDG_RUNTIME_DIR=$HOME "$proctor" daemon >"$HOME/said" 2>&1 || second=$?
echo "SECOND $second"

# Killed: every project is watched again, and what was saved meanwhile is judged.
before=$(main)
systemctl --user kill -s KILL --kill-whom=main proctor.service
for number in 1 2 3; do echo meanwhile >"$many/$number/src/1.txt"; done
"$proctor" status "$many/1" >/dev/null 2>&1 || true
await 'every project to be judged after a kill' judged "$count"
echo "KILLED $([ "$(main)" != "$before" ] && echo another)"

# Updated while a check runs: the run ends, then the same process runs the new program.
was=$(runs)
echo slow >"$many/1/src/1.txt"
await 'the slow check' pgrep -f 'sleep 6.25' >/dev/null
before=$(main)
started=$(stat -L -c %i "/proc/$before/exe")
cp "$tools/proctor" "$HOME/bin/new"
echo >>"$HOME/bin/new"
mv "$HOME/bin/new" "$proctor"
renewed() { local now; now=$(main); [ "$now" != 0 ] && [ "$(stat -L -c %i "/proc/$now/exe" 2>/dev/null)" != "$started" ] && [ "$(show ActiveState)" = active ]; }
await 'the new program' renewed
echo "LETEND $(($(runs) - was)) $(cat "$state"/ledger/1-*.jsonl | tail -n 1 | grep -c '"overallStatus":"SUCCESS"')"
echo "RENEWED $([ "$(main)" = "$before" ] && echo same) $(journalctl --user -u proctor --no-pager | grep -c 'is another program than the one that runs')"
await 'every project to be judged by the new program' judged "$count"
echo "VERIFIED $("$proctor" verify --all >/dev/null 2>&1 && echo yes)"
"$proctor" service uninstall >/dev/null
