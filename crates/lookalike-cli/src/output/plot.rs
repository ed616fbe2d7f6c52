//! Acceptance curves as SVG: one file, no script, nothing fetched.
//!
//! Linear: one panel. Logarithmic: two, one for each tail, as in the slides.

use std::fmt::Write;

use lookalike::core::acceptance::Filter;

/// A filter and what to call it.
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) filter: Filter,
}

/// How the probability is drawn.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum Scale {
    Linear,
    Log,
}

/// Colours that stay apart for most eyes (Okabe and Ito's), light and dark ground alike.
const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999",
];

/// Dashes, so that colour is not all there is to tell curves apart.
const DASHES: [&str; 4] = ["", "8 4", "2 3", "10 3 2 3"];

const WIDTH: f64 = 760.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 46.0;
const PANEL: f64 = 340.0;
/// Below a panel: the numbers and the name of its axis.
const BELOW: f64 = 86.0;
const LEGEND_ROW: f64 = 22.0;
/// The smallest probability of a logarithmic panel, as a power of ten.
const DECADES: i32 = 12;
/// Steps along the axis: one for every pixel and a half or so.
const STEPS: u32 = 440;

#[derive(Clone, Copy)]
enum Panel {
    Accept,
    LogAccept,
    LogReject,
}

impl Panel {
    fn title(self) -> &'static str {
        match self {
            Panel::Accept => "Probability of acceptance",
            Panel::LogAccept => "Probability of acceptance, logarithmic",
            Panel::LogReject => "Probability of rejection, logarithmic",
        }
    }

    /// The share of the panel's height, 0 at the bottom. Below a logarithmic panel is
    /// nothing to draw.
    fn height(self, filter: Filter, rho: f64) -> Option<f64> {
        let odds = filter.odds(rho);
        let log = |chance: f64| {
            let height = 1.0 + chance.log10() / f64::from(DECADES);
            (height >= 0.0).then_some(height)
        };
        match self {
            Panel::Accept => Some(odds.accept),
            Panel::LogAccept => log(odds.accept),
            Panel::LogReject => log(odds.reject),
        }
    }

    /// Where the horizontal lines are, and what they are called.
    fn grid(self) -> Vec<(f64, String)> {
        match self {
            Panel::Accept => (0..=5)
                .map(|i| (f64::from(i) / 5.0, format!("{} %", 20 * i)))
                .collect(),
            Panel::LogAccept | Panel::LogReject => (0..=DECADES)
                .step_by(2)
                .map(|i| {
                    let name = if i == 0 {
                        "1".to_owned()
                    } else {
                        format!("1e-{i}")
                    };
                    (1.0 - f64::from(i) / f64::from(DECADES), name)
                })
                .collect(),
        }
    }
}

/// Draws the curves.
pub(crate) fn draw(curves: &[Curve], scale: Scale) -> String {
    let panels: &[Panel] = match scale {
        Scale::Linear => &[Panel::Accept],
        Scale::Log => &[Panel::LogAccept, Panel::LogReject],
    };
    let mut y = TOP;
    let mut body = String::new();
    for &panel in panels {
        draw_panel(&mut body, panel, curves, y);
        y += PANEL + BELOW;
    }
    for (i, curve) in curves.iter().enumerate() {
        let row = y + LEGEND_ROW * (i / 2) as f64;
        let x = LEFT + 340.0 * (i % 2) as f64;
        let _ = writeln!(
            body,
            r#"<path d="M{x} {row}h36" {}/><text x="{}" y="{}">{}</text>"#,
            stroke(i),
            x + 46.0,
            row + 4.5,
            escaped(&curve.name)
        );
    }
    let height = y + LEGEND_ROW * curves.len().div_ceil(2) as f64 + 6.0;
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" aria-label="Acceptance curves">
<style>
svg {{ background: #fff; font: 13px system-ui, sans-serif; }}
text {{ fill: #222; }} .title {{ font-weight: 600; font-size: 15px; }}
.grid {{ stroke: #ddd; }} .axis {{ stroke: #444; fill: none; }}
.curve {{ fill: none; stroke-width: 2; stroke-linejoin: round; }}
@media (prefers-color-scheme: dark) {{
svg {{ background: #16181c; }} text {{ fill: #ddd; }} .grid {{ stroke: #333840; }} .axis {{ stroke: #aaa; }}
}}
</style>
{body}</svg>
"#
    )
}

fn draw_panel(out: &mut String, panel: Panel, curves: &[Curve], top: f64) {
    let width = WIDTH - LEFT - RIGHT;
    let (x_of, y_of) = (
        |rho: f64| LEFT + rho * width,
        |height: f64| top + (1.0 - height) * PANEL,
    );
    let _ = writeln!(
        out,
        r#"<text class="title" x="{LEFT}" y="{}">{}</text>"#,
        top - 16.0,
        panel.title()
    );
    for (height, name) in panel.grid() {
        let y = y_of(height);
        let _ = writeln!(
            out,
            r#"<path class="grid" d="M{LEFT} {y:.1}h{width}"/><text x="{}" y="{:.1}" text-anchor="end">{name}</text>"#,
            LEFT - 8.0,
            y + 4.5
        );
    }
    for i in 0..=10 {
        let x = x_of(f64::from(i) / 10.0);
        let _ = writeln!(
            out,
            r#"<path class="grid" d="M{x:.1} {top}v{PANEL}"/><text x="{x:.1}" y="{}" text-anchor="middle">{} %</text>"#,
            top + PANEL + 18.0,
            10 * i
        );
    }
    let _ = writeln!(
        out,
        r#"<path class="axis" d="M{LEFT} {top}v{PANEL}h{width}"/><text x="{}" y="{}" text-anchor="middle">resemblance</text>"#,
        LEFT + width / 2.0,
        top + PANEL + 38.0
    );
    for (i, curve) in curves.iter().enumerate() {
        let mut path = String::new();
        let mut is_drawing = false;
        for step in 0..=STEPS {
            let rho = f64::from(step) / f64::from(STEPS);
            let Some(height) = panel.height(curve.filter, rho) else {
                is_drawing = false;
                continue;
            };
            let letter = if is_drawing { 'L' } else { 'M' };
            is_drawing = true;
            let _ = write!(path, "{letter}{:.1} {:.1}", x_of(rho), y_of(height));
        }
        let _ = writeln!(out, r#"<path d="{path}" {}/>"#, stroke(i));
    }
}

fn stroke(curve: usize) -> String {
    let colour = COLOURS[curve % COLOURS.len()];
    let dash = match DASHES[curve % DASHES.len()] {
        "" => String::new(),
        dash => format!(r#" stroke-dasharray="{dash}""#),
    };
    format!(r#"class="curve" stroke="{colour}"{dash}"#)
}

fn escaped(text: &str) -> String {
    lookalike_server::sides::escaped(text)
}
