//! One baseline against one copy: what differs, of what may not.
//!
//! ```text
//! copy ─► where in it the baseline stands ─► changes ─► optional parts that are left out
//!                                                       └─► changes ─► holes filled ─► edits
//! ```

use std::ops::Range;

use lookalike_core::diff::{Change, changes, numbered};
use lookalike_core::passages::{Passage, of_numbers};
use lookalike_core::recipe::Recipe;
use lookalike_core::shingle::overlap;

use super::template::{self, FILLING, Filling, Hole, Markup};
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
    /// Tokens that may be left out; outer ones first.
    optional: Vec<Range<usize>>,
}

/// Words that SPDX's guidelines take for one another; in templates only.
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

/// Where in a copy its baseline stands.
struct Window {
    tokens: Range<usize>,
    /// Whether what stands around it is left out of account.
    is_part: bool,
    /// How many words of the baseline stand in the copy in passages, in order.
    held: usize,
}

impl Baseline {
    /// A baseline under the name it is told by.
    pub fn new(name: &str, text: &str, markup: Markup, recipe: &Recipe) -> Baseline {
        let plain = template::plain(text, markup);
        let words = Words::of_text(&plain.text, recipe);
        // How many tokens begin before a place.
        let mut starts = Vec::with_capacity(words.len());
        starts.extend(
            (0..words.len())
                .filter_map(|i| words.place(i))
                .map(|place| place.start),
        );
        let token = |at: usize| starts.partition_point(|start| *start < at);
        let holes = plain.holes.into_iter().map(|hole| (token(hole.at), hole));
        let optional = plain.optional.iter().map(|r| token(r.start)..token(r.end));
        Baseline {
            name: name.to_owned(),
            holes: holes.collect(),
            optional: optional.filter(|range| !range.is_empty()).collect(),
            words,
            recipe: recipe.clone(),
        }
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
        !self.holes.is_empty() || !self.optional.is_empty()
    }

    /// How a copy differs.
    pub fn compare(&self, copy: &Words, around: Around) -> Drifted {
        let (xs, ys) = numbered(self.words.tokens(), copy.tokens());
        let Window {
            tokens: mut window,
            is_part,
            held,
        } = self.window(&xs, &ys, around);
        // Which tokens of the baseline the copy is held against.
        let mut kept: Vec<usize> = (0..xs.len()).collect();
        let mut found = self.changes(&kept, &xs, &ys, &window);
        let left_out = self.left_out(&found);
        if !left_out.is_empty() {
            kept.retain(|token| !left_out.iter().any(|range| range.contains(token)));
            found = self.changes(&kept, &xs, &ys, &window);
        }
        if is_part {
            trim(&mut found, &mut window, xs.len());
        }
        let mut filled = Vec::new();
        let mut edits = Vec::new();
        let mut floor = 0;
        for i in 0..found.len() {
            let ceiling = found.get(i + 1).map_or(xs.len(), |next| next.a.start);
            let change = found[i].clone();
            let own_floor = std::mem::replace(&mut floor, change.a.end);
            let room = own_floor..ceiling;
            let edit = self.judged(change, copy, (&xs, &ys), &room, &mut filled);
            edits.extend(edit.filter(|edit| !self.is_spelling(edit, copy)));
        }
        let status = self.status(&edits, held, kept.len());
        Drifted {
            status,
            resemblance: self.resemblance(copy),
            changes: edits,
            filled,
            around: ys.len() - window.len(),
        }
    }

    fn resemblance(&self, copy: &Words) -> f64 {
        let (own, recipe) = (self.words.tokens(), &self.recipe);
        let overlap = overlap(own, copy.tokens(), recipe.width, recipe.shingling);
        overlap.resemblance().unwrap_or(0.0)
    }

    /// Where in the copy the baseline stands.
    fn window(&self, xs: &[u32], ys: &[u32], around: Around) -> Window {
        let all = of_numbers(xs, ys, self.recipe.width);
        let chain = chain(&all);
        let held = chain.iter().map(|passage| passage.len()).sum();
        let whole = Window {
            tokens: 0..ys.len(),
            is_part: false,
            held,
        };
        let (Some(first), Some(last)) = (chain.first(), chain.last()) else {
            return whole;
        };
        let is_page = || 2 * (last.b.end - first.b.start) < ys.len() || 2 * held < xs.len();
        if around == Around::Counted || around == Around::Auto && !is_page() {
            return whole;
        }
        // A few words at the ends of the baseline may be other words there; many are gone.
        let few = |missing: usize| Some(missing).filter(|n| *n < self.recipe.width.get());
        let (before, behind) = (few(first.a.start), few(xs.len() - last.a.end));
        let from = first.b.start.saturating_sub(before.unwrap_or(0));
        let to = (last.b.end + behind.unwrap_or(0)).min(ys.len());
        Window {
            tokens: from..to,
            is_part: true,
            held,
        }
    }

    /// What differs between some tokens of the baseline and a window of the copy, in tokens
    /// of both.
    fn changes(
        &self,
        kept: &[usize],
        xs: &[u32],
        ys: &[u32],
        window: &Range<usize>,
    ) -> Vec<Change> {
        let own: Vec<u32> = kept.iter().map(|&token| xs[token]).collect();
        let found = changes(&own, &ys[window.clone()]);
        let at = |i: usize| kept.get(i).copied().unwrap_or(self.words.len());
        let real = |range: Range<usize>| match range.end.checked_sub(1) {
            Some(last) if !range.is_empty() => at(range.start)..at(last) + 1,
            _ => at(range.start)..at(range.start),
        };
        let change = |change: Change| Change {
            a: real(change.a),
            b: window.start + change.b.start..window.start + change.b.end,
        };
        found.into_iter().map(change).collect()
    }

    /// Optional parts that the copy has less than half of: it does not have them.
    fn left_out(&self, found: &[Change]) -> Vec<Range<usize>> {
        let mut out: Vec<Range<usize>> = Vec::new();
        for part in &self.optional {
            let is_inside =
                |outer: &Range<usize>| outer.start <= part.start && part.end <= outer.end;
            if out.iter().any(is_inside) {
                continue;
            }
            let gone = found.iter().map(|change| {
                let (from, to) = (change.a.start.max(part.start), change.a.end.min(part.end));
                to.saturating_sub(from)
            });
            if 2 * gone.sum::<usize>() > part.len() {
                out.push(part.clone());
            }
        }
        out
    }

    /// A change, less what fills a hole.
    fn judged(
        &self,
        mut change: Change,
        copy: &Words,
        (xs, ys): (&[u32], &[u32]),
        room: &Range<usize>,
        filled: &mut Vec<Filled>,
    ) -> Option<Edit> {
        if change.b.is_empty() || self.holes.is_empty() {
            return Some(Edit::new(change, &self.words, copy));
        }
        if change.a.is_empty() {
            change = self.slid(change, xs, ys, room);
        }
        let here = |hole: &&(usize, Hole)| (change.a.start..=change.a.end).contains(&hole.0);
        let here: Vec<&Hole> = self
            .holes
            .iter()
            .filter(here)
            .map(|(_, hole)| hole)
            .collect();
        if here.is_empty() {
            return Some(Edit::new(change, &self.words, copy));
        }
        let words = copy.shown(&change.b);
        let fits = |hole: &Hole| match &hole.filling {
            Filling::Few => change.b.len() <= FILLING,
            Filling::Like(None) => true,
            Filling::Like(Some(pattern)) => {
                let mut forms = copy.with_marks(&change.b);
                pattern.is_match(&words) || forms.any(|form| pattern.is_match(form))
            }
        };
        let fitting = here.iter().find(|hole| fits(hole));
        if fitting.is_none()
            && here.len() > 1
            && change.a.is_empty()
            && let Some(row) = template::row(&here)
        {
            let whole = std::iter::once(words.as_str());
            let mut forms = whole.chain(copy.with_marks(&change.b));
            if let Some(found) = forms.find_map(|form| row.captures(form)) {
                for (i, hole) in here.iter().enumerate() {
                    let own = found.name(&template::group(i));
                    let words = joined(own.map_or("", |own| own.as_str()));
                    if !words.is_empty() {
                        let name = hole.name.clone();
                        filled.push(Filled { name, words });
                    }
                }
                return None;
            }
        }
        // Several holes in a row share what stands there.
        let is_shared = here.len() > 1 && here.iter().any(|hole| is_free(hole));
        if let Some(hole) = fitting.or(here.first().filter(|_| is_shared)) {
            let name = hole.name.clone();
            if change.a.is_empty() {
                filled.push(Filled { name, words });
                return None;
            }
            // As many words as are gone were put in for them; the others fill the hole.
            let rest = change.b.len().saturating_sub(change.a.len()).max(1);
            let is_first = self.holes.iter().any(|(at, _)| *at == change.a.start);
            let (own, other) = if is_first {
                let middle = change.b.start + rest;
                (change.b.start..middle, middle..change.b.end)
            } else {
                let middle = change.b.end - rest;
                (middle..change.b.end, change.b.start..middle)
            };
            filled.push(Filled {
                name,
                words: copy.shown(&own),
            });
            let change = Change { b: other, ..change };
            return Some(Edit::new(change, &self.words, copy));
        }
        let mut edit = Edit::new(change, &self.words, copy);
        if edit.from.is_empty() {
            // What should have stood there is known.
            edit.from = here
                .first()
                .map(|hole| joined(&hole.original))
                .unwrap_or_default();
            if !edit.from.is_empty() {
                edit.op = Op::Replace;
            }
        }
        Some(edit)
    }

    /// Whether words of a template are only spelt in another way.
    fn is_spelling(&self, edit: &Edit, copy: &Words) -> bool {
        let Change { a, b } = &edit.change;
        let is_same = |(x, y): (usize, usize)| {
            let word = |words: &Words, i: usize| {
                String::from_utf8_lossy(words.tokens().canonical(i)).into_owned()
            };
            let pair = (word(&self.words, x), word(copy, y));
            let is = |(one, other): &(&str, &str)| {
                (pair.0 == *one && pair.1 == *other) || (pair.1 == *one && pair.0 == *other)
            };
            pair.0 == pair.1 || SPELLINGS.iter().any(is)
        };
        self.is_template()
            && a.len() == b.len()
            && !a.is_empty()
            && a.clone().zip(b.clone()).all(is_same)
    }

    /// Words that were put in may as well be put in a little earlier or later, where they
    /// begin or end as what is there does: at a hole, if there is one.
    fn slid(&self, change: Change, xs: &[u32], ys: &[u32], room: &Range<usize>) -> Change {
        let is_hole = |token: usize| self.holes.iter().any(|(at, _)| *at == token);
        let (mut earlier, mut later) = (change.clone(), change.clone());
        loop {
            if is_hole(earlier.a.start) {
                return earlier;
            }
            let (a, b) = (earlier.a.start, earlier.b.clone());
            if a <= room.start || xs[a - 1] != ys[b.end - 1] || b.start == 0 {
                break;
            }
            earlier = Change {
                a: a - 1..a - 1,
                b: b.start - 1..b.end - 1,
            };
        }
        loop {
            if is_hole(later.a.start) {
                return later;
            }
            let (a, b) = (later.a.start, later.b.clone());
            if a >= room.end || b.end >= ys.len() || xs[a] != ys[b.start] {
                return change;
            }
            later = Change {
                a: a + 1..a + 1,
                b: b.start + 1..b.end + 1,
            };
        }
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

/// Whether anything fills a hole.
fn is_free(hole: &Hole) -> bool {
    match &hole.filling {
        Filling::Few => false,
        Filling::Like(pattern) => {
            let is_free = |pattern: &regex::Regex| pattern.is_match("any words and more 1999-2026");
            pattern.as_ref().is_none_or(is_free)
        }
    }
}

/// Passages in order in both texts: the chain of them with the most words.
fn chain(all: &[Passage]) -> Vec<&Passage> {
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
        let before = (0..i).filter(|&j| all[j].b.end <= passage.b.start);
        let before = before.max_by_key(|&j| (best[j].0, j));
        let words = before.map_or(0, |j| best[j].0);
        best.push((words + passage.len(), before));
    }
    let mut at = (0..best.len()).max_by_key(|&i| (best[i].0, std::cmp::Reverse(i)));
    let mut chain = Vec::new();
    while let Some(i) = at {
        chain.push(all[i]);
        at = best[i].1;
    }
    chain.reverse();
    chain
}

/// Takes words at both ends of the window away that are not the baseline's.
fn trim(found: &mut Vec<Change>, window: &mut Range<usize>, len: usize) {
    // More than twice the words that are missing there are not put in for them.
    let is_other = |change: &Change| change.b.len() > 2 * change.a.len();
    if let Some(first) = found
        .first_mut()
        .filter(|one| one.a.start == 0 && one.b.start == window.start)
        && is_other(first)
    {
        window.start = first.b.end;
        first.b.start = first.b.end;
    }
    if let Some(last) = found
        .last_mut()
        .filter(|one| one.a.end == len && one.b.end == window.end)
        && is_other(last)
    {
        window.end = last.b.start;
        last.b.end = last.b.start;
    }
    found.retain(|change| !change.a.is_empty() || !change.b.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;
    use lookalike_core::shingle::Width;

    const MIT: &str = r#"<<beginOptional>>The MIT License<<endOptional>> <<var;name="copyright";original="Copyright (c) <year> <holder>";match=".{0,200}">> Permission is hereby granted, free of charge, to any person obtaining a copy of this <<var;name="what";original="software";match="software|program">> and associated documentation files to deal in it without restriction of any kind."#;

    fn recipe() -> Recipe {
        Recipe {
            width: Width::new(5).expect("not zero"),
            ..Recipe::default()
        }
    }

    fn drifted(baseline: &str, copy: &str, markup: Markup, around: Around) -> Drifted {
        let recipe = recipe();
        let baseline = Baseline::new("b", baseline, markup, &recipe);
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
            status(&"other words ".repeat(20), Markup::Names),
            Status::Altered
        );
    }
}
