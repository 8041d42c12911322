# Runs the tests of a package if it is one of this part (shard), and lists which. Go calls this script in the package's directory, with
# the program of its tests and its arguments (`-exec`). `here` is the script's own directory. `proctor-shard.plan` has the numbers of the
# part and of all parts, then what the last run timed: the part of each package.
read -r number of <"$here/proctor-shard.plan"
root=$PWD
while [ ! -e "$root/go.mod" ] && [ -n "$root" ]; do root=${root%/*}; done
module=$(sed -n 's/^module[[:space:]]*//p' "$root/go.mod")
package=$module${PWD#"$root"}
# What the last run did not time is placed by a sum of its name.
part=$(awk -v package="$package" 'NR > 1 && $2 == package { print $1 }' "$here/proctor-shard.plan")
[ -n "$part" ] || part=$(($(printf %s "$package" | cksum | cut -d ' ' -f 1) % of + 1))
if [ "$part" != "$number" ]; then
  printf 'other package %s\n' "$package" >>"$here/collected.list"
  exit 0
fi
printf 'own package %s\n' "$package" >>"$here/collected.list"
exec "$@"
