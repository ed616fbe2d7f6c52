//! What long work shows while it goes on: a bar on a terminal, plain lines elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lookalike::add::Event;

use crate::args::Global;
use crate::output::text;
use crate::output::times::Stopwatch;

/// Rejects that are named before only their number is.
const NAMED: u64 = 20;

/// How often a plain line may come.
const EVERY: Duration = Duration::from_secs(10);

/// Shows how far a sweep has come, and takes the time of its phases.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    is_quiet: bool,
    /// Whether a line tells the time of each phase.
    tells_phases: bool,
    phase: Option<(&'static str, Stopwatch)>,
    copied: u64,
    done: Vec<(&'static str, f64, f64)>,
    rejected: u64,
    last: Instant,
}

impl Progress {
    pub(crate) fn new(global: Global) -> Progress {
        let shows_bar = !global.quiet && io::stderr().is_terminal();
        let bar = shows_bar.then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Progress {
            bar,
            is_quiet: global.quiet,
            tells_phases: true,
            phase: None,
            copied: 0,
            done: Vec::new(),
            rejected: 0,
            last: Instant::now(),
        }
    }

    /// Shows a bar on a terminal, and nothing elsewhere.
    pub(crate) fn bar_only(global: Global) -> Progress {
        let progress = Progress::new(global);
        Progress {
            is_quiet: progress.bar.is_none(),
            tells_phases: false,
            ..progress
        }
    }

    pub(crate) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Phase(phase) => self.begin(phase.name()),
            Event::Read { records, bytes, of } => self.read(*records, *bytes, *of),
            Event::Refused { input, refused } if refused.is_rejected => {
                self.rejected += 1;
                if self.rejected <= NAMED {
                    self.say(&format!("rejected: {input}, {refused}"));
                }
            }
            Event::Resumed { records } => {
                let records = text::count(*records);
                self.say(&format!(
                    "going on after {records} records that were done before"
                ));
            }
            _ => {}
        }
    }

    fn begin(&mut self, phase: &'static str) {
        self.end_phase();
        self.phase = Some((phase, Stopwatch::start()));
        match &self.bar {
            Some(bar) => {
                let style = ProgressStyle::with_template("{spinner} {prefix:10} {msg}");
                if let Ok(style) = style {
                    bar.set_style(style);
                }
                bar.set_prefix(phase);
                bar.set_message("");
            }
            None => self.last = Instant::now(),
        }
    }

    fn read(&mut self, records: u64, bytes: u64, of: u64) {
        let records = text::count(records);
        if let Some(bar) = &self.bar {
            if of > 0 && bar.length() != Some(of) {
                let template =
                    "{spinner} {prefix:10} {wide_bar} {msg}, {bytes_per_sec}, {eta} left";
                if let Ok(style) = ProgressStyle::with_template(template) {
                    bar.set_style(style);
                }
                bar.set_length(of);
            }
            bar.set_position(bytes);
            bar.set_message(format!("{records} records"));
        } else if self.last.elapsed() >= EVERY {
            self.last = Instant::now();
            let of = if of > 0 {
                format!(", {} of {}", text::bytes(bytes), text::bytes(of))
            } else {
                String::new()
            };
            self.say(&format!("sketch: {records} records{of}"));
        }
    }

    /// Copies of inputs with so many bytes are made.
    pub(crate) fn begin_copies(&mut self, bytes: u64) {
        self.begin("copies of the inputs");
        if let Some(bar) = &self.bar {
            let template = "{spinner} {prefix} {wide_bar} {bytes_per_sec}, {eta} left";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.set_position(0);
            bar.set_length(bytes);
        }
        self.copied = 0;
    }

    /// One of them is made.
    pub(crate) fn copied(&mut self, bytes: u64) {
        self.copied += bytes;
        if let Some(bar) = &self.bar {
            bar.set_position(self.copied);
        }
    }

    fn say(&self, line: &str) {
        if self.is_quiet {
            return;
        }
        match &self.bar {
            Some(bar) => bar.println(line),
            None => {
                let _ = writeln!(io::stderr(), "{line}");
            }
        }
    }

    fn end_phase(&mut self) {
        if let Some((phase, watch)) = self.phase.take() {
            let (wall, cpu) = (watch.wall(), watch.cpu());
            self.done.push((phase, wall, cpu));
            if !self.tells_phases {
                return;
            }
            self.say(&format!(
                "{phase}: {wall:.1} s ({cpu:.1} s of processor time)"
            ));
        }
    }

    /// All is done: the phases with their wall-clock and processor time.
    pub(crate) fn finish(mut self) -> Vec<(&'static str, f64, f64)> {
        self.end_phase();
        if self.rejected > NAMED {
            let more = text::count(self.rejected - NAMED);
            self.say(&format!("rejected: {more} more"));
        }
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        self.done
    }
}
