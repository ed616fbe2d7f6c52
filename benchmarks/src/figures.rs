//! Figures with their targets: one table, and whether all are met.

/// What a figure must be.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// Exactly this, to the digits shown.
    Is(f64),
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
    /// Between these.
    Within(f64, f64),
    /// Told for the reader, not judged.
    None,
}

impl Target {
    fn met(self, value: f64) -> bool {
        match self {
            Target::Is(target) => (value - target).abs() < 5e-7,
            Target::AtMost(most) => value <= most,
            Target::AtLeast(least) => value >= least,
            Target::Within(low, high) => (low..=high).contains(&value),
            Target::None => true,
        }
    }
}

/// The table in the making.
#[derive(Default)]
pub struct Figures {
    failed: Vec<String>,
    judged: usize,
    /// What was printed.
    table: String,
}

impl Figures {
    /// An empty table, its head already printed: figures are printed as they come.
    pub fn begin() -> Figures {
        let mut figures = Figures::default();
        figures.print("| figure | measured | target | |");
        figures.print("|---|--:|--:|---|");
        figures
    }

    fn print(&mut self, line: &str) {
        println!("{line}");
        self.table.push_str(line);
        self.table.push('\n');
    }

    /// All that was printed so far.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// A figure shown as it is, with `digits` after the point.
    pub fn number(&mut self, name: &str, value: f64, digits: usize, target: Target) {
        let show = |x: f64| format!("{x:.digits$}");
        self.row(name, &show(value), value, target, &show);
    }

    /// A share, shown in per cent.
    pub fn share(&mut self, name: &str, value: f64, target: Target) {
        let show = |x: f64| format!("{:.2} %", 100.0 * x);
        self.row(name, &show(value), value, target, &show);
    }

    /// A count.
    pub fn count(&mut self, name: &str, value: usize, target: Target) {
        self.number(name, value as f64, 0, target);
    }

    /// Several numbers for the reader, none of them judged.
    pub fn note(&mut self, name: &str, text: &str) {
        self.print(&format!("| {name} | {text} | | |"));
    }

    /// Something that could not be measured at all.
    pub fn missing(&mut self, name: &str, why: &str, allowed: bool) {
        self.judged += usize::from(!allowed);
        if !allowed {
            self.failed.push(name.to_owned());
        }
        let verdict = if allowed { "skipped" } else { "**FAIL**" };
        self.print(&format!("| {name} | {why} | | {verdict} |"));
    }

    fn row(
        &mut self,
        name: &str,
        shown: &str,
        value: f64,
        target: Target,
        show: &dyn Fn(f64) -> String,
    ) {
        let wanted = match target {
            Target::Is(x) => show(x),
            Target::AtMost(x) => format!("≤ {}", show(x)),
            Target::AtLeast(x) => format!("≥ {}", show(x)),
            Target::Within(x, y) => format!("{} to {}", show(x), show(y)),
            Target::None => String::new(),
        };
        let verdict = match target {
            Target::None => "",
            _ if target.met(value) => "ok",
            _ => "**FAIL**",
        };
        self.judged += usize::from(!verdict.is_empty());
        if verdict == "**FAIL**" {
            self.failed.push(name.to_owned());
        }
        self.print(&format!("| {name} | {shown} | {wanted} | {verdict} |"));
    }

    /// Says how it went; true when every target was met.
    pub fn end(self) -> bool {
        println!();
        println!(
            "{} of {} targets met.",
            self.judged - self.failed.len(),
            self.judged
        );
        for name in &self.failed {
            println!("- missed: {name}");
        }
        self.failed.is_empty()
    }
}
