//! Plots of change and of time as SVG: colours and type come from the style sheet, so that
//! they fit light and dark ground, and paper.
//!
//! A plot has labelled axes, a title for whoever cannot see it, and a word on each mark
//! for whoever points at it. Labels that would run into each other are left out.

use std::fmt::Write;

use crate::sides::escaped;
use crate::words::{count, excerpt, percent};

/// A plot as wide as the page, and one of two side by side: letters are of one size in both.
const WIDE: f64 = 1040.0;
const HALF: f64 = 520.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
/// Room for ticks and the name of the axis.
const BOTTOM: f64 = 50.0;
/// How wide a character of a tick is, about.
const LETTER: f64 = 6.6;

struct Plot {
    out: String,
    width: f64,
    height: f64,
    left: f64,
}

impl Plot {
    fn new(label: &str, (width, height): (f64, f64), left: f64) -> Plot {
        let mut out = String::new();
        let _ = write!(
            out,
            r#"<svg class="plot" viewBox="0 0 {width} {height}" role="img" aria-label="{}">"#,
            escaped(label)
        );
        Plot {
            out,
            width,
            height,
            left,
        }
    }

    fn x(&self, share: f64) -> f64 {
        self.left + share * (self.width - RIGHT - self.left)
    }

    fn y(&self, share: f64) -> f64 {
        self.height - BOTTOM - share * (self.height - BOTTOM - TOP)
    }

    fn text(&mut self, class: &str, x: f64, y: f64, anchor: &str, text: &str) {
        let text = escaped(text);
        let _ = write!(
            self.out,
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#
        );
    }

    /// A line across, named at its left.
    fn across(&mut self, y: f64, name: &str) {
        let (from, to) = (self.left, self.width - RIGHT);
        let _ = write!(
            self.out,
            r#"<line class="grid" x1="{from}" x2="{to}" y1="{y:.1}" y2="{y:.1}"/>"#
        );
        self.text("tick", from - 7.0, y + 4.0, "end", name);
    }

    /// Names below the axis, as many as have room.
    fn below(&mut self, names: &[(f64, String)]) {
        let mut free = f64::NEG_INFINITY;
        let y = self.height - BOTTOM + 21.0;
        for (x, name) in names.iter().filter(|(_, name)| !name.is_empty()) {
            let half = name.chars().count() as f64 * LETTER / 2.0;
            let at = x.clamp(half, (self.width - half).max(half));
            if at - half < free {
                continue;
            }
            free = at + half + 10.0;
            self.text("tick", at, y, "middle", name);
        }
    }

    /// What the axes show.
    fn axes(&mut self, along: &str, up: &str) {
        let middle = f64::midpoint(self.left, self.width - RIGHT);
        self.text("axis", middle, self.height - 8.0, "middle", along);
        let y = self.y(0.5);
        let _ = write!(
            self.out,
            r#"<text class="axis" transform="translate(13 {y:.1}) rotate(-90)" text-anchor="middle">{}</text>"#,
            escaped(up)
        );
    }

    fn end(mut self) -> String {
        self.out.push_str("</svg>");
        self.out
    }
}

/// Round numbers from 0 to at least `most`, about five of them.
fn ticks(most: f64) -> Vec<f64> {
    let most = most.max(1.0);
    let rough = most / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= rough)
        .unwrap_or(rough);
    let step = step.max(1.0);
    let mut ticks = vec![0.0];
    while ticks[ticks.len() - 1] < most {
        ticks.push(ticks.len() as f64 * step);
    }
    ticks
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "ticks are whole and not negative"
)]
fn whole(tick: f64) -> String {
    count(tick.round() as u64)
}

/// A part of a stacked bar: its class, and how many.
pub(crate) type Part = (&'static str, &'static str, u64);

/// A bar of parts above the axis and parts below it.
pub(crate) struct Stack {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) above: Vec<Part>,
    pub(crate) below: Vec<Part>,
}

/// What was gained above the axis, what was lost below.
pub(crate) fn stacks(label: &str, along: &str, up: &str, all: &[Stack]) -> String {
    let sum = |parts: &[Part]| parts.iter().map(|part| part.2).sum::<u64>();
    let most = |side: fn(&Stack) -> &Vec<Part>| all.iter().map(|one| sum(side(one))).max();
    let above = most(|one| &one.above).unwrap_or(0) as f64;
    let below = most(|one| &one.below).unwrap_or(0) as f64;
    let step = ticks(above.max(below))[1];
    let up_to = (above / step).ceil().max(1.0) * step;
    let down_to = (below / step).ceil() * step;
    let mut plot = Plot::new(label, (WIDE, 360.0), LEFT);
    let place = |plot: &Plot, number: f64| plot.y((number + down_to) / (up_to + down_to));
    let mut tick = -down_to;
    while tick <= up_to + step / 2.0 {
        let y = place(&plot, tick);
        plot.across(y, &whole(tick.abs()));
        tick += step;
    }
    let width = 1.0 / all.len().max(1) as f64;
    let mut names = Vec::new();
    for (i, one) in all.iter().enumerate() {
        let broad = (width * (WIDE - RIGHT - LEFT) * 0.7).min(70.0);
        let middle = plot.x((i as f64 + 0.5) * width);
        let _ = write!(plot.out, "<g><title>{}</title>", escaped(&one.title));
        for (parts, sign) in [(&one.above, 1.0), (&one.below, -1.0)] {
            let mut from = 0.0;
            for &(class, _, number) in parts.iter().filter(|part| part.2 > 0) {
                let to = from + sign * number as f64;
                let (high, low) = (place(&plot, from.max(to)), place(&plot, from.min(to)));
                let _ = write!(
                    plot.out,
                    r#"<rect class="{class}" x="{:.1}" y="{high:.1}" width="{broad:.1}" height="{:.1}"/>"#,
                    middle - broad / 2.0,
                    (low - high).max(0.5)
                );
                from = to;
            }
        }
        plot.out.push_str("</g>");
        names.push((middle, one.name.clone()));
    }
    let (y, from, to) = (place(&plot, 0.0), plot.left, WIDE - RIGHT);
    let _ = write!(
        plot.out,
        r#"<line class="base" x1="{from}" x2="{to}" y1="{y:.1}" y2="{y:.1}"/>"#
    );
    plot.below(&names);
    plot.axes(along, up);
    plot.end()
}

/// A bar: what it is called, what it says, how high.
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) count: u64,
}

/// Where a bar's name stands.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum Names {
    /// Under its middle: it is one thing.
    Middle,
    /// Where it begins: it is a stretch of the axis, and `last` names the end of all.
    Edge(&'static str),
}

/// Bars side by side.
pub(crate) fn bars(label: &str, along: &str, up: &str, all: &[Bar], names: Names) -> String {
    let most = all.iter().map(|bar| bar.count).max().unwrap_or(0) as f64;
    let ticks = ticks(most);
    let top = ticks[ticks.len() - 1];
    let mut plot = Plot::new(label, (HALF, 280.0), LEFT);
    for tick in &ticks {
        let y = plot.y(tick / top);
        plot.across(y, &whole(*tick));
    }
    let width = 1.0 / all.len().max(1) as f64;
    let mut below = Vec::new();
    for (i, bar) in all.iter().enumerate() {
        let room = width * (HALF - RIGHT - LEFT);
        let broad = (room * 0.84).min(70.0);
        let (edge, middle) = (plot.x(i as f64 * width), plot.x((i as f64 + 0.5) * width));
        if bar.count > 0 {
            let y = plot.y(bar.count as f64 / top);
            let _ = write!(
                plot.out,
                r#"<rect class="bar" x="{:.1}" y="{y:.1}" width="{broad:.1}" height="{:.1}"><title>{}</title></rect>"#,
                middle - broad / 2.0,
                plot.y(0.0) - y,
                escaped(&bar.title)
            );
        }
        let at = if names == Names::Middle { middle } else { edge };
        below.push((at, bar.name.clone()));
    }
    if let Names::Edge(last) = names {
        below.push((plot.x(1.0), last.to_owned()));
    }
    plot.below(&below);
    plot.axes(along, up);
    plot.end()
}

/// A curve that falls in steps, with its band.
pub(crate) struct Curve {
    pub(crate) class: &'static str,
    /// Where it falls: age, share, low, high.
    pub(crate) steps: Vec<[f64; 4]>,
    /// How far it goes.
    pub(crate) until: f64,
}

/// Points of a curve that are drawn: more would not be seen.
const POINTS: usize = 600;

/// Shares that fall with age.
///
/// `unit` is what one of the axis is; it has no finer ticks than `finest`.
pub(crate) fn survival(
    label: &str,
    (along, up): (&str, &str),
    all: &[Curve],
    unit: f64,
    finest: f64,
) -> String {
    let until = all.iter().map(|curve| curve.until).fold(0.0, f64::max);
    // Beyond the last there is room for where each curve ends.
    let until = 1.07 * if until > 0.0 { until } else { 1.0 };
    let mut plot = Plot::new(label, (WIDE, 360.0), LEFT);
    for quarter in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let y = plot.y(quarter);
        plot.across(y, &format!("{:.0} %", 100.0 * quarter));
    }
    let mut names = Vec::new();
    for tick in fractions(until / unit, finest) {
        let share = tick * unit / until;
        if share <= 1.0 {
            names.push((plot.x(share), short(tick)));
        }
    }
    let mut ends: Vec<f64> = Vec::new();
    for curve in all {
        let every = curve.steps.len().div_ceil(POINTS).max(1);
        let steps: Vec<[f64; 4]> = curve.steps.iter().copied().step_by(every).collect();
        let line = |plot: &Plot, which: usize| {
            let mut path = vec![(plot.x(0.0), plot.y(1.0))];
            for step in &steps {
                let x = plot.x(step[0] / until);
                path.push((x, path[path.len() - 1].1));
                path.push((x, plot.y(step[which])));
            }
            path.push((plot.x(curve.until / until), path[path.len() - 1].1));
            path
        };
        let drawn = |points: &[(f64, f64)]| {
            let points = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}"));
            points.collect::<Vec<_>>().join("L")
        };
        let (mut band, mut low) = (line(&plot, 3), line(&plot, 2));
        low.reverse();
        band.append(&mut low);
        let class = curve.class;
        let _ = write!(
            plot.out,
            r#"<path class="band {class}" d="M{}Z"/><path class="line {class}" d="M{}"/>"#,
            drawn(&band),
            drawn(&line(&plot, 1))
        );
        let share = curve.steps.last().map_or(1.0, |step| step[1]);
        let (x, y) = (plot.x(curve.until / until), plot.y(share));
        let _ = write!(
            plot.out,
            r#"<circle class="end {class}" cx="{x:.1}" cy="{y:.1}" r="4"/>"#
        );
        // Two that end near each other are told one above the other.
        if ends.iter().all(|end| (end - y).abs() > 1.0) {
            let crowd = ends.iter().find(|end| (*end - y).abs() < 14.0);
            let shift = crowd.map_or(0.0, |end| if y < *end { -10.0 } else { 10.0 });
            let text = format!("{:.0} %", 100.0 * share);
            plot.text("tick", x + 9.0, y + 4.0 + shift, "start", &text);
            ends.push(y);
        }
    }
    let (y, from, to) = (plot.y(0.5), plot.left, WIDE - RIGHT);
    let _ = write!(
        plot.out,
        r#"<line class="half" x1="{from}" x2="{to}" y1="{y:.1}" y2="{y:.1}"/>"#
    );
    plot.below(&names);
    plot.axes(along, up);
    plot.end()
}

/// Round numbers up to `most`, which may be less than one.
fn fractions(most: f64, finest: f64) -> Vec<f64> {
    let rough = (most / 6.0).max(1e-9);
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= rough)
        .unwrap_or(rough)
        .max(finest);
    (0..=10)
        .map(|i| f64::from(i) * step)
        .take_while(|tick| *tick <= most * 1.000_001)
        .collect()
}

fn short(number: f64) -> String {
    let text = format!("{number:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}

/// Places drawn of a table of moves; the rest is one more.
const PLACES: usize = 9;

/// How many went from where to where, the darker the more.
pub(crate) fn matrix(label: &str, from_to: &[(String, String, u64)]) -> Option<String> {
    let total: u64 = from_to.iter().map(|flow| flow.2).sum();
    if total == 0 {
        return None;
    }
    let (rows, columns) = (
        places(from_to, |flow| &flow.0),
        places(from_to, |flow| &flow.1),
    );
    let of = |all: &[String], name: &String| {
        all.iter()
            .position(|own| own == name)
            .unwrap_or(all.len() - 1)
    };
    let mut cells = vec![vec![0_u64; columns.len()]; rows.len()];
    for (from, to, pages) in from_to {
        cells[of(&rows, from)][of(&columns, to)] += pages;
    }
    let most = cells.iter().flatten().copied().max().unwrap_or(1).max(1) as f64;
    let letters = |all: &[String], most: usize| {
        let names = all.iter().map(|name| excerpt(name, most).chars().count());
        names.max().unwrap_or(0).max(12) as f64 * LETTER
    };
    // Names above lean by 48 degrees.
    let (left, top) = (
        letters(&rows, 40) + 24.0,
        0.75 * letters(&columns, 30) + 28.0,
    );
    let (cell, tall) = (46.0, 28.0);
    let height = top + tall * rows.len() as f64 + 8.0;
    let mut plot = Plot::new(label, (WIDE, height), left);
    plot.text("axis", left - 8.0, top - 10.0, "end", "from ↓   to →");
    for (j, name) in columns.iter().enumerate() {
        let x = left + (j as f64 + 0.5) * cell + 4.0;
        let _ = write!(
            plot.out,
            r#"<text class="tick" transform="translate({x:.1} {:.1}) rotate(-48)">{}</text>"#,
            top - 8.0,
            escaped(&excerpt(name, 30))
        );
    }
    for (i, name) in rows.iter().enumerate() {
        let y = top + i as f64 * tall;
        plot.text(
            "tick",
            left - 8.0,
            y + tall / 2.0 + 4.0,
            "end",
            &excerpt(name, 40),
        );
        for (j, column) in columns.iter().enumerate() {
            let pages = cells[i][j];
            let x = left + j as f64 * cell;
            // By its root: that of few can be told from nothing.
            let shade = (pages as f64 / most).sqrt();
            let _ = write!(
                plot.out,
                r#"<rect class="cell" x="{x:.1}" y="{y:.1}" width="{cell:.1}" height="{tall:.1}"/>"#
            );
            if pages > 0 {
                let strong = if shade > 0.55 { " strong" } else { "" };
                let _ = write!(
                    plot.out,
                    r#"<rect class="flow" fill-opacity="{:.2}" x="{x:.1}" y="{y:.1}" width="{cell:.1}" height="{tall:.1}"><title>{} from {} to {}</title></rect>"#,
                    0.12 + 0.88 * shade,
                    escaped(&count(pages)),
                    escaped(name),
                    escaped(column)
                );
                let class = format!("tick amount{strong}");
                let (x, y) = (x + cell / 2.0, y + tall / 2.0 + 4.0);
                plot.text(&class, x, y, "middle", &compact(pages));
            }
        }
    }
    Some(plot.end())
}

/// A number in a few characters.
fn compact(number: u64) -> String {
    match number {
        0..10_000 => count(number),
        10_000..1_000_000 => format!("{}k", number / 1000),
        _ => format!("{}M", number / 1_000_000),
    }
}

/// The places with the most pages; what is left is together in the last.
fn places(
    flows: &[(String, String, u64)],
    side: impl Fn(&(String, String, u64)) -> &String,
) -> Vec<String> {
    let mut sums: std::collections::BTreeMap<&String, u64> = std::collections::BTreeMap::new();
    for flow in flows {
        *sums.entry(side(flow)).or_insert(0) += flow.2;
    }
    let mut all: Vec<(&String, u64)> = sums.into_iter().collect();
    all.sort_by_key(|(_, pages)| std::cmp::Reverse(*pages));
    // One more has the room that a word on it would take.
    let shown = if all.len() > PLACES + 1 {
        PLACES
    } else {
        all.len()
    };
    let left = all.len() - shown;
    let mut names: Vec<String> = all
        .iter()
        .take(shown)
        .map(|(name, _)| (*name).clone())
        .collect();
    if left > 0 {
        names.push(format!("{} others", count(left as u64)));
    }
    names
}

/// A sweep on a page's line of time.
pub(crate) struct Dot {
    /// Where it is, as a share of the line.
    pub(crate) place: f64,
    pub(crate) name: String,
    /// `same`, `words`, `changed`, `first`; `gap` for a sweep that did not see it.
    pub(crate) class: &'static str,
    pub(crate) title: String,
    /// How alike it is to the capture before.
    pub(crate) alike: Option<f64>,
}

/// A page through time: a dot for each sweep, and how much of the one before is left.
pub(crate) fn life(label: &str, dots: &[Dot]) -> String {
    let mut plot = Plot::new(label, (WIDE, 124.0), 24.0);
    let y = 44.0;
    let x_of = |plot: &Plot, dot: &Dot| plot.x(0.02 + 0.96 * dot.place);
    for pair in dots.windows(2) {
        let (from, to) = (x_of(&plot, &pair[0]), x_of(&plot, &pair[1]));
        let is_gap = pair.iter().any(|dot| dot.class == "gap");
        let class = if is_gap { "thread gap" } else { "thread" };
        let _ = write!(
            plot.out,
            r#"<line class="{class}" x1="{from:.1}" x2="{to:.1}" y1="{y}" y2="{y}"/>"#
        );
    }
    let mut names = Vec::new();
    let mut free = f64::NEG_INFINITY;
    for dot in dots {
        let x = x_of(&plot, dot);
        let (class, title) = (dot.class, escaped(&dot.title));
        let radius = if class == "gap" { 5 } else { 8 };
        let _ = write!(
            plot.out,
            r#"<circle class="seen {class}" cx="{x:.1}" cy="{y}" r="{radius}"><title>{title}</title></circle>"#
        );
        let above = match (class, dot.alike) {
            ("gap", _) => "not seen".to_owned(),
            ("first", _) => "first".to_owned(),
            ("same", _) => "=".to_owned(),
            ("words", _) => "same words".to_owned(),
            (_, Some(alike)) => percent(alike),
            (_, None) => String::new(),
        };
        let half = above.chars().count() as f64 * LETTER / 2.0;
        if x - half > free && !above.is_empty() {
            free = x + half + 4.0;
            plot.text("note", x, y - 18.0, "middle", &above);
        }
        names.push((x, dot.name.clone()));
    }
    plot.below(&names);
    let middle = WIDE / 2.0;
    let (words, y) = (
        "sweeps, by date; above each, how alike it is to the capture before",
        plot.height - 8.0,
    );
    plot.text("axis", middle, y, "middle", words);
    plot.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_the_top() {
        assert_eq!(ticks(0.0), [0.0, 1.0]);
        assert_eq!(ticks(3.0), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(ticks(1034.0)[4..], [1000.0, 1250.0]);
        for most in 1..2000 {
            let ticks = ticks(f64::from(most));
            assert!(
                ticks.len() <= 7 && ticks[ticks.len() - 1] >= f64::from(most),
                "{most}"
            );
        }
        assert_eq!(fractions(9.0, 0.0), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(fractions(2.0, 1.0), [0.0, 1.0, 2.0]);
        assert_eq!(short(0.5), "0.5");
        assert_eq!(short(10.0), "10");
    }

    #[test]
    fn what_is_drawn_is_escaped() {
        let bad = "<script>\"&";
        let drawn = matrix(bad, &[(bad.to_owned(), bad.to_owned(), 3)]).expect("a move");
        assert!(!drawn.contains("<script>"), "{drawn}");
        let dots = [Dot {
            place: 0.0,
            name: bad.to_owned(),
            class: "first",
            title: bad.to_owned(),
            alike: None,
        }];
        assert!(!life(bad, &dots).contains("<script>"));
    }

    #[test]
    fn places_beyond_the_ninth_are_others() {
        let flows: Vec<(String, String, u64)> = (0..30)
            .map(|i| (format!("a{i}"), "b".to_owned(), 30 - i))
            .collect();
        let names = places(&flows, |flow| &flow.0);
        assert_eq!((names.len(), names[9].as_str()), (10, "21 others"));
        assert_eq!(matrix("none", &[]), None);
    }
}
