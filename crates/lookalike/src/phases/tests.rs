//! The phases by other hands make the bytes that [`crate::add`] makes.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use hashbrown::HashMap;
use lookalike_core::recipe::SketchKind;
use lookalike_testkit::texts::{Draw, edited, line, words};

use super::Job;
use super::draft::Draft;
use super::join::{GroupSizes, each_sketch, groups, postings};
use super::meet::{common_of, documents_of, judge, judge_by_samples, keep, meetings, pack, unpack};
use super::sketch::{Piece, sketch_source};
use super::verify::{Wanted, exact, sets};
use crate::add::{AddError, AddOptions, Report, add, check_numbers};
use crate::clusters::policy::{Link, Policy, Verify};
use crate::corpus::inputs::Inputs;
use crate::corpus::tests::{page, warc};

/// All phases, with keys and documents in so many ranges.
fn by_phases(
    folder: &Path,
    paths: &[PathBuf],
    options: &AddOptions,
    ranges: usize,
) -> Result<Report, AddError> {
    let job = Job::new(
        &options.recipe,
        &options.reading,
        options.floor,
        &options.policy,
    );
    // As it comes to another machine.
    let job: Job = serde_json::from_str(&serde_json::to_string(&job).unwrap()).unwrap();
    let (recipe, reading) = (job.recipe(None).unwrap(), job.reading());
    let (kind, floor) = (recipe.sketch, job.floor);
    let inputs = Inputs::expand(paths, &options.reading);
    let mut pieces: Vec<Piece> = Vec::new();
    for (number, source) in (0..).zip(&inputs.sources) {
        sketch_source(source, number, &recipe, &reading, |piece| {
            pieces.push(piece);
            ControlFlow::Continue(())
        })
        .unwrap();
    }
    let sources = inputs.sources.clone();
    let mut draft = Draft::begin(folder, inputs, options.clone())?;
    let mut all = pieces.iter();
    let mut numbers = Vec::new();
    draft.number(
        || {
            Ok(all
                .next()
                .map(|one| (one.heads.clone(), one.bodies.clone(), one.notes.clone())))
        },
        |of_piece| numbers.push(of_piece.to_vec()),
    )?;
    // The last piece first: the order does not show.
    let mut by_key = vec![Vec::new(); ranges];
    for (piece, numbers) in pieces.iter().zip(&numbers).rev() {
        let parts = postings(kind, &piece.heads, &piece.bodies, numbers, ranges).unwrap();
        for (range, part) in by_key.iter_mut().zip(parts) {
            range.push(part);
        }
    }
    let mut sizes = GroupSizes::default();
    let mut found = Vec::new();
    for range in by_key {
        let (bytes, some) = groups(range.iter().map(Vec::as_slice)).unwrap();
        sizes.add(&some);
        found.push(bytes);
    }
    let documents = u32::try_from(draft.documents()).unwrap();
    let mut by_doc = vec![Vec::new(); ranges];
    let mut common = Vec::new();
    for bytes in found.iter().rev() {
        let met = meetings(bytes, sizes.cap(), documents, ranges).unwrap();
        common.extend(met.common);
        for (range, part) in by_doc.iter_mut().zip(met.by_range) {
            range.push(part);
        }
    }
    let common = common_of(&common).unwrap();
    let samples = samples(&pieces, &numbers);
    let (mut pairs, mut set_aside) = (Vec::new(), 0);
    for range in by_doc {
        let judged = judge(kind, floor, range.iter().map(Vec::as_slice), &common).unwrap();
        let docs = documents_of(&judged.unjudged).unwrap();
        let wanted = docs.iter().flat_map(|pair| [pair.0, pair.1]);
        let wanted = wanted.map(|doc| (doc, samples[&doc].clone()));
        let unjudged = [judged.unjudged.as_slice()];
        let rest = judge_by_samples(kind, floor, unjudged, &common, wanted).unwrap();
        assert!(rest.unjudged.is_empty());
        let (kept, aside) = keep(kind, [judged.pairs, rest.pairs].concat());
        pairs.extend(unpack(&pack(&kept)).unwrap());
        set_aside += aside;
    }
    draft.pairs(&pairs)?;
    draft.counted(&sizes, set_aside)?;
    loop {
        let asked = draft.cluster()?;
        if asked.is_empty() {
            return draft.commit();
        }
        let mut by_source: BTreeMap<u32, Vec<Wanted>> = BTreeMap::new();
        for (source, wanted) in draft.places(&asked)? {
            by_source.entry(source).or_default().push(wanted);
        }
        let mut known = HashMap::new();
        for (source, wanted) in by_source {
            let source = &sources[source as usize];
            sets(source, &wanted, &recipe, &reading, |doc, set| {
                known.insert(doc, set);
            })
            .unwrap();
        }
        let told: Vec<_> = asked
            .iter()
            .filter_map(|&(a, b)| Some(exact(a, b, known.get(&a)?, known.get(&b)?).unwrap()))
            .collect();
        draft.tell(&asked, &told);
    }
}

/// The samples of every document that has its own.
fn samples(pieces: &[Piece], numbers: &[Vec<u32>]) -> HashMap<u32, Vec<u64>> {
    let mut all = HashMap::new();
    for (piece, numbers) in pieces.iter().zip(numbers) {
        each_sketch(&piece.heads, &piece.bodies, numbers, |doc, _, samples| {
            all.insert(doc, samples.to_vec());
        })
        .unwrap();
    }
    all
}

/// All files of a collection.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let name = |entry: &fs::DirEntry| entry.file_name().into_string().unwrap();
    entries
        .map(|entry| (name(&entry), fs::read(entry.path()).unwrap()))
        .collect()
}

fn assert_same_as_add(paths: &[PathBuf], options: &AddOptions) {
    let folder = tempfile::tempdir().unwrap();
    let by_add = folder.path().join("add");
    let inputs = Inputs::expand(paths, &options.reading);
    let report = add(&by_add, &inputs, options, &mut |_| {}).unwrap();
    assert!(report.counts.pairs > 0 && report.counts.identical > 0);
    let by_add = files(&by_add);
    for ranges in [1, 3, 8] {
        let other = folder.path().join(format!("phases-{ranges}"));
        let again = by_phases(&other, paths, options, ranges).unwrap();
        assert_eq!(again.counts, report.counts, "{ranges} ranges");
        assert_eq!(again.rejects, report.rejects);
        let other = files(&other);
        assert!(
            other.keys().eq(by_add.keys()),
            "{:?} {:?}",
            other.keys(),
            by_add.keys()
        );
        for (name, bytes) in &by_add {
            assert!(other[name] == *bytes, "{name} with {ranges} ranges");
        }
    }
}

fn write(folder: &Path, name: &str, lines: &[String]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, lines.concat()).unwrap();
    path
}

/// Copies, edits near the threshold, documents of very different length.
fn families(folder: &Path, count: u64) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for family in 0..count {
        let text = words(family, 1200);
        let mut doc = |what: &str, words: &[String]| {
            all.push(line(&format!("{family}-{what}"), &words.join(" ")));
        };
        doc("original", &text);
        doc("copy", &text);
        for every in [11, 17, 24, 35] {
            doc(&format!("edited-{every}"), &edited(&text, 3, every));
        }
        // Of thirty-two times its length: compared by their samples.
        doc("part", &text[..40]);
        doc(
            "part-again",
            &[&text[..40], &words(family + 7_000, 2)[..]].concat(),
        );
    }
    all.push("{\"id\":\"broken\",\"text\":\n".to_owned());
    let parts = all.chunks(all.len() / 3 + 1).enumerate();
    parts
        .map(|(i, lines)| write(folder, &format!("{i}.jsonl"), lines))
        .collect()
}

#[test]
fn phases_elsewhere_make_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let paths = families(folder.path(), 30);
    assert_same_as_add(&paths, &AddOptions::default());
}

#[test]
fn every_kind_of_sketch_is_judged_alike() {
    let folder = tempfile::tempdir().unwrap();
    let paths = families(folder.path(), 8);
    for kind in ["mod:25", "min:100", "min-mod:100,4", "perm:84"] {
        let mut options = AddOptions::default();
        options.recipe.sketch = kind.parse::<SketchKind>().unwrap();
        assert_same_as_add(&paths, &options);
    }
}

#[test]
fn every_policy_is_told_what_it_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let paths = families(folder.path(), 8);
    let some = Policy {
        resemblance: Some(0.45),
        ..Policy::default()
    };
    for policy in [
        Policy {
            verify: Verify::Exact,
            ..some
        },
        Policy {
            verify: Verify::None,
            ..some
        },
        Policy {
            link: Link::Star,
            ..some
        },
        Policy {
            link: Link::Star,
            verify: Verify::Exact,
            ..some
        },
        Policy {
            containment: Some(0.8),
            ..some
        },
    ] {
        let options = AddOptions {
            policy,
            ..AddOptions::default()
        };
        assert_same_as_add(&paths, &options);
    }
}

#[test]
fn what_many_documents_share_is_told_apart_alike() {
    let folder = tempfile::tempdir().unwrap();
    let common = words(1, 14).join(" ");
    let mut draw = Draw::new(7);
    let mut lines: Vec<String> = (0..6_000)
        .map(|i| {
            let len = 20 + draw.below(30);
            let own = words(100 + i, usize::try_from(len).unwrap()).join(" ");
            line(&format!("{i}"), &format!("{common} {own}"))
        })
        .collect();
    // Alike by the common words alone, or nearly.
    for i in 0..40 {
        let own = words(90_000 + i % 20, 4).join(" ");
        lines.push(line(&format!("near-{i}"), &format!("{common} {own}")));
    }
    let path = write(folder.path(), "common.jsonl", &lines);
    let inputs = Inputs::expand(&[&path], &AddOptions::default().reading);
    let collection = folder.path().join("c");
    let report = add(&collection, &inputs, &AddOptions::default(), &mut |_| {}).unwrap();
    assert!(report.counts.common > 0, "{:?}", report.counts);
    assert_same_as_add(&[path], &AddOptions::default());
}

#[test]
fn revisits_and_blank_pages_come_through() {
    let folder = tempfile::tempdir().unwrap();
    let text = words(5, 200).join(" ");
    let revisit = "WARC-Target-URI: http://x/9\r\nWARC-Payload-Digest: sha1:b\r\n";
    let digest = "WARC-Target-URI: http://x/2\r\nWARC-Payload-Digest: sha1:b\r\n";
    let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>{text} end");
    let records = [
        page("http://x/0", &text),
        page("http://x/1", &text),
        page("http://x/3", ""),
        warc("response", digest, block.as_bytes()),
        warc("revisit", revisit, b"HTTP/1.1 200 OK\r\n\r\n"),
    ];
    let path = folder.path().join("a.warc");
    fs::write(&path, records.concat()).unwrap();
    assert_same_as_add(&[path], &AddOptions::default());
}

#[test]
fn garbled_bytes_are_an_error() {
    assert!(groups([&[1_u8, 2, 3][..]]).is_err());
    assert!(meetings(&[0; 20], None, 1, 2).is_err());
    assert!(unpack(&[0; 23]).is_err());
    assert!(exact(1, 0, &[0; 7], &[]).is_err());
    assert!(postings(SketchKind::default(), &[0; 160], &[], &[], 1).is_err());
}

#[test]
fn a_draft_is_no_collection_until_it_is_committed() {
    let folder = tempfile::tempdir().unwrap();
    let paths = families(folder.path(), 1);
    let options = AddOptions::default();
    let at = folder.path().join("c");
    let inputs = Inputs::expand(&paths, &options.reading);
    let draft = Draft::begin(&at, inputs, options.clone()).unwrap();
    drop(draft);
    assert!(crate::collection::Collection::open(&at).is_err());
    by_phases(&at, &paths, &options, 2).unwrap();
    let inputs = Inputs::expand(&paths, &options.reading);
    assert!(Draft::begin(&at, inputs, options).is_err());
}

#[test]
fn records_without_a_number_are_refused() {
    let most = u64::from(u32::MAX) - 1;
    assert!(check_numbers(0, most).is_ok());
    assert!(check_numbers(7, most - 7).is_ok());
    for (documents, records) in [
        (0, most + 1),
        (u32::MAX - 1, 1),
        (0, u64::from(u32::MAX) + 1),
    ] {
        let refused = check_numbers(documents, records);
        assert!(matches!(refused, Err(AddError::TooMany(all)) if all > most));
    }
}
