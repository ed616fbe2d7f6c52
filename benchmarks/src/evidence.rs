//! Passages, copies and drift, each against a slow judge.
//!
//! ```text
//! generated pairs ─► passages ─► marked against copied
//! licences ─► add ─► copies of one ─┐
//!         └─► every text against it ┴─► found, kinds
//! two dated lists ─► drift, text by text ─► words changed against a table of both texts
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use lookalike::add::{AddOptions, add};
use lookalike::copies::{CopiesOptions, Kind, WHOLE, copies};
use lookalike::core::canonical::{Case, TokenKind, Tokens};
use lookalike::core::passages::passages;
use lookalike::core::recipe::Recipe;
use lookalike::core::shingle::{Shingling, overlap};
use lookalike::corpus::document::Document;
use lookalike::corpus::inputs::Inputs;
use lookalike::drift::{
    Around, Baseline, Baselines, DriftOptions, Drifted, Markup, Status, of_collection,
};
use lookalike::find::{Finder, Reread};
use lookalike::wording::Words;
use lookalike_testkit::copied::pair;
use lookalike_testkit::texts;
use serde_json::Value;

use crate::clock;
use crate::corpora::read_text;
use crate::figures::{Figures, Target};

fn words(text: &str) -> Tokens {
    Tokens::of_text(text, TokenKind::Word, Case::Fold)
}

/// What is marked of what was copied, and how long that takes.
pub fn judge_passages(figures: &mut Figures) {
    let width = Recipe::default().width;
    let (mut copied, mut found, mut wrong) = (0, 0, 0);
    for seed in 0..500 {
        let pair = pair(seed);
        let (a, b) = (words(&pair.a.join(" ")), words(&pair.b.join(" ")));
        let mut is_marked = vec![false; a.len()];
        for passage in passages(&a, &b, width) {
            for (same, _) in passage.same() {
                is_marked[same].fill(true);
            }
        }
        for (&is_copied, is_marked) in pair.is_copied.iter().zip(is_marked) {
            copied += usize::from(is_copied);
            found += usize::from(is_copied && is_marked);
            wrong += usize::from(!is_copied && is_marked);
        }
    }
    let share = |part: usize| part as f64 / copied as f64;
    figures.share(
        "passages: copied words that are marked, 500 pairs",
        share(found),
        Target::AtLeast(0.99),
    );
    figures.share(
        "passages: words marked wrongly, beside those copied",
        share(wrong),
        Target::AtMost(0.01),
    );
    let long = texts::words(1, 150_000);
    let edited = texts::edited(&long, 7, 50);
    let few = |seed| {
        let mut draw = texts::Draw::new(seed);
        let word = |_| ["one", "two", "three"][usize::try_from(draw.below(3)).unwrap_or(0)];
        let all: Vec<&str> = (0..220_000).map(word).collect();
        all.join(" ")
    };
    let lines = "the same line stands here again and again for ever\n";
    let cases = [
        (
            "a word in 50 changed",
            long.join(" "),
            edited.join(" "),
            100.0,
        ),
        (
            "nothing in common",
            long.join(" "),
            texts::words(2, 150_000).join(" "),
            100.0,
        ),
        // Nobody writes such documents but to stop the machine.
        ("three words only", few(1), few(2), 500.0),
        (
            "one line 20,000 times",
            lines.repeat(20_000),
            lines.repeat(19_000),
            500.0,
        ),
        (
            "one letter",
            "a ".repeat(500_000),
            "a ".repeat(500_000),
            500.0,
        ),
    ];
    for (name, a, b, most) in cases {
        let megabytes = (a.len() + b.len()) as f64 / 2e6;
        let seconds = (0..3)
            .map(|_| clock::time(|| passages(&words(&a), &words(&b), width)))
            .fold(f64::INFINITY, f64::min);
        figures.number(
            &format!("passages: CPU for two documents of {megabytes:.2} MB, {name}, ms"),
            1000.0 * seconds,
            1,
            Target::AtMost(most),
        );
    }
}

/// The rows of a file of JSON lines.
fn rows(path: &Path) -> Result<Vec<Value>> {
    let text = read_text(path)?;
    let rows = text.lines().map(serde_json::from_str);
    Ok(rows.collect::<Result<_, _>>()?)
}

fn field<'v>(row: &'v Value, name: &str) -> Result<&'v str> {
    row[name]
        .as_str()
        .with_context(|| format!("a row without `{name}`"))
}

/// The texts of one dated list, by address.
fn list(path: &Path) -> Result<BTreeMap<String, String>> {
    let mut list = BTreeMap::new();
    for row in rows(path)? {
        list.insert(
            field(&row, "url")?.to_owned(),
            field(&row, "text")?.to_owned(),
        );
    }
    Ok(list)
}

/// The longest common subsequence, by the table.
fn longest_common(xs: &[&[u8]], ys: &[&[u8]]) -> usize {
    let mut row = vec![0_u32; ys.len() + 1];
    for x in xs {
        let mut diagonal = 0;
        for (j, y) in ys.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if x == y {
                diagonal + 1
            } else {
                above.max(row[j])
            };
            diagonal = above;
        }
    }
    row[ys.len()] as usize
}

/// How many words lie in ten in a row that the other text has, each place looked at alone.
fn in_tens(xs: &[&[u8]], ys: &[&[u8]]) -> usize {
    let width = Recipe::default().width.get();
    let theirs: BTreeSet<&[&[u8]]> = ys.windows(width).collect();
    let is_held = |i: &usize| {
        let starts = i.saturating_sub(width - 1)..=*i;
        let mut tens = starts.filter_map(|start| xs.get(start..start + width));
        tens.any(|ten| theirs.contains(ten))
    };
    (0..xs.len()).filter(is_held).count()
}

/// Copies of the GPL among all licence texts, against every text looked at.
pub fn judge_copies(figures: &mut Figures, corpora: &Path) -> Result<()> {
    let spdx = corpora.join("licences-spdx");
    let inputs = [
        spdx.join("texts-2018.jsonl.gz"),
        spdx.join("texts-2026.jsonl.gz"),
        corpora.join("licences-variants-licensecheck/cases.jsonl.gz"),
    ];
    if !inputs.iter().all(|path| path.is_file()) {
        return Ok(());
    }
    let text = list(&inputs[1])?
        .remove("https://spdx.org/licenses/GPL-3.0-only")
        .context("the list has the GPL")?;
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("c");
    let options = AddOptions::default();
    for path in &inputs {
        add(
            &place,
            &Inputs::expand(&[path], &options.reading),
            &options,
            &mut |_| {},
        )?;
    }
    let finder = Finder::open(&place, None)?;
    let collection = finder.collection();
    let document = Document::of_text(&*text);
    let query = finder.query(&document, None, &mut finder.sketcher(), Reread::Never);
    let found = copies(&finder, &document, &query, None, CopiesOptions::default())?;
    let told: BTreeMap<u32, Kind> = found.copies.iter().map(|one| (one.doc, one.kind)).collect();
    // Every text of the collection, the slow way.
    let own = words(&text);
    let own_words: Vec<&[u8]> = own.iter().collect();
    let mut kinds = BTreeMap::new();
    for doc in 0..collection.documents() {
        let other = words(&collection.text(doc)?.map_err(anyhow::Error::msg)?);
        let shares = overlap(&own, &other, Recipe::default().width, Shingling::Set);
        if shares.a_in_b().unwrap_or(0.0) < 0.5 {
            continue;
        }
        let other: Vec<&[u8]> = other.iter().collect();
        let holds = || other.windows(own_words.len()).any(|part| part == own_words);
        let kind = if own_words == other {
            Kind::Identical
        } else if holds() {
            Kind::Full
        } else if in_tens(&own_words, &other) as f64 >= WHOLE * own.len() as f64 {
            Kind::Altered
        } else {
            Kind::Partial
        };
        kinds.insert(doc, kind);
    }
    let expected: BTreeSet<u32> = kinds.keys().copied().collect();
    let name = "copies of GPL-3.0";
    let is_told = expected.iter().filter(|doc| told.contains_key(doc)).count();
    let count = expected.len();
    figures.count(
        &format!("{name}: found, of {count} texts that hold half of it"),
        is_told,
        Target::Is(count as f64),
    );
    let is_right = expected
        .iter()
        .filter(|doc| told.get(doc) == kinds.get(doc))
        .count();
    figures.count(
        &format!("{name}: with the kind that all words of both give, of {count}"),
        is_right,
        Target::Is(count as f64),
    );
    for doc in expected
        .iter()
        .filter(|doc| told.get(doc) != kinds.get(doc))
    {
        let (id, _) = collection.strings(*doc, &collection.entry(*doc)?)?;
        let (told, truth) = (told.get(doc), kinds.get(doc));
        figures.note(
            &format!("{name}: {}", id.unwrap_or_default()),
            &format!("told {told:?}, is {truth:?}"),
        );
    }
    let of_kind = |kind| {
        kinds
            .iter()
            .filter(|(doc, own)| expected.contains(doc) && **own == kind)
            .count()
    };
    let all = [Kind::Identical, Kind::Full, Kind::Altered, Kind::Partial];
    let all = all.map(|kind| format!("{} {}", of_kind(kind), kind.name()));
    figures.note(&format!("{name}: kinds"), &all.join(", "));
    Ok(())
}

/// Licence texts of 2018 against those of 2026.
pub fn judge_drift(figures: &mut Figures, corpora: &Path) -> Result<()> {
    let spdx = corpora.join("licences-spdx");
    let (old, new) = (
        spdx.join("texts-2018.jsonl.gz"),
        spdx.join("texts-2026.jsonl.gz"),
    );
    if !old.is_file() || !new.is_file() {
        return Ok(());
    }
    let (old, newer) = (list(&old)?, list(&new)?);
    let recipe = Recipe::default();
    let name = "drift of SPDX texts, 2018 to 2026";
    let (mut same, mut verbatim, mut changed, mut reported) = (0, 0, 0, 0);
    let (mut applied, mut fewest) = (0, 0);
    for (url, before) in &old {
        let Some(now) = newer.get(url) else {
            continue;
        };
        let baseline = Baseline::new(url, before, Markup::None, &recipe)?;
        let copy = Words::of_text(now, &recipe);
        let got = baseline.compare(&copy, Around::Counted);
        let judged = Judged::of(before, now, &got);
        if judged.is_same {
            same += 1;
            verbatim += usize::from(judged.is_told);
            continue;
        }
        changed += 1;
        reported += usize::from(judged.is_told);
        applied += usize::from(judged.makes_the_new);
        fewest += usize::from(judged.has_the_fewest);
    }
    let gone = old.keys().filter(|url| !newer.contains_key(*url)).count();
    figures.note(
        &format!("{name}: texts, of which {gone} are not there in 2026"),
        &old.len().to_string(),
    );
    let of = |count: usize| Target::Is(count as f64);
    figures.count(
        &format!("{name}: verbatim, of {same} with the same words"),
        verbatim,
        of(same),
    );
    figures.count(
        &format!("{name}: reported, of {changed} with others"),
        reported,
        of(changed),
    );
    figures.count(
        &format!("{name}: whose edits make the new text of the old, of {changed}"),
        applied,
        of(changed),
    );
    figures.count(
        &format!("{name}: with the fewest words changed that can be, of {changed}"),
        fewest,
        of(changed),
    );
    in_collection(figures, &old, &newer, &new)?;
    templates(figures, &spdx, &newer)
}

/// What is told of a text, against all words of both.
#[expect(
    clippy::struct_excessive_bools,
    reason = "four figures, each a count of what is so"
)]
struct Judged {
    is_same: bool,
    /// It is called verbatim, and so it is; or neither.
    is_told: bool,
    /// The words that are told, put into the old text, make the new one.
    makes_the_new: bool,
    /// No fewer words would do.
    has_the_fewest: bool,
}

impl Judged {
    fn of(before: &str, now: &str, got: &Drifted) -> Judged {
        let (xs, ys) = (words(before), words(now));
        let xs: Vec<&[u8]> = xs.iter().collect();
        let ys: Vec<&[u8]> = ys.iter().collect();
        let (mut made, mut at) = (Vec::new(), 0);
        let mut has_words = true;
        for edit in &got.changes {
            made.extend_from_slice(&xs[at..edit.change.a.start]);
            made.extend_from_slice(&ys[edit.change.b.clone()]);
            at = edit.change.a.end;
            let told = words(&edit.to);
            has_words &= told.iter().eq(ys[edit.change.b.clone()].iter().copied());
            let told = words(&edit.from);
            has_words &= told.iter().eq(xs[edit.change.a.clone()].iter().copied());
        }
        made.extend_from_slice(&xs[at..]);
        let is_same = xs == ys;
        let is_verbatim = got.status == Status::Verbatim;
        let least = xs.len() + ys.len() - 2 * longest_common(&xs, &ys);
        Judged {
            is_same,
            is_told: is_verbatim == is_same && got.changes.is_empty() == is_same,
            makes_the_new: made == ys && has_words,
            has_the_fewest: got.cost() == least,
        }
    }
}

/// The same by the command's way: all old texts as baselines, the new ones as a collection.
fn in_collection(
    figures: &mut Figures,
    old: &BTreeMap<String, String>,
    newer: &BTreeMap<String, String>,
    path: &Path,
) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("c");
    let options = AddOptions::default();
    add(
        &place,
        &Inputs::expand(&[path], &options.reading),
        &options,
        &mut |_| {},
    )?;
    let finder = Finder::open(&place, None)?;
    let all = old
        .iter()
        .map(|(url, text)| Baseline::new(url, text, Markup::None, finder.recipe()));
    let all = all.collect::<Result<Vec<_>, _>>()?;
    let baselines = Baselines::new(all, finder.recipe(), DriftOptions::default());
    let seconds = clock::now();
    let found = of_collection(&finder, &baselines)?;
    let seconds = (clock::now() - seconds) as f64 / 1e9;
    let mut told = BTreeMap::new();
    for copy in &found.copies {
        let (_, url) = finder
            .collection()
            .strings(copy.doc, &finder.collection().entry(copy.doc)?)?;
        told.insert(url.unwrap_or_default(), copy);
    }
    let (mut due, mut right) = (0, 0);
    for (url, before) in old {
        let Some(now) = newer.get(url) else {
            continue;
        };
        due += 1;
        let Some(copy) = told.get(url) else {
            continue;
        };
        let judged = Judged::of(before, now, &copy.drifted);
        let is_own = baselines.all()[copy.baseline].name() == url;
        right +=
            usize::from(is_own && judged.is_told && judged.makes_the_new && judged.has_the_fewest);
    }
    figures.count(
        &format!("drift in a collection: texts told with exactly the words that changed, of {due}"),
        right,
        Target::Is(f64::from(due)),
    );
    figures.number(
        &format!(
            "drift in a collection: CPU for {} baselines and {} copies, s",
            old.len(),
            found.copies.len()
        ),
        seconds,
        2,
        Target::None,
    );
    Ok(())
}

/// Texts against the templates they are made from.
fn templates(figures: &mut Figures, spdx: &Path, newer: &BTreeMap<String, String>) -> Result<()> {
    let recipe = Recipe::default();
    let (mut all, mut verbatim) = (0_u32, 0);
    for row in rows(&spdx.join("templates.jsonl.gz"))? {
        let id = field(&row, "id")?;
        let id = id.rsplit('/').next().unwrap_or_default();
        let Some(text) = newer.get(&format!("https://spdx.org/licenses/{id}")) else {
            continue;
        };
        let baseline = Baseline::new(id, field(&row, "template")?, Markup::Spdx, &recipe)?;
        let got = baseline.compare(&Words::of_text(text, &recipe), Around::Counted);
        all += 1;
        verbatim += usize::from(got.status == Status::Verbatim);
    }
    figures.share(
        &format!("drift: verbatim against their SPDX template, of {all} texts"),
        verbatim as f64 / f64::from(all),
        Target::AtLeast(0.95),
    );
    Ok(())
}
