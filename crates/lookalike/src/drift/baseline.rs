//! One baseline against one copy: what differs, of what may not.
//!
//! ```text
//! copy ─► where in it the baseline stands ─► changes ─► anchors
//!           template: how its parts lie on the words between anchors ◄─┘
//!           └─► what fills its holes, and between these: changes ─► edits
//! ```

use std::ops::Range;

use hashbrown::HashMap;
use lookalike_core::diff::{Change, changes};
use lookalike_core::passages::{Passage, of_numbers};
use lookalike_core::recipe::Recipe;
use lookalike_core::shingle::{Width, overlap};

use super::layout::{EMPTY, Item, Judge, Layout, OTHER, STEPS, lay};
use super::template::{self, BadVariable, FILLING, Filling, Hole, Mark, Markup};
use super::{Around, Drifted, Filled, Status};
use crate::wording::{Edit, Op, Words};

/// A text that ought to be verbatim wherever it stands.
#[derive(Clone, Debug)]
pub struct Baseline {
    name: String,
    words: Words,
    recipe: Recipe,
    /// By the token they stand before.
    holes: Vec<(usize, Hole)>,
    /// All of it, in order.
    items: Vec<Item>,
    /// Which tokens may be left out.
    is_optional: Vec<bool>,
    /// How many tokens make it known in a copy: no more than mostly stand in a row between
    /// what may vary.
    width: Width,
}

/// Words that SPDX's guidelines take for one another, the second for the first; in
/// templates only.
const SPELLINGS: [(&str, &str); 8] = [
    ("http", "https"),
    ("license", "licence"),
    ("licenses", "licences"),
    ("licensed", "licenced"),
    ("sublicense", "sublicence"),
    ("acknowledgment", "acknowledgement"),
    ("favor", "favour"),
    ("merchantability", "merchantibility"),
];

/// So many tokens at the ends of a stretch that is the same may belong to what varies
/// beside it: a name may end with the word that comes behind names.
const SLACK: usize = 2;

/// So many bytes are matched against the patterns of one template for one copy.
const MATCHED: usize = 1 << 23;

/// Where in a copy its baseline stands.
struct Window {
    tokens: Range<usize>,
    /// Whether what stands around it is left out of account.
    is_part: bool,
    /// How many words of the baseline stand in the copy in passages, in order.
    held: usize,
}

/// A change, and the hole that its words do not fit into.
struct Found {
    change: Change,
    hole: Option<usize>,
}

impl Baseline {
    /// A baseline under the name it is told by.
    pub fn new(
        name: &str,
        text: &str,
        markup: Markup,
        recipe: &Recipe,
    ) -> Result<Baseline, BadVariable> {
        let plain = template::plain(text, markup)?;
        let words = Words::of_text(&plain.text, recipe);
        let starts = (0..words.len()).filter_map(|i| words.place(i));
        let starts: Vec<usize> = starts.map(|place| place.start).collect();
        let mut items = Vec::with_capacity(words.len() + plain.marks.len());
        let mut is_optional = vec![false; words.len()];
        let mut holes = Vec::with_capacity(plain.holes.len());
        let mut opened = vec![(0, 0); plain.optional.len()];
        let mut all = plain.holes.into_iter();
        let mut token = 0;
        for (at, mark) in plain.marks {
            while starts.get(token).is_some_and(|start| *start < at) {
                items.push(Item::Word(token));
                token += 1;
            }
            match mark {
                Mark::Hole(hole) => {
                    holes.extend(all.next().map(|hole| (token, hole)));
                    items.push(Item::Hole(hole));
                }
                Mark::Open(which) => {
                    opened[which] = (items.len(), token);
                    items.push(Item::Open(0));
                }
                Mark::Close(which) => {
                    let (open, first) = opened[which];
                    items[open] = Item::Open(items.len());
                    is_optional[first..token].fill(true);
                    items.push(Item::Close);
                }
            }
        }
        items.extend((token..words.len()).map(Item::Word));
        let mut baseline = Baseline {
            name: name.to_owned(),
            words,
            recipe: recipe.clone(),
            holes,
            items,
            is_optional,
            width: recipe.width,
        };
        baseline.width = baseline.narrowed();
        Ok(baseline)
    }

    /// What it goes by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its words, without markup and what stands for something else.
    pub fn words(&self) -> &Words {
        &self.words
    }

    /// Whether something in it may vary.
    pub fn is_template(&self) -> bool {
        self.items.len() > self.words.len()
    }

    /// How many tokens make it known in a copy.
    pub(super) fn width(&self) -> Width {
        self.width
    }

    /// How many tokens must be there.
    pub(super) fn due(&self) -> usize {
        self.is_optional.iter().filter(|it| !**it).count()
    }

    /// The stretches of tokens between what may vary, and whether they may be left out.
    pub(super) fn stretches(&self) -> Vec<(Range<usize>, bool)> {
        let mut all: Vec<(Range<usize>, bool)> = Vec::new();
        let mut is_new = true;
        for item in &self.items {
            if let &Item::Word(token) = item {
                match all.last_mut() {
                    Some((last, _)) if !is_new => last.end = token + 1,
                    _ => all.push((token..token + 1, self.is_optional[token])),
                }
            }
            is_new = !matches!(item, Item::Word(_));
        }
        all
    }

    /// The widest shingle that half of the words have room for between what may vary.
    fn narrowed(&self) -> Width {
        let stretches = self.stretches();
        let own = |least: usize| {
            let own = stretches.iter().map(|(stretch, _)| stretch.len());
            own.filter(|len| *len >= least).sum::<usize>()
        };
        let fits = |width: &usize| 2 * own(*width) >= self.words.len();
        let widths = (1..=self.recipe.width.get()).rev();
        let width = if self.is_template() {
            widths.into_iter().find(fits)
        } else {
            None
        };
        width.and_then(Width::new).unwrap_or(self.recipe.width)
    }

    /// How a copy differs.
    pub fn compare(&self, copy: &Words, around: Around) -> Drifted {
        let (xs, ys) = self.numbered(copy);
        let Window {
            tokens: mut window,
            is_part,
            held,
        } = self.window(&xs, &ys, around);
        let layout = if self.is_template() {
            self.layout(copy, &xs, &ys, &window, is_part)
        } else {
            Layout::default()
        };
        // Which tokens of the baseline the copy is held against.
        let mut is_kept = vec![true; xs.len()];
        for item in layout
            .left_out
            .iter()
            .flat_map(|part| &self.items[part.clone()])
        {
            if let Item::Word(token) = item {
                is_kept[*token] = false;
            }
        }
        let mut found: Vec<Found> = Vec::new();
        let mut filled = Vec::new();
        let (mut token, mut word) = (0, window.start);
        for fill in &layout.fills {
            let (at, hole) = &self.holes[fill.hole];
            let changed = differing(token..*at, &is_kept, &xs, &ys, word..fill.at);
            add(&mut found, changed);
            let words = fill.words.clone().unwrap_or(fill.at..fill.at);
            (token, word) = (*at, words.end);
            if fill.words.is_none() {
                add_empty(&mut found, fill.hole, *at, fill.at);
            } else if !words.is_empty() {
                filled.push(Filled {
                    name: hole.name.clone(),
                    words: copy.shown(&words),
                });
            }
        }
        let changed = differing(token..xs.len(), &is_kept, &xs, &ys, word..window.end);
        add(&mut found, changed);
        if is_part {
            trim(&mut found, &mut window);
        }
        let edits: Vec<Edit> = found.into_iter().map(|one| self.edit(one, copy)).collect();
        let kept = is_kept.iter().filter(|is_kept| **is_kept).count();
        let status = self.status(&edits, held, kept);
        Drifted {
            status,
            resemblance: self.resemblance(copy),
            changes: edits,
            filled,
            around: ys.len() - window.len(),
        }
    }

    /// The tokens of both as numbers, those alike that are told as the same.
    fn numbered(&self, copy: &Words) -> (Vec<u32>, Vec<u32>) {
        let mut vocabulary: HashMap<&[u8], u32> = HashMap::new();
        let is_template = self.is_template();
        let mut number = |token| {
            let other = |(_, other): &&(&str, &str)| is_template && other.as_bytes() == token;
            let spelling = SPELLINGS.iter().find(other);
            let token = spelling.map_or(token, |(one, _)| one.as_bytes());
            let next = u32::try_from(vocabulary.len()).unwrap_or(u32::MAX);
            *vocabulary.entry(token).or_insert(next)
        };
        let xs = self.words.tokens().iter().map(&mut number).collect();
        (xs, copy.tokens().iter().map(&mut number).collect())
    }

    fn resemblance(&self, copy: &Words) -> f64 {
        let (own, recipe) = (self.words.tokens(), &self.recipe);
        let overlap = overlap(own, copy.tokens(), recipe.width, recipe.shingling);
        overlap.resemblance().unwrap_or(0.0)
    }

    /// Where in the copy the baseline stands.
    fn window(&self, xs: &[u32], ys: &[u32], around: Around) -> Window {
        let all = of_numbers(xs, ys, self.width);
        let (chain, held) = chain(&all);
        let whole = Window {
            tokens: 0..ys.len(),
            is_part: false,
            held,
        };
        let (Some(first), Some(last)) = (chain.first(), chain.last()) else {
            return whole;
        };
        let due = |tokens: Range<usize>| {
            let own = self.is_optional[tokens].iter();
            own.filter(|is_optional| !**is_optional).count()
        };
        let is_page = || 2 * (last.b.end - first.b.start) < ys.len() || 2 * held < due(0..xs.len());
        if around == Around::Counted || around == Around::Auto && !is_page() {
            return whole;
        }
        // A few words at the ends of the baseline may be other words there; many are gone.
        let few = |missing: usize| Some(missing).filter(|n| *n < self.recipe.width.get());
        let (before, behind) = (few(due(0..first.a.start)), few(due(last.a.end..xs.len())));
        let from = first.b.start.saturating_sub(before.unwrap_or(0));
        let to = (last.b.end + behind.unwrap_or(0)).min(ys.len());
        Window {
            tokens: from..to,
            is_part: true,
            held,
        }
    }

    /// How the template lies on a window of the copy.
    fn layout(
        &self,
        copy: &Words,
        xs: &[u32],
        ys: &[u32],
        window: &Range<usize>,
        is_part: bool,
    ) -> Layout {
        let is_kept = vec![true; xs.len()];
        let plain = differing(0..xs.len(), &is_kept, xs, ys, window.clone());
        let mut is_there = vec![true; xs.len()];
        for change in &plain {
            is_there[change.a.clone()].fill(false);
        }
        let mut place = vec![0; xs.len()];
        for (i, item) in self.items.iter().enumerate() {
            if let &Item::Word(token) = item {
                place[token] = i;
            }
        }
        let mut laying = Laying {
            baseline: self,
            copy,
            xs,
            ys,
            is_there,
            is_part,
            bytes: MATCHED,
        };
        let mut layout = Layout::default();
        let mut steps = STEPS;
        let (mut item, mut word) = (0, window.start);
        let mut between = |items: Range<usize>, words: Range<usize>| {
            let is_word = |item: &Item| matches!(item, Item::Word(_));
            if !self.items[items.clone()].iter().all(is_word) {
                // Where it takes too long all of it is there and no hole is looked at.
                let _ = lay(
                    &self.items,
                    items,
                    words,
                    &mut laying,
                    &mut steps,
                    &mut layout,
                );
            }
        };
        for (a, b) in self.anchors(&plain, window) {
            between(item..place[a.start], word..b.start);
            (item, word) = (place[a.end - 1] + 1, b.end);
        }
        between(item..self.items.len(), word..window.end);
        layout
    }

    /// Long stretches that are the same and have nothing in or beside them that may vary.
    fn anchors(
        &self,
        plain: &[Change],
        window: &Range<usize>,
    ) -> Vec<(Range<usize>, Range<usize>)> {
        let least = self.recipe.width.get();
        let ends = plain.iter().map(|one| (one.a.start, one.a.end, one.b.end));
        let ends = ends.chain(std::iter::once((self.words.len(), 0, 0)));
        let (mut a, mut b) = (0, window.start);
        let mut all = Vec::new();
        let stretches = self.stretches();
        for (end, next, word) in ends {
            let first = stretches.partition_point(|(stretch, _)| stretch.end <= a);
            for (stretch, _) in &stretches[first..] {
                if stretch.start >= end {
                    break;
                }
                let from = stretch.start.max(a) + SLACK;
                let to = stretch.end.min(end).saturating_sub(SLACK);
                if from + least <= to {
                    all.push((from..to, b + (from - a)..b + (to - a)));
                }
            }
            (a, b) = (next, word);
        }
        all
    }

    /// A change in words.
    fn edit(&self, Found { change, hole }: Found, copy: &Words) -> Edit {
        let mut edit = Edit::new(change, &self.words, copy);
        if let Some(hole) = hole {
            // What should have stood there is known.
            let Hole { name, original, .. } = &self.holes[hole].1;
            let original = if original.trim().is_empty() {
                name
            } else {
                original
            };
            edit.from = joined(original);
            edit.op = if edit.to.is_empty() {
                Op::Delete
            } else {
                Op::Replace
            };
        }
        edit
    }

    /// How a copy relates to the baseline, `held` of whose words stand in it in passages.
    fn status(&self, edits: &[Edit], held: usize, of: usize) -> Status {
        if edits.is_empty() {
            return Status::Verbatim;
        }
        let is_omission =
            |edit: &Edit| edit.op == Op::Delete && edit.change.a.len() >= self.recipe.width.get();
        if held > 0 && 2 * held < of || edits.iter().all(is_omission) {
            Status::Excerpt
        } else {
            Status::Altered
        }
    }
}

fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What differs between those of some tokens that are kept and some words of the copy.
fn differing(
    tokens: Range<usize>,
    is_kept: &[bool],
    xs: &[u32],
    ys: &[u32],
    words: Range<usize>,
) -> Vec<Change> {
    let kept: Vec<usize> = tokens.clone().filter(|token| is_kept[*token]).collect();
    let own: Vec<u32> = kept.iter().map(|&token| xs[token]).collect();
    let at = |i: usize| kept.get(i).copied().unwrap_or(tokens.end);
    let real = |range: Range<usize>| match range.end.checked_sub(1) {
        Some(last) if !range.is_empty() => at(range.start)..at(last) + 1,
        _ => at(range.start)..at(range.start),
    };
    let change = |change: Change| Change {
        a: real(change.a),
        b: words.start + change.b.start..words.start + change.b.end,
    };
    let found = changes(&own, &ys[words.clone()]);
    found.into_iter().map(change).collect()
}

/// Adds changes; words put in behind an empty hole were put in for what belongs there.
fn add(found: &mut Vec<Found>, changed: Vec<Change>) {
    for change in changed {
        if let Some(last) = found.last_mut()
            && last.hole.is_some()
            && last.change.b.is_empty()
            && change.a.is_empty()
            && (last.change.a.end, last.change.b.end) == (change.a.start, change.b.start)
        {
            last.change = change;
            continue;
        }
        found.push(Found { change, hole: None });
    }
}

/// Adds a hole that nothing fits into; words put in before it were put in for that.
fn add_empty(found: &mut Vec<Found>, hole: usize, token: usize, word: usize) {
    if let Some(last) = found.last_mut()
        && last.hole.is_none()
        && last.change.a.is_empty()
        && (last.change.a.end, last.change.b.end) == (token, word)
    {
        last.hole = Some(hole);
        return;
    }
    let change = Change {
        a: token..token,
        b: word..word,
    };
    let hole = Some(hole);
    found.push(Found { change, hole });
}

/// What laying a template on a copy asks.
struct Laying<'a> {
    baseline: &'a Baseline,
    copy: &'a Words,
    xs: &'a [u32],
    ys: &'a [u32],
    /// Which tokens of the template stand in the copy if all of it does.
    is_there: Vec<bool>,
    is_part: bool,
    /// How much may still be matched.
    bytes: usize,
}

impl Judge for Laying<'_> {
    fn is_same(&self, token: usize, word: usize) -> bool {
        self.xs[token] == self.ys[word]
    }

    fn fits(&mut self, hole: usize, words: Range<usize>) -> Option<bool> {
        let pattern = match &self.baseline.holes[hole].1.filling {
            Filling::Few => return Some(words.len() <= FILLING),
            // A mark between words is no name, but a line of them may be asked for.
            Filling::Long(least, most) if words.is_empty() => {
                let marks = self.copy.before(words.start).trim().chars().count();
                return Some(*least == 0 || (*least > 1 && (*least..=*most).contains(&marks)));
            }
            Filling::Long(least, most) => {
                if words.len() > *most {
                    return Some(false);
                }
                if *most == usize::MAX && words.len() >= *least {
                    return Some(true);
                }
                let length = self.copy.shown(&words).chars().count();
                return Some((*least..=*most).contains(&length));
            }
            Filling::Like(pattern) => pattern,
        };
        if words.is_empty() {
            let marks = self.copy.before(words.start);
            let mut forms = std::iter::once("").chain(marks.split_whitespace());
            return Some(forms.any(|form| pattern.is_match(form)));
        }
        let shown = self.copy.shown(&words);
        self.bytes = self.bytes.checked_sub(shown.len())?;
        if pattern.is_match(&shown) {
            return Some(true);
        }
        for form in self.copy.with_marks(&words) {
            self.bytes = self.bytes.checked_sub(form.len())?;
            if pattern.is_match(form) {
                return Some(true);
            }
        }
        Some(false)
    }

    fn empty(&self, hole: usize) -> usize {
        // Of a part, what stands around it is not known to be its own; and marks alone, a
        // line of them or a blank to be filled in, are no words.
        let (at, hole) = &self.baseline.holes[hole];
        let is_end = *at == 0 || *at == self.xs.len();
        let is_marks = !hole.original.is_empty() && !hole.original.contains(char::is_alphanumeric);
        if self.is_part && is_end || is_marks {
            0
        } else {
            EMPTY
        }
    }

    fn left_out(&self, open: usize) -> usize {
        // A part most of which is there is not left out: it was changed.
        let Item::Open(close) = self.baseline.items[open] else {
            return 0;
        };
        let (mut all, mut there) = (0, 0);
        for item in &self.baseline.items[open..close] {
            if let Item::Word(token) = item {
                all += 1;
                there += usize::from(self.is_there[*token]);
            }
        }
        if 2 * there > all {
            OTHER * there / 2
        } else {
            0
        }
    }
}

/// Passages in order in both texts, those with the most words, and how many these are.
///
/// Two may overlap in the copy: where something was cut out, the end of what is before it
/// and the beginning of what is behind may be the same.
fn chain(all: &[Passage]) -> (Vec<&Passage>, usize) {
    // Of very many, the longest: the table is quadratic.
    const MOST: usize = 2000;
    let mut all: Vec<&Passage> = all.iter().collect();
    if all.len() > MOST {
        all.sort_by_key(|passage| std::cmp::Reverse(passage.len()));
        all.truncate(MOST);
        all.sort_by_key(|passage| passage.a.start);
    }
    let mut best: Vec<(usize, Option<usize>)> = Vec::with_capacity(all.len());
    for (i, passage) in all.iter().enumerate() {
        let more = |before: &Range<usize>| {
            let twice = before.end.saturating_sub(passage.b.start);
            passage.len().saturating_sub(twice)
        };
        let is_before =
            |before: &Range<usize>| before.start < passage.b.start && before.end < passage.b.end;
        let before = (0..i).filter(|&j| is_before(&all[j].b));
        let before = before.map(|j| (best[j].0 + more(&all[j].b), j)).max();
        let alone = (passage.len(), None);
        let joined = before.map(|(words, j)| (words, Some(j)));
        best.push(joined.filter(|joined| joined.0 >= alone.0).unwrap_or(alone));
    }
    let mut at = (0..best.len()).max_by_key(|&i| (best[i].0, std::cmp::Reverse(i)));
    let held = at.map_or(0, |i| best[i].0);
    let mut chain = Vec::new();
    while let Some(i) = at {
        chain.push(all[i]);
        at = best[i].1;
    }
    chain.reverse();
    (chain, held)
}

/// Takes words at both ends of the window away that are not the baseline's.
fn trim(found: &mut Vec<Found>, window: &mut Range<usize>) {
    // More than twice the words that are missing there are not put in for them.
    let is_other = |change: &Change| change.b.len() > 2 * change.a.len();
    if let Some(Found { change, hole: None }) = found.first_mut()
        && change.b.start == window.start
        && is_other(change)
    {
        window.start = change.b.end;
        change.b.start = change.b.end;
    }
    if let Some(Found { change, hole: None }) = found.last_mut()
        && change.b.end == window.end
        && is_other(change)
    {
        window.end = change.b.start;
        change.b.end = change.b.start;
    }
    let is_change = |change: &Change| !change.a.is_empty() || !change.b.is_empty();
    found.retain(|one| one.hole.is_some() || is_change(&one.change));
}

#[cfg(test)]
mod tests {
    use super::*;
    use lookalike_core::canonical::TokenKind;

    const MIT: &str = r#"<<beginOptional>>The MIT License<<endOptional>> <<var;name="copyright";original="Copyright (c) <year> <holder>";match=".{0,200}">> Permission is hereby granted, free of charge, to any person obtaining a copy of this <<var;name="what";original="software";match="software|program">> and associated documentation files to deal in it without restriction of any kind."#;

    fn recipe() -> Recipe {
        Recipe {
            width: Width::new(5).expect("not zero"),
            ..Recipe::default()
        }
    }

    fn drifted(baseline: &str, copy: &str, markup: Markup, around: Around) -> Drifted {
        let recipe = recipe();
        let baseline = Baseline::new("b", baseline, markup, &recipe).expect("patterns");
        baseline.compare(&Words::of_text(copy, &recipe), around)
    }

    fn told(drifted: &Drifted) -> Vec<(&'static str, &str, &str)> {
        let edits = drifted.changes.iter();
        edits
            .map(|edit| (edit.op.name(), &*edit.from, &*edit.to))
            .collect()
    }

    #[test]
    fn words_that_were_changed_are_told_as_they_stand() {
        let got = drifted(
            "You may not use this file except in compliance with the License, as it stands.",
            "you MAY use this file, except in compliance with the Agreement as it now stands",
            Markup::None,
            Around::Counted,
        );
        assert_eq!(got.status, Status::Altered);
        let expected = [
            ("delete", "not", ""),
            ("replace", "License", "Agreement"),
            ("insert", "", "now"),
        ];
        assert_eq!(told(&got), expected);
    }

    #[test]
    fn what_may_vary_is_no_drift() {
        let body = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files to deal in it without restriction of any kind.";
        for head in [
            "",
            "The MIT License\n",
            "Copyright (c) 1999, 2020 Permission Inc.\n",
            "THE MIT LICENSE. Copyright 1980 by me.\n",
        ] {
            let got = drifted(MIT, &format!("{head}{body}"), Markup::Spdx, Around::Counted);
            assert_eq!(
                (told(&got), got.status),
                (vec![], Status::Verbatim),
                "{head}"
            );
        }
        let got = drifted(
            MIT,
            &body.replace("software", "hardware"),
            Markup::Spdx,
            Around::Counted,
        );
        assert_eq!(told(&got), [("replace", "software", "hardware")]);
        let got = drifted(
            MIT,
            &body.replace("free of charge", "for a fee"),
            Markup::Spdx,
            Around::Counted,
        );
        assert_eq!(told(&got), [("replace", "free of charge", "for a fee")]);
        let got = drifted(
            MIT,
            &body
                .replace("granted", "granted http")
                .replace("charge", "charge license"),
            Markup::Spdx,
            Around::Counted,
        );
        assert_eq!(told(&got).len(), 2, "words put in are no spelling");
        // A part that may be left out as a whole may not be changed.
        let got = drifted(
            MIT,
            &format!("The BSD License {body}"),
            Markup::Spdx,
            Around::Counted,
        );
        assert_eq!(told(&got), [("replace", "MIT", "BSD")]);
    }

    #[test]
    fn two_holes_in_a_row_are_filled_together() {
        let template = r#"Redistributions in binary form must reproduce the above copyright notice.
<<var;name="bullet";original="3.";match=".{0,20}">> <<var;name="clause";original="Neither the name of X nor";match="(The name of.+may not)|(Neither the names? of.+contributors may)">>
be used to endorse or promote products derived from this software."#;
        let copy = |clause: &str| {
            let text = format!(
                "Redistributions in binary form must reproduce the above copyright notice. {clause} be used to endorse or promote products derived from this software."
            );
            drifted(template, &text, Markup::Spdx, Around::Counted)
        };
        let got = copy("(3) Neither the name of the Institute of Words nor its contributors may");
        assert_eq!((told(&got), got.status), (vec![], Status::Verbatim));
        let filled: Vec<&str> = got.filled.iter().map(|one| &*one.name).collect();
        assert_eq!(filled, ["bullet", "clause"]);
        let got = copy("3. All names of the Institute may, with no exception at all,");
        assert_eq!(got.status, Status::Altered);
    }

    #[test]
    fn a_hole_that_must_have_words_is_not_empty() {
        let body = "shall give notice of every change that is made to the work in writing";
        let fee = |pattern: &str, fee: &str| {
            let template = format!(
                r#"You {body}. The fee is <<var;name="fee";original="10";match="{pattern}">> dollars and you {body}"#
            );
            let copy = format!("You {body}. The fee is {fee} dollars and you {body}");
            let got = drifted(&template, &copy, Markup::Spdx, Around::Counted);
            let told = told(&got);
            let told = told
                .into_iter()
                .map(|(op, from, to)| format!("{op} {from} {to}"));
            told.collect::<Vec<_>>()
        };
        for pattern in ["[0-9]+", ".+", "[0-9]*", ".{0,9}"] {
            assert!(fee(pattern, "25").is_empty(), "{pattern}");
        }
        assert_eq!(fee("[0-9]+", ""), ["delete 10 "]);
        assert_eq!(fee(".+", ""), ["delete 10 "]);
        assert_eq!(fee("[0-9]+", "no"), ["replace 10 no"]);
        assert!(fee("[0-9]*", "").is_empty());
    }

    #[test]
    fn a_hole_beside_a_part_that_may_be_left_out_is_filled() {
        let body = "shall give notice of every change that is made to the work in writing";
        let var = r#"<<var;name="copyright";original="Copyright X";match=".{0,5000}">>"#;
        let part = "<<beginOptional>>Disclaimer: <<endOptional>>";
        let holder = "Copyright 2019 The Foo Project. All rights reserved.";
        for template in [
            format!("{var}\n{part}You {body}"),
            format!("{part}{var} You {body}"),
        ] {
            for copy in [
                format!("{holder} You {body}"),
                format!("You {body}"),
                format!("Disclaimer: You {body}"),
            ] {
                let got = drifted(&template, &copy, Markup::Spdx, Around::Counted);
                assert_eq!(
                    (told(&got), got.status),
                    (vec![], Status::Verbatim),
                    "{copy}"
                );
            }
        }
    }

    #[test]
    fn a_cut_between_like_letters_is_told_alone() {
        let recipe = Recipe {
            tokens: TokenKind::Char,
            ..recipe()
        };
        let text = "a notice stands in every copy that is made of it, and another one stands in every part";
        let (before, behind) = text.split_at(40);
        for cut in ["d and no other word that", "is", " is not read"] {
            let baseline = format!("{before}{cut}{behind}");
            let baseline = Baseline::new("b", &baseline, Markup::None, &recipe).expect("text");
            let got = baseline.compare(&Words::of_text(text, &recipe), Around::Auto);
            let gone: usize = got.changes.iter().map(Edit::cost).sum();
            assert!(
                gone <= cut.len() && got.around == 0,
                "{cut}: {:?}",
                got.changes
            );
        }
    }

    #[test]
    fn a_page_that_holds_the_text_among_other_text_is_verbatim() {
        let text = "one two three four five six seven eight nine ten";
        let page = format!("{} {text} {}", "menu ".repeat(20), "imprint ".repeat(20));
        let got = drifted(text, &page, Markup::None, Around::Auto);
        assert_eq!((got.status, got.around), (Status::Verbatim, 40));
        let got = drifted(text, &page, Markup::None, Around::Counted);
        assert_eq!((got.status, got.changes.len()), (Status::Altered, 2));
        // With changes at its ends.
        let page = page
            .replace("one two", "uno two")
            .replace("nine ten", "nine dieci");
        let got = drifted(text, &page, Markup::None, Around::Ignored);
        assert_eq!(
            told(&got),
            [("replace", "one", "uno"), ("replace", "ten", "dieci")]
        );
    }

    #[test]
    fn a_part_of_the_text_is_an_excerpt() {
        let text = "a b c d e f g h i j k l m n o p q r s t u v w x y z";
        let got = drifted(
            text,
            "a b c d e f g h i j k l m n o p q r s t",
            Markup::None,
            Around::Auto,
        );
        assert_eq!(got.status, Status::Excerpt);
        let got = drifted(text, "a b c d e f g h i j", Markup::None, Around::Auto);
        assert_eq!((got.status, told(&got).len()), (Status::Excerpt, 1));
        let got = drifted(
            text,
            "a b c d e f g h i j k l m n o p q r s t u v w y z",
            Markup::None,
            Around::Auto,
        );
        assert_eq!(got.status, Status::Altered);
    }

    #[test]
    fn names_in_brackets_take_a_few_words() {
        let text =
            "Copyright [year] {holder}. All rights that the law grants are reserved by the holder.";
        let copy = |names: &str| {
            format!("Copyright {names} All rights that the law grants are reserved by the holder")
        };
        let status =
            |names: &str, markup| drifted(text, &copy(names), markup, Around::Counted).status;
        assert_eq!(status("2020 A. N. Other", Markup::Names), Status::Verbatim);
        assert_eq!(status("2020 A. N. Other", Markup::Spdx), Status::Altered);
        assert_eq!(
            status(&"other words ".repeat(21), Markup::Names),
            Status::Altered
        );
    }
}
