//! What `find` finds, against exact truth.
//!
//! ```text
//! files of a corpus ─► add, one sweep a file ─► find ─┐
//!                  └─► all shingle sets, all pairs ───┴─► found, first, missed
//! ```

use anyhow::{Context, Result};
use lookalike::add::add;
use lookalike::core::estimate::Overlap;
use lookalike::core::recipe::Recipe;
use lookalike::core::sketcher::Sketcher;
use lookalike::corpus::document::{Document, Reading};
use lookalike::corpus::inputs::Inputs;
use lookalike::find::{FindOptions, Finder, Match, Query, Reread};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use tempfile::TempDir;

use crate::clock;
use crate::collections::{Files, options, truth};
use crate::corpora::Corpus;
use crate::figures::{Figures, Target};
use crate::vocabulary::Random;

/// A collection of some files, each a sweep, and the folder it goes with.
fn collection(files: &Files<'_>, recipe: &Recipe) -> Result<(Finder, TempDir)> {
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("c");
    let options = options(files, recipe);
    for path in &files.paths {
        let inputs = Inputs::expand(&[path], &options.reading);
        add(&place, &inputs, &options, &mut |_| {})?;
    }
    Ok((Finder::open(&place, None)?, folder))
}

/// All documents of a collection as queries.
fn all_of(finder: &Finder) -> Result<Vec<Query>> {
    let docs = 0..finder.collection().documents();
    let queries = docs.map(|doc| finder.query_of(doc, Reread::Never));
    Ok(queries.collect::<Result<_, _>>()?)
}

/// Every pair that resembles by 0.6 is found, whichever of the two is looked for; and what
/// of an older sweep is looked for has its namesake first in the newer one, wherever that
/// resembles it most.
pub fn judge_all_found(
    figures: &mut Figures,
    files: &Files<'_>,
    namesake: impl Fn(&str) -> String,
) -> Result<()> {
    let recipe = Recipe::default();
    let options = options(files, &recipe);
    let truth = truth(files, &options)?;
    let (finder, _folder) = collection(files, &recipe)?;
    let name = files.name;
    let all = FindOptions {
        top: truth.sets.len(),
        min_resemblance: FindOptions::default().min_resemblance,
        min_containment: None,
    };
    let found = finder.find_all(&all_of(&finder)?, &all)?;
    let docs = |of: &[Match]| of.iter().map(|one| one.doc).collect::<BTreeSet<_>>();
    let sets: Vec<BTreeSet<u32>> = found.iter().map(|found| docs(found)).collect();
    let (mut pairs, mut missed) = (0, 0);
    for (a, b, overlap) in &truth.pairs {
        if overlap.resemblance().is_some_and(|r| r >= 0.6) {
            pairs += 2;
            missed += usize::from(!sets[*a as usize].contains(b));
            missed += usize::from(!sets[*b as usize].contains(a));
        }
    }
    figures.count(
        &format!("{name}: find misses, of {pairs} that resemble by 0.6"),
        missed,
        Target::Is(0.0),
    );
    if files.paths.len() < 2 {
        return Ok(());
    }
    let newer = finder.collection().state().sweeps[1].base;
    let mut best: BTreeMap<u32, f64> = BTreeMap::new();
    let mut of_namesake: BTreeMap<u32, (u32, f64)> = BTreeMap::new();
    for &(later, earlier, overlap) in &truth.pairs {
        if later < newer || earlier >= newer {
            continue;
        }
        let resemblance = overlap.resemblance().unwrap_or(0.0);
        let best = best.entry(earlier).or_insert(0.0);
        *best = best.max(resemblance);
        if namesake(&truth.names[earlier as usize]) == truth.names[later as usize] {
            of_namesake.insert(earlier, (later, resemblance));
        }
    }
    let least = all.min_resemblance.unwrap_or(0.0);
    let (mut asked, mut first) = (0_usize, 0_usize);
    for (doc, (other, resemblance)) in of_namesake {
        if resemblance >= least && best[&doc] <= resemblance {
            asked += 1;
            let of_newer = found[doc as usize].iter().find(|one| one.doc >= newer);
            first += usize::from(of_newer.is_some_and(|one| one.doc == other));
        }
    }
    figures.share(
        &format!("{name}: namesake first, of {asked} pages that it resembles most"),
        first as f64 / asked as f64,
        Target::AtLeast(0.99),
    );
    Ok(())
}

/// A text, and the ids of which one is expected.
pub struct Variant {
    /// What it says.
    pub text: String,
    /// Ids of documents.
    pub expected: Vec<String>,
}

/// Licences as they are found in the world, looked for among licences as they are written
/// down. Counted are those whose text is there: by all their shingles an expected one
/// resembles it by 0.3, or half of one is in the other.
pub fn judge_variants(
    figures: &mut Figures,
    files: &Files<'_>,
    variants: &[Variant],
) -> Result<()> {
    let recipe = Recipe::default();
    let (finder, _folder) = collection(files, &recipe)?;
    let mut sketcher = finder.sketcher();
    let collection = finder.collection();
    let mut names = Vec::new();
    let mut by_id = BTreeMap::new();
    for doc in 0..collection.documents() {
        let entry = collection.entry(doc)?;
        let (id, _) = collection.strings(doc, &entry)?;
        names.push(entry.tokens_name);
        let text = collection.text(doc)?.context("a text that is there")?;
        let all = set(&mut sketcher, &text);
        by_id.insert(id.unwrap_or_default().to_lowercase(), (doc, all));
    }
    // Identical texts are one answer, and as good as each other.
    let texts = |found: &[Match]| {
        let mut texts: Vec<u128> = Vec::new();
        for name in found.iter().map(|one| names[one.doc as usize]) {
            if !texts.contains(&name) {
                texts.push(name);
            }
        }
        texts.truncate(3);
        texts
    };
    let (mut asked, mut nowhere, mut found) = (0_u32, 0_u32, [0_u32; 3]);
    for variant in variants {
        let expected = variant.expected.iter();
        let expected: Vec<&(u32, Vec<u64>)> = expected.filter_map(|id| by_id.get(id)).collect();
        let document = Document::read(variant.text.as_bytes(), Reading::default());
        let (Ok(document), false) = (document, expected.is_empty()) else {
            continue;
        };
        let own = set(&mut sketcher, &variant.text);
        let is_there = expected.iter().any(|(_, all)| {
            let overlap = Overlap::of_sorted(&own, all);
            let reaches = |share: Option<f64>, least| share.is_some_and(|share| share >= least);
            reaches(overlap.resemblance(), 0.3)
                || reaches(overlap.a_in_b(), 0.5)
                || reaches(overlap.b_in_a(), 0.5)
        });
        if !is_there {
            nowhere += 1;
            continue;
        }
        asked += 1;
        let expected: Vec<u128> = expected
            .iter()
            .map(|(doc, _)| names[*doc as usize])
            .collect();
        let rereads = [Reread::Never, Reread::Doubtful, Reread::Always];
        for (found, reread) in found.iter_mut().zip(rereads) {
            let query = finder.query(&document, None, &mut sketcher, reread);
            let texts = texts(&finder.find(&query, &FindOptions::default())?);
            *found += u32::from(texts.iter().any(|name| expected.contains(name)));
        }
    }
    let hows = [", samples alone", "", ", --exact"];
    for (found, how) in found.into_iter().zip(hows) {
        figures.share(
            &format!(
                "licence variants{how}: the expected one among the first three texts, of {asked} whose text is there"
            ),
            f64::from(found) / f64::from(asked),
            Target::AtLeast(0.95),
        );
    }
    figures.note(
        "… variants that no expected text resembles by 0.3 or shares half with",
        &nowhere.to_string(),
    );
    Ok(())
}

/// Words in an excerpt, and how many of them must find their source first.
const EXCERPTS: [(usize, f64); 3] = [(50, 0.85), (100, 0.95), (200, 0.99)];

/// Words in a document that an excerpt is cut from, at least and at most.
const SOURCES: [(&str, usize, usize); 3] = [
    ("300 to 5,000", 300, 5_000),
    ("5,000 to 20,000", 5_000, 20_000),
    ("more", 20_000, usize::MAX),
];

/// Excerpts of each length from documents of each length.
const CUTS: usize = 300;

/// How often an excerpt finds what it was cut from, by sketches alone and by true values.
pub fn judge_excerpts(figures: &mut Figures, all: &[&Corpus]) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("documents.jsonl");
    let mut file = BufWriter::new(File::create(&path)?);
    let documents = all.iter().flat_map(|corpus| &corpus.documents);
    let texts: Vec<&str> = documents.map(|document| document.text.as_str()).collect();
    for (i, text) in texts.iter().enumerate() {
        let line = serde_json::json!({ "id": i.to_string(), "text": text });
        writeln!(file, "{line}")?;
    }
    file.into_inner()?;
    let files = Files {
        name: "excerpts",
        paths: vec![path],
        text_field: "text",
    };
    let cuts = cuts(&texts);
    // Which sketch, when sources are read again (the second as the command does), and
    // whether the figures must be met. A few samples do not tell versions apart: more do,
    // or reading them again.
    for (kind, reread, is_judged) in [
        ("nested:256", Reread::Never, false),
        ("nested:256", Reread::Doubtful, true),
        ("nested:1024", Reread::Never, true),
        ("mod:25", Reread::Never, false),
        ("mod:8", Reread::Never, false),
    ] {
        let recipe = Recipe {
            sketch: kind.parse().context("a kind that exists")?,
            ..Recipe::default()
        };
        let (finder, _folder) = collection(&files, &recipe)?;
        let how = match reread {
            Reread::Never => ", samples alone",
            Reread::Doubtful => "",
            Reread::Always => ", --exact",
        };
        let mut shares = Vec::new();
        let mut cpu = 0.0;
        for cuts in &cuts {
            let (found, seconds) = found_first(&finder, cuts, &texts, reread)?;
            shares.push(found as f64 / cuts.len().max(1) as f64);
            cpu += seconds;
        }
        let (judged, longer) = shares.split_at(EXCERPTS.len());
        for (share, (words, least)) in judged.iter().zip(EXCERPTS) {
            let target = if is_judged {
                Target::AtLeast(least)
            } else {
                Target::None
            };
            figures.share(
                &format!(
                    "excerpts of {words} words of documents of {} words, {kind}{how}: the first hit has as much of it as its source",
                    SOURCES[0].0
                ),
                *share,
                target,
            );
        }
        for (longer, (name, ..)) in longer.chunks(EXCERPTS.len()).zip(&SOURCES[1..]) {
            let shares: Vec<String> = longer
                .iter()
                .map(|share| format!("{:.1} %", 100.0 * share))
                .collect();
            figures.note(
                &format!("… of documents of {name} words"),
                &shares.join(", "),
            );
        }
        let queries: usize = cuts.iter().map(Vec::len).sum();
        figures.note(
            "… CPU ms a query",
            &format!("{:.2}", 1e3 * cpu / queries as f64),
        );
        let documents = finder.collection().documents();
        let files = finder.collection().manifest().files();
        let stored = files
            .iter()
            .filter(|file| file.name.starts_with("postings") || file.name.starts_with("sketches"));
        let bytes: u64 = stored.map(|file| file.file_len).sum();
        figures.note(
            &format!("excerpts, {kind}: bytes of sketch and postings a document, of {documents}"),
            &(bytes / u64::from(documents)).to_string(),
        );
    }
    Ok(())
}

/// An excerpt, and the number of the document it was cut from.
type Cut = (String, usize);

/// Excerpts of every length from documents of every length.
fn cuts(texts: &[&str]) -> Vec<Vec<Cut>> {
    let words: Vec<Vec<&str>> = texts
        .iter()
        .map(|text| text.split_whitespace().collect())
        .collect();
    let mut random = Random::new(7);
    let mut below = |n: usize| usize::try_from(random.below(n as u64)).unwrap_or(0);
    let mut all = Vec::new();
    for (_, from, to) in SOURCES {
        let of_size = (0..words.len()).filter(|&i| (from..to).contains(&words[i].len()));
        let of_size: Vec<usize> = of_size.collect();
        for (len, _) in EXCERPTS {
            let mut cuts = Vec::new();
            while cuts.len() < CUTS && !of_size.is_empty() {
                let source = of_size[below(of_size.len())];
                let at = below(words[source].len() - len + 1);
                cuts.push((words[source][at..at + len].join(" "), source));
            }
            all.push(cuts);
        }
    }
    all
}

/// How many excerpts find a document first that has as much of them as their source has,
/// and CPU seconds.
fn found_first(
    finder: &Finder,
    cuts: &[Cut],
    texts: &[&str],
    reread: Reread,
) -> Result<(usize, f64)> {
    let mut sketcher = finder.sketcher();
    let options = FindOptions::default();
    let (mut found, mut cpu) = (0, 0);
    for (cut, source) in cuts {
        let document = Document::read(cut.as_bytes(), Reading::default())?;
        let start = clock::now();
        let query = finder.query(&document, None, &mut sketcher, reread);
        let matches = finder.find(&query, &options)?;
        cpu += clock::now() - start;
        let Some(first) = matches.first().map(|one| one.doc as usize) else {
            continue;
        };
        let mut of = |doc: usize| share(&mut sketcher, cut, texts[doc]);
        found += usize::from(first == *source || of(first) >= of(*source));
    }
    Ok((found, cpu as f64 / 1e9))
}

/// How much of one text is in another, exactly.
fn share(sketcher: &mut Sketcher, part: &str, whole: &str) -> f64 {
    let (part, whole) = (set(sketcher, part), set(sketcher, whole));
    Overlap::of_sorted(&part, &whole).a_in_b().unwrap_or(0.0)
}

/// All fingerprints of a text, in order.
fn set(sketcher: &mut Sketcher, text: &str) -> Vec<u64> {
    let mut set = Vec::new();
    sketcher.fingerprints(text, |block| set.extend_from_slice(block));
    set.sort_unstable();
    set.dedup();
    set
}

/// The variants of a file of them: those with a licence named as expected.
pub fn variants(path: &Path) -> Result<Vec<Variant>> {
    let text = crate::corpora::read_text(path)?;
    let mut all = Vec::new();
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line)?;
        let lines = line["expected"].as_array().into_iter().flatten();
        // "MIT 0,$": a licence, and the bytes of the text that are it.
        let ids = lines.filter_map(|line| {
            let (id, range) = line.as_str()?.split_once(' ')?;
            let (from, to) = range.split_once(',')?;
            let is_number = |text: &str| text.parse::<u64>().is_ok();
            (is_number(from) && (is_number(to) || to == "$")).then(|| id.to_lowercase())
        });
        // "GPL-2.0" stands there as "GPL-2.0-only" too.
        let ids = ids.flat_map(|id| {
            ["", "-only", "-invariants-only"].map(|end| format!("spdx-text/{id}{end}"))
        });
        all.push(Variant {
            text: line["text"].as_str().unwrap_or_default().to_owned(),
            expected: ids.collect(),
        });
    }
    Ok(all)
}
