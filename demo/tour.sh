#!/bin/sh
# The tour: `make demo`, or demo/tour.sh PATH-OF-LOOKALIKE.
#
# The collection and the pages it draws go to a folder that is emptied at the next tour.
set -eu
lookalike=${1:-lookalike}
case $lookalike in */*) lookalike=$(cd "$(dirname "$lookalike")" && pwd)/$(basename "$lookalike") ;; esac
cd "$(dirname "$0")"
out=${TMPDIR:-/tmp}/lookalike-demo-$(id -u)
site=https://docs.example.org/current
rm -rf "$out"
mkdir -m 700 "$out"
show() { printf '\n$ lookalike %s\n' "$*"; "$lookalike" "$@"; }

echo "27 bills of the US House: which are versions of one another?"
show scan bills --resemblance 0.4 --shingle 5

printf '\nWhat changed in one of them between two stages?\n'
show compare bills/117hr2008ih.htm bills/117hr2008rh.htm --html "$out/compare.html"

printf '\n%s\n' "A manual as a crawler would meet it on three days: 153 pages; three of them moved; 135 pages."
show add "$out/manual" crawl/2020-09-24.warc.gz --date 2020-09-24
show add "$out/manual" crawl/2022-05-12.warc.gz --date 2022-05-12
show add "$out/manual" crawl/2024-09-26.warc.gz --date 2024-09-26

printf '\nWhich pages are roughly the same? Which nearly? Only the last phase runs again.\n'
show cluster "$out/manual" --resemblance 0.5
show cluster "$out/manual" --resemblance 0.9

printf '\nWhat each phase kept.\n'
show stats "$out/manual"

printf '\nThis page moved, then was edited. Who holds it?\n'
show members "$out/manual" "$site/queries-with.html"

printf '\nWhere is a page now that is not where it was? And how do pages change?\n'
show where "$out/manual" "$site/queries-with.html" "$site/brin-intro.html"
show changes "$out/manual" --html "$out/changes.html"

cat <<END

Look at
  $out/compare.html   the two bills side by side
  $out/changes.html   how the manual changed, with plots
and ask the collection more, it stays until the next tour:
  lookalike members $out/manual $site/tutorial-arch.html
  lookalike cluster $out/manual --containment 0.8      pages folded into longer ones
  lookalike export $out/manual pairs -o pairs.parquet  for DuckDB, Polars, pandas
Then try your own:
  lookalike scan ~/Documents
  lookalike add my-crawl *.warc.gz
  lookalike curve --features 6x14/2                    what a filter of 48 bytes a document lets through
(the program is $lookalike)
END
