//! Other people's WARC files, against the counts of two other readers.

use lookalike_testkit::corpora;

use super::*;

/// How many records a file has, whatever becomes of them.
fn count(path: &Path) -> (usize, Outcome) {
    let got = read_path(path, &ReadOptions::default());
    (got.records.len() + got.refused.len(), got)
}

#[test]
fn counts_are_those_of_two_other_readers() {
    let Some(folder) = corpora() else {
        return;
    };
    let folder = folder.join("warc-good-bad");
    let manifest = std::fs::read_to_string(folder.join("manifest.tsv")).expect("the list");
    let (mut compared, mut pages) = (0, 0);
    for row in manifest.lines().skip(1) {
        let fields: Vec<&str> = row.split('\t').collect();
        let [
            file,
            _,
            _,
            warcio,
            html,
            warcio_error,
            fastwarc,
            fastwarc_error,
            ..,
        ] = fields[..]
        else {
            panic!("a row of nine fields: {row}");
        };
        let (records, got) = count(&folder.join(file));
        assert!(got.errors.is_empty(), "{file}: {:?}", got.errors);
        let is_settled = warcio == fastwarc && warcio_error.is_empty() && fastwarc_error.is_empty();
        if !is_settled {
            // Debatable: it is read without harm, and what is lost is told.
            continue;
        }
        compared += 1;
        assert_eq!(records.to_string(), warcio, "{file}: {:?}", got.refused);
        let found = got.records.iter().filter(|got| got.url.is_some()).count();
        pages += found;
        let html: usize = html.parse().expect("a count");
        // Redirections and errors are responses too, and what is cut is not read.
        assert!(
            found >= html || file.contains("trunc") || got.codes().contains(&"status"),
            "{file}"
        );
    }
    assert!(
        compared >= 25 && pages >= 12,
        "{compared} files, {pages} pages"
    );
}

#[test]
fn damage_in_the_middle_costs_one_record() {
    let Some(folder) = corpora() else {
        return;
    };
    let folder = folder.join("warc-good-bad/derived");
    for (file, records, rejected) in [
        ("whirlwind-single-member.warc.gz", 4, 0),
        ("whirlwind-no-blank-lines-between.warc", 4, 0),
        ("whirlwind-zero-tail.warc.gz", 4, 0),
        ("whirlwind-garbage-between.warc.gz", 7, 3),
        ("whirlwind-bitflip-middle-member.warc.gz", 4, 1),
        ("whirlwind-content-length-too-big.warc", 4, 1),
    ] {
        let (all, got) = count(&folder.join(file));
        let lost = got.refused.iter().filter(|refused| refused.is_rejected);
        assert_eq!(
            (all, lost.count()),
            (records, rejected),
            "{file}: {:?}",
            got.refused
        );
    }
}
