//! CPU time of this process and of its children, in nanoseconds.
//!
//! From the kernel's `schedstat`, which counts what a thread ran, in user and kernel mode,
//! and does not grow while others have the core. (`getrusage` counts clock ticks on some
//! kernels, and the standard library does not have it.)

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::fs;
use std::process::{Command, Stdio};

/// CPU nanoseconds of the calling thread so far.
///
/// # Panics
///
/// On a system without `/proc/thread-self/schedstat`.
pub fn now() -> u64 {
    read("/proc/thread-self/schedstat").expect("Linux keeps schedstat")
}

fn read(path: &str) -> Result<u64> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read `{path}`"))?;
    let first = text.split_whitespace().next();
    first
        .and_then(|number| number.parse().ok())
        .with_context(|| format!("`{path}` holds no number"))
}

/// CPU seconds of one call.
pub fn time<T>(work: impl FnOnce() -> T) -> f64 {
    let start = now();
    std::hint::black_box(work());
    (now() - start) as f64 / 1e9
}

/// CPU seconds of a command, its output thrown away.
pub fn time_child(command: &mut Command) -> Result<f64> {
    let mut child = command.stdout(Stdio::null()).spawn()?;
    let pid = i32::try_from(child.id())?;
    let pid = Pid::from_raw(pid).context("a child has a number")?;
    // Left waiting after its end, it still has its times.
    waitid(
        WaitId::Pid(pid),
        WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
    )?;
    let spent = read(&format!("/proc/{}/schedstat", child.id()))?;
    if !child.wait()?.success() {
        bail!("{command:?} failed");
    }
    Ok(spent as f64 / 1e9)
}

/// CPU seconds of this process so far, of all its threads, to a hundredth.
pub fn process() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The name of the program stands in parentheses, whatever is in it.
    let (_, fields) = stat.rsplit_once(')').context("Linux keeps stat")?;
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.map(|ticks| ticks.parse().unwrap_or(0_u64)).sum();
    // Linux counts hundredths for programs, however often its own clock ticks.
    Ok(ticks as f64 / 100.0)
}

/// The most memory this process has held so far, in bytes.
pub fn peak_memory() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let mut lines = status.lines().filter_map(|l| l.strip_prefix("VmHWM:"));
    let line = lines.next().context("Linux keeps VmHWM")?;
    let number = line.trim().trim_end_matches(" kB").trim();
    Ok(number.parse::<u64>()? * 1024)
}

/// The processor, as it names itself.
pub fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let mut lines = info.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(key, _)| key.trim() == name);
        found.map_or("?", |(_, value)| value.trim())
    };
    format!(
        "{} (family {}, model {})",
        field("model name"),
        field("cpu family"),
        field("model")
    )
}
