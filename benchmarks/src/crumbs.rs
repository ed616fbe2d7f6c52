//! What `crumbs` says of real pages, against their words.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use lookalike::add::{AddOptions, add};
use lookalike::collection::Collection;
use lookalike::collection::entry::BLANK;
use lookalike::corpus::inputs::Inputs;
use lookalike::crumbs::{CrumbOptions, Crumbs, Pages};
use lookalike::sweeps::Timeline;

use crate::figures::{Figures, Target};

/// Pages of one sweep that the rules make one though their words differ, even where two
/// pages are evidence enough.
pub fn judge_crumbs(figures: &mut Figures, paths: &[&Path], name: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("c.lk");
    let options = AddOptions::default();
    let inputs = Inputs::expand(paths, &options.reading);
    add(&place, &inputs, &options, &mut |_| {})?;
    let collection = Collection::open(&place)?;
    let pages = Pages::of(&collection)?;
    let options = CrumbOptions {
        min_support: 2,
        ..CrumbOptions::default()
    };
    let crumbs = Crumbs::learn(&pages, &options);
    let timeline = Timeline::of(&collection)?;
    let mut wrong = 0;
    for sweep in 0..timeline.sweeps().len() {
        let mut words: BTreeMap<String, u128> = BTreeMap::new();
        for seen in timeline.pages(sweep).iter().filter(|seen| seen.doc < BLANK) {
            let entry = collection.entry(seen.doc)?;
            if let (_, Some(url)) = collection.strings(seen.doc, &entry)? {
                let first = *words.entry(crumbs.apply(&url)).or_insert(entry.tokens_name);
                wrong += usize::from(first != entry.tokens_name);
            }
        }
    }
    let rules = crumbs.rules.len();
    let name = format!("{name}: different pages that crumbs would merge, by {rules} rules");
    figures.count(&name, wrong, Target::AtMost(0.0));
    Ok(())
}
