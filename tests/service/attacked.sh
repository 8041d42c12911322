#!/bin/bash
# Runs inside the machine, as an unprivileged user: a hostile check under a service of a real service manager tries W1 to W8 in one run.
# Prints `NAME VALUE` lines; the test judges. Arguments: the directory with `proctor`, and the strongest level of isolation.
set -eu
tools=$1 level=$2
# With only a process group, nothing keeps a check from the user's files and the store, and nothing is claimed. So only what proctor
# holds or names there is tried.
attempts='service stranger manager evidence tree screen repository swap wall'
[ "$level" != process-group ] || attempts='asked manager tree screen repository swap wall'
state=$HOME/.local/state/proctor
socket=$XDG_RUNTIME_DIR/proctor/control.sock
hostile=$HOME/hostile
mkdir -p "$hostile/src" "$hostile/lib" "$HOME/other" "$HOME/.cache" "$HOME/.ssh" "$HOME/.config/systemd/user" "$HOME/.config/proctor"
printf '[[check]]\nname = "check"\ncommand = ["true"]\n' >"$HOME/other/proctor.toml"
printf '[[check]]\nname = "check"\ncommand = ["/bin/bash", "check.sh"]\n' >"$hostile/proctor.toml"
cp "$tools/ask.py" "$hostile/ask.py"
# Checks see another /var/tmp at namespace level.
mkdir "$HOME/bin"
cp "$tools/proctor" "$HOME/bin/proctor"
proctor=$HOME/bin/proctor
printf 'exit 0\n' >"$hostile/check.sh"
printf 'works\n' >"$hostile/src/calc.py"
printf 'one\n' >"$hostile/a.txt"
printf 'two\n' >"$hostile/b.txt"
printf 'lib\n' >"$hostile/lib/a.txt"
printf 'PRIVATE KEY\n' >"$HOME/.ssh/id_test"
printf '[user]\nname = me\n' >"$HOME/.gitconfig"
printf ': mine\n' >"$HOME/.bashrc"

ledger() { cat "$state"/ledger/*.jsonl 2>/dev/null || true; }
runs_of() { cat "$state/ledger/$1-"*.jsonl 2>/dev/null | grep -c '"kind":"run"' || true; }
of_reach() { [ "$(runs_of "$1")" -ge "$2" ]; }
await() { # WHAT COMMAND...: polls for a minute
  local what=$1 tries=0
  shift
  until "$@"; do
    tries=$((tries + 1))
    if [ $tries -ge 1200 ]; then
      echo "LATE $what"
      { systemctl --user status --no-pager attacked; journalctl --user -u attacked --no-pager | tail -40; ledger; } >&2 || true
      exit 1
    fi
    sleep 0.05
  done
}
sums() { sort | xargs -d '\n' sha256sum | sha256sum; }
# What must be as it was: keys, the ledger and evidence of the other project, and that project's files.
untouched() {
  { find "$state" -path '*key*' -type f; find "$state/ledger" "$state/evidence" "$HOME/other" -path '*other*' -type f; } | sums
}
# The user's own files: everything in the home but the hostile project and proctor's state.
files_of_user() { find "$HOME" \( -path "$hostile" -o -path "$HOME/.local/state" \) -prune -o -type f ! -name 'outcome-*' -print | sums; }
kinds() { ledger | grep -c -E "\"kind\":\"($1)\"" || true; }
same() { [ "$1" = "$2" ] && echo same || echo changed; }
# Bytes that a terminal obeys, and characters that turn a text around, in what is read.
commands_for_terminal() { LC_ALL=C grep -c -a -P '[\x00-\x08\x0b-\x1f\x7f]|\xe2\x80\xae|\xc2\x9b' || true; }
log() { cat "$state"/evidence/hostile-*/default/runs/*/STEP.1-terminal-output.log | tr -d '\000'; }
# The part of the log that one attempt wrote.
attempt() { log | sed -n "/^BEGIN $1\$/,/^END $1\$/p"; }

systemd-run --user --quiet --unit=attacked -p Delegate=yes --setenv=PROCTOR_TEST_ISOLATION="$level" "$proctor" daemon
await 'the socket' test -S "$socket"
"$proctor" add "$HOME/other" >/dev/null
"$proctor" add "$hostile" >/dev/null
await 'the first verdicts' of_reach other 1
await 'the first verdicts' of_reach hostile 1
before=$(untouched) files=$(files_of_user)
project_files=$(find "$hostile" -type f ! -path '*/evidence/*' ! -name check.sh | sums)
approvals=$(kinds 'approval|registered')
lines=$(cat "$state"/ledger/hostile-*.jsonl | wc -l)
head -n "$lines" "$state"/ledger/hostile-*.jsonl >"$HOME/outcome-lines"

# One save. Each attempt says FAULT with a word if it got what it must not get at any level, and REACHED with a word if it got what
# only namespaces hold.
cat >"$HOME/outcome-check" <<CHECK
exec 2>&1
attempt() { echo "BEGIN \$1"; "\$1"; echo "END \$1"; }
wall() { # W1: the wall is taken down for the next run, and the project asks for less.
  printf '[sandbox]\nmode = "off"\n' >>proctor.toml && echo CHANGED settings
}
manager() { # W2: a process that the service manager starts.
  XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS=unix:path=$XDG_RUNTIME_DIR/bus systemd-run --user --quiet --wait touch $HOME/outcome-escaped && echo REACHED manager
}
stranger() { # W3: a project that asks for the user's files, which the check has proctor run.
  mkdir -p stranger
  printf '[[check]]\nname = "free"\ncommand = ["cat", "$HOME/.ssh/id_test"]\n[sandbox]\nvisible = ["~/.ssh"]\nwritable = ["~/.config"]\n' \
    >stranger/proctor.toml
  (cd stranger && $proctor run </dev/null) | grep 'PRIVATE KEY' && echo FAULT stranger
  cat $HOME/.ssh/id_test && echo FAULT read
  touch $HOME/.config/systemd/user/evil.service && echo FAULT unit
  echo evil >>$HOME/.bashrc && echo FAULT bashrc
  printf '[[allow]]\n' >>$HOME/.config/proctor/config.toml && echo FAULT allowed
}
service() { # W4: the service is asked to register a project, and the program is.
  mkdir -p $HOME/.cache/x && printf '[[check]]\nname = "free"\ncommand = ["true"]\n[sandbox]\nmode = "off"\n' >$HOME/.cache/x/proctor.toml
  python3 ask.py $socket $HOME/.cache/x || echo FAULT asked
  $proctor service add $HOME/.cache/x && echo FAULT added
  $proctor approve </dev/null && echo FAULT approved
  script -qec '$proctor approve' /dev/null <<<yes | grep -i '^approved' && echo FAULT approved at a terminal
}
tree() { # W5: a broken file leaves the tree.
  printf 'src/\n' >>.gitignore && echo broken >src/calc.py && echo CHANGED tree
}
screen() { # W6: names and output that a terminal obeys.
  touch \$'forged\e[2J\e[H\u202e PASSED' && printf '\e[2J\e[H\302\233\342\200\256 forged PASSED\n'
  (setsid bash -c \$'exec -a "forged\e[2J\u202e PASSED" sleep 600' </dev/null >/dev/null 2>&1 &)
}
repository() { # W7: git runs a program at the user's next command.
  for git in .git lib/.git; do
    mkdir -p \$git/objects \$git/refs && echo 'ref: refs/heads/main' >\$git/HEAD &&
      printf '[core]\nfsmonitor = touch $HOME/outcome-git; false\n' >\$git/config && echo CHANGED \$git
  done
}
swap() { # W8: files change in every run.
  mv a.txt t\$\$ && mv b.txt a.txt && mv t\$\$ b.txt && touch made\$\$ && rm made\$\$ && echo CHANGED files
}
evidence() { # What the service keeps, and another project.
  cat $state/*key* $state/keys/* | grep . && echo FAULT key
  for file in $state/ledger/*.jsonl; do echo x >>\$file && echo FAULT ledger; done
  rm -rf evidence/default $state/evidence/other-*
  echo x >>$HOME/other/proctor.toml && echo FAULT other
}
asked() { python3 ask.py $socket $HOME/.cache/x || echo FAULT asked; }
for one in $attempts; do attempt \$one; done
echo attacked
exit 0
CHECK
mv "$HOME/outcome-check" "$hostile/check.sh"
# With only a process group, the search for what the check left behind takes so long that its saves stop the run.
is_over() { of_reach hostile 2 || { [ "$level" = process-group ] && ledger | grep -q '"kind":"superseded"'; }; }
await 'the verdict on the hostile check' is_over
# A run that is handed over returns, whatever the check did to the project.
echo "RETURNED $(cd "$hostile" && { timeout 120 "$proctor" run </dev/null >"$HOME/outcome-run" 2>&1; echo $?; })"
# What the hostile check caused comes to rest: no run begins for a while.
seen=0 rest=0
at_rest() { local now; now=$(runs_of hostile); [ "$now" = "$seen" ] && rest=$((rest + 1)) || { seen=$now rest=0; }; [ $rest -ge 60 ]; }
await 'an end of the runs' at_rest
echo "RUNS $(runs_of hostile)"

echo "ATTACKED $(log | grep -c '^attacked')"
echo "FAULTS $(log | grep -c FAULT || true) $(log | grep FAULT | sort -u | tr '\n' ';' || true)"
for one in $attempts; do
  echo "ATTEMPT-$one $(attempt $one | grep -E '^(BEGIN|CHANGED|REACHED|FAULT)' | sort -u | tr '\n' ';')"
done
echo "ESCAPED $(ls "$HOME"/outcome-escaped 2>/dev/null | wc -l)"
echo "REFUSED $(log | grep -c ': closed$' || true)"
first=$(ls -d "$state"/evidence/hostile-*/default/runs/* | sed -n 2p)
echo "REPORT $(tr -d '\n' <"$first/execution-report.json")"
echo "UNTOUCHED $(same "$before" "$(untouched)")"
echo "LINES $(cmp -s "$HOME/outcome-lines" <(head -n "$lines" "$state"/ledger/hostile-*.jsonl) && echo same || echo changed)"
# The save changed no plan, so nothing had to be approved.
echo "APPROVALS $(same "$approvals" "$(kinds 'approval|registered')")"
echo "PROJECTS $("$proctor" list | grep -c ' \|-' || true) $("$proctor" list | grep -c 'cache/x\|stranger' || true)"
echo "JOURNAL $(journalctl --user -u attacked --no-pager | grep -c 'an action sent a request to the control socket' || true)"
echo "STATUS $(cd "$hostile" && "$proctor" status --json | tr -d '\n')"
echo "PROJECTFILES $(same "$project_files" "$(find "$hostile" -type f ! -path '*/evidence/*' ! -name check.sh | sums)")"
echo "SAID $(tr '\n' ' ' <"$HOME/outcome-run")"
# The user's next commands: git runs nothing of the check's, and no screen obeys it.
(cd "$hostile" && git status; cd lib && git status) >/dev/null 2>&1 || true
echo "GIT $(ls "$HOME"/outcome-git 2>/dev/null | wc -l)"
shown() {
  cd "$hostile"
  for words in status list show log why 'show --failures'; do "$proctor" $words </dev/null 2>&1 || true; done
  cat "$HOME/outcome-run" evidence/default/execution-report.json evidence/default/*.md 2>/dev/null || true
  journalctl --user -u attacked --no-pager -o cat
}
echo "PAINTED $(shown | commands_for_terminal)"
echo "SURVIVED $(pgrep -c -f 'forged' || true)"
echo "FILES $(same "$files" "$(files_of_user)")"
echo "VERIFIED $("$proctor" verify --all >/dev/null 2>"$HOME/outcome-said" && echo yes || { cat "$HOME/outcome-said" >&2; echo no; })"
systemctl --user stop attacked
