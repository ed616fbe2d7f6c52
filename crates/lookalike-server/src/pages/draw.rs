//! Plots as SVG: colours and type come from the style sheet.

use std::fmt::Write;

use lookalike::core::acceptance::Filter;

use crate::sides::escaped;
use crate::words;

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 46.0;
const BOTTOM: f64 = 36.0;
const TOP: f64 = 12.0;
const RIGHT: f64 = 20.0;

/// A bar: what it stands for, how high.
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) title: String,
    pub(super) count: u64,
}

fn begin(label: &str) -> String {
    format!(
        r#"<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}">"#,
        escaped(label)
    )
}

/// Bars on a logarithmic scale, where one and a million can both be seen. `line` marks a
/// place along the axis, as a share of it.
pub(super) fn bars(label: &str, axis: &str, bars: &[Bar], line: Option<(f64, &str)>) -> String {
    let mut out = begin(label);
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1);
    let decades = (most as f64).log10().ceil().max(1.0);
    let y_of = |count: f64| {
        let share = (1.0 + 9.0 * count / 10.0).log10().max(0.0)
            / (1.0 + 0.9 * 10_f64.powf(decades)).log10();
        HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)
    };
    let mut tick = 1.0;
    while tick <= 10_f64.powf(decades) {
        let y = y_of(tick);
        let _ = write!(
            out,
            r#"<line class="grid" x1="{LEFT}" x2="{}" y1="{y:.1}" y2="{y:.1}"/><text class="tick" x="{}" y="{:.1}" text-anchor="end">{}</text>"#,
            WIDTH - RIGHT,
            LEFT - 6.0,
            y + 4.0,
            short(tick)
        );
        tick *= 10.0;
    }
    let step = (WIDTH - LEFT - RIGHT) / bars.len().max(1) as f64;
    // Every label would run into the next where there are many.
    let every = (bars.len() * 34).div_ceil(360).max(1);
    for (i, bar) in bars.iter().enumerate() {
        let x = LEFT + i as f64 * step;
        let y = y_of(bar.count as f64);
        if bar.count > 0 {
            let _ = write!(
                out,
                r#"<rect class="bar" x="{:.1}" y="{y:.1}" width="{:.1}" height="{:.1}"><title>{}</title></rect>"#,
                x + step * 0.1,
                step * 0.8,
                HEIGHT - BOTTOM - y,
                escaped(&bar.title)
            );
        }
        if i % every == 0 {
            // A bar of a stretch of the axis is named where the stretch begins.
            let at = if line.is_some() { x } else { x + step / 2.0 };
            let _ = write!(
                out,
                r#"<text class="tick" x="{at:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
                HEIGHT - BOTTOM + 15.0,
                escaped(&bar.label)
            );
        }
    }
    if let Some((share, name)) = line {
        let x = LEFT + share * (WIDTH - LEFT - RIGHT);
        let _ = write!(
            out,
            r#"<line class="mark" x1="{x:.1}" x2="{x:.1}" y1="{TOP}" y2="{:.1}"/><text class="note" x="{:.1}" y="{:.1}" text-anchor="end">{}</text>"#,
            HEIGHT - BOTTOM,
            x - 5.0,
            TOP + 10.0,
            escaped(name)
        );
    }
    end(out, axis)
}

/// How likely two documents are taken for alike, by how alike they are.
pub(super) fn curve(label: &str, axis: &str, filter: Filter, threshold: f64) -> String {
    let mut out = begin(label);
    let x_of = |rho: f64| LEFT + rho * (WIDTH - LEFT - RIGHT);
    let y_of = |chance: f64| HEIGHT - BOTTOM - chance * (HEIGHT - BOTTOM - TOP);
    for tenth in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let (x, y) = (x_of(tenth), y_of(tenth));
        let _ = write!(
            out,
            r#"<line class="grid" x1="{LEFT}" x2="{}" y1="{y:.1}" y2="{y:.1}"/><text class="tick" x="{}" y="{:.1}" text-anchor="end">{:.0} %</text><text class="tick" x="{x:.1}" y="{:.1}" text-anchor="middle">{:.0} %</text>"#,
            WIDTH - RIGHT,
            LEFT - 6.0,
            y + 4.0,
            tenth * 100.0,
            HEIGHT - BOTTOM + 15.0,
            tenth * 100.0
        );
    }
    let mut path = String::new();
    for step in 0..=200 {
        let rho = f64::from(step) / 200.0;
        let letter = if step == 0 { 'M' } else { 'L' };
        let y = y_of(filter.odds(rho).accept);
        let _ = write!(path, "{letter}{:.1} {y:.1}", x_of(rho));
    }
    let _ = write!(out, r#"<path class="curve" d="{path}"/>"#);
    let x = x_of(threshold);
    let _ = write!(
        out,
        r#"<line class="mark" x1="{x:.1}" x2="{x:.1}" y1="{TOP}" y2="{:.1}"/>"#,
        HEIGHT - BOTTOM
    );
    end(out, axis)
}

fn end(mut out: String, axis: &str) -> String {
    let _ = write!(
        out,
        r#"<text class="axis" x="{:.1}" y="{:.1}" text-anchor="middle">{}</text></svg>"#,
        f64::midpoint(LEFT, WIDTH - RIGHT),
        HEIGHT - 4.0,
        escaped(axis)
    );
    out
}

fn short(number: f64) -> String {
    match number {
        n if n >= 1e9 => format!("{:.0}G", n / 1e9),
        n if n >= 1e6 => format!("{:.0}M", n / 1e6),
        n if n >= 1e3 => format!("{:.0}k", n / 1e3),
        n => format!("{n:.0}"),
    }
}

/// A row of a time line: a name and when it was captured, in seconds since 1970.
pub(super) struct Life {
    pub(super) name: String,
    pub(super) captures: Vec<(i64, String)>,
}

const ROW: f64 = 20.0;
const LINE_WIDTH: f64 = 900.0;
const NAMES: f64 = 300.0;

/// Captures along time, a row for each document; nothing where no date is known.
pub(super) fn time_line(lives: &[Life]) -> Option<String> {
    let all = || lives.iter().flat_map(|life| &life.captures);
    let (first, last) = (all().min()?, all().max()?);
    let (from, to) = (first.0, last.0.max(first.0 + 1));
    let x_of = |date: i64| {
        NAMES + 20.0 + (date - from) as f64 / (to - from) as f64 * (LINE_WIDTH - NAMES - 40.0)
    };
    let height = ROW * lives.len() as f64 + 30.0;
    let mut out = format!(
        r#"<svg class="plot timeline" viewBox="0 0 {LINE_WIDTH} {height}" role="img" aria-label="Captures along time, from {} to {}">"#,
        escaped(&first.1),
        escaped(&last.1)
    );
    for (i, life) in lives.iter().enumerate() {
        let y = ROW * i as f64 + 14.0;
        let _ = write!(
            out,
            r#"<text class="tick" x="0" y="{:.1}">{}</text><line class="grid" x1="{NAMES}" x2="{LINE_WIDTH}" y1="{y:.1}" y2="{y:.1}"/>"#,
            y + 4.0,
            escaped(&words::excerpt(&life.name, 44))
        );
        for (date, shown) in &life.captures {
            let _ = write!(
                out,
                r#"<circle class="dot" cx="{:.1}" cy="{y:.1}" r="5"><title>{}</title></circle>"#,
                x_of(*date),
                escaped(shown)
            );
        }
    }
    let y = height - 8.0;
    let day = |date: &str| escaped(date.get(..10).unwrap_or(date));
    let _ = write!(
        out,
        r#"<text class="axis" x="{:.1}" y="{y}">{}</text>"#,
        NAMES + 10.0,
        day(&first.1)
    );
    if first.0 != last.0 {
        let _ = write!(
            out,
            r#"<text class="axis" x="{LINE_WIDTH}" y="{y}" text-anchor="end">{}</text>"#,
            day(&last.1)
        );
    }
    out.push_str("</svg>");
    Some(out)
}
