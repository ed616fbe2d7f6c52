#!/bin/sh
# The tour: `make demo`, or demo/tour.sh PATH-OF-LOOKALIKE.
set -eu
lookalike=${1:-lookalike}
case $lookalike in */*) lookalike=$(cd "$(dirname "$lookalike")" && pwd)/$(basename "$lookalike") ;; esac
cd "$(dirname "$0")"
out=${TMPDIR:-/tmp}/lookalike-demo
mkdir -p "$out"
show() { printf '\n$ lookalike %s\n' "$*"; "$lookalike" "$@"; }

echo "27 bills of the US House: which are versions of one another?"
show scan bills --resemblance 0.4 --shingle 5

printf '\nHow much did one of them change between two stages?\n'
show compare bills/117hr2008ih.htm bills/117hr2008rh.htm --html "$out/compare.html"

printf '\nWhat is kept of a document: 2 KB, whatever its length.\n'
show sketch bills/117hr2008rh.htm

printf '\nAnd which pairs would a filter of 48 bytes a document let through?\n'
show curve --features 6x14/2 --svg "$out/curve.svg"

cat <<END

Look at
  $out/compare.html   the two bills side by side
  $out/curve.svg      the filter's curve
Then try it on your own:
  lookalike scan ~/Documents
  lookalike compare one.html two.html
(the program is $lookalike)
END
