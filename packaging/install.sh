#!/bin/sh
# Installs proctor for you alone, from the directory of a release in which this script lies.
#
#   sh install.sh [--to DIRECTORY] [--signers FILE]
#
# Checks the signature of SHA256SUMS by `ssh-keygen`, the archive's checksum by it, and puts `proctor`, `proctor-govern` and `proctor-verify` into
# DIRECTORY (~/.local/bin). The key is the one below. Who gives you another script can give you another key: take the key from a place that you
# trust, as a line of an allowed-signers file for the name `release`, and name that FILE. Sends nothing anywhere.
set -eu

key='@RELEASE_KEY@'
name="@ARCHIVE@"
to=$HOME/.local/bin
signers=
fail() {
  echo "install.sh: $1" >&2
  exit 1
}
while [ $# -gt 0 ]; do
  case $1 in
    --to | --signers)
      [ $# -ge 2 ] || fail "$1 needs a value"
      if [ "$1" = --to ]; then to=$2; else signers=$2; fi
      shift 2
      ;;
    *) fail 'usage: sh install.sh [--to DIRECTORY] [--signers FILE]' ;;
  esac
done
for needed in ssh-keygen sha256sum tar gzip; do
  command -v "$needed" >/dev/null || fail "\`$needed\` is missing: without it nothing is installed (Debian's packages: openssh-client, coreutils, tar, gzip)"
done
directory=$(cd "$(dirname "$0")" && pwd)
[ "$(uname -s)" = Linux ] && [ -f "$directory/$name.tar.gz" ] || fail "there is no $name.tar.gz for $(uname -s) on $(uname -m)"
# A relative directory is the caller's, whatever this script changes to.
case $to in /*) ;; *) to=$PWD/$to ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# What is checked is what is used, whoever writes to the directory meanwhile.
cp "$directory/SHA256SUMS" "$directory/SHA256SUMS.sig" "$directory/$name.tar.gz" "$work"
if [ -n "$signers" ]; then cp "$signers" "$work/signers"; else echo "release $key" >"$work/signers"; fi

cd "$work"
ssh-keygen -Y verify -q -f signers -I release -n proctor-file@v1 -s SHA256SUMS.sig <SHA256SUMS ||
  fail 'the signature of SHA256SUMS is not by the expected key: nothing was installed'
grep -F "  $name.tar.gz" SHA256SUMS >sums || fail "SHA256SUMS does not name $name.tar.gz: nothing was installed"
sha256sum --check --status sums || fail "$name.tar.gz is another file than the one that was signed: nothing was installed"
tar -xzf "$name.tar.gz"
mkdir -p "$to"
for program in proctor proctor-verify; do
  # A program that runs is replaced by a rename, never written to.
  cp "$name/$program" "$to/.$program.new"
  chmod 755 "$to/.$program.new"
done
for program in proctor proctor-verify; do mv -f "$to/.$program.new" "$to/$program"; done
ln -sf proctor "$to/proctor-govern"
echo "installed $("$to/proctor" --version) in $to"
case :$PATH: in
  *:"$to":*) ;;
  *) echo "note: $to is not in your PATH" ;;
esac
