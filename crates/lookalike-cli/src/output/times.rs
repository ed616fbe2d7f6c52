//! How long phases took and how much memory there was: asked of the system, and kept
//! beside a collection, not in its files, which are the same whatever the machine.

use std::path::Path;
use std::time::Instant;

use serde_json::{Map, Value, json};

/// The attribute of a collection's folder that holds the times.
const ATTRIBUTE: &str = "user.lookalike.seconds";

/// Processor time of this process so far, all threads together.
pub(crate) fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The most memory this process has had.
pub(crate) fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    kilobytes.unwrap_or(0_u64) * 1024
}

/// Wall-clock and processor time since some moment.
pub(crate) struct Stopwatch {
    wall: Instant,
    cpu: f64,
}

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch {
            wall: Instant::now(),
            cpu: cpu_seconds(),
        }
    }

    pub(crate) fn wall(&self) -> f64 {
        round(self.wall.elapsed().as_secs_f64())
    }

    pub(crate) fn cpu(&self) -> f64 {
        round(cpu_seconds() - self.cpu)
    }
}

fn round(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

/// Notes on a collection's folder how long a command took, phase by phase. Where the
/// file system keeps no such notes, there are none.
pub(crate) fn record(folder: &Path, command: &str, phases: &[(&'static str, f64, f64)]) {
    let mut all = read(folder);
    let mut times = Map::new();
    for (phase, wall, cpu) in phases {
        times.insert((*phase).to_owned(), json!({ "wall": wall, "cpu": cpu }));
    }
    all.insert(command.to_owned(), Value::Object(times));
    let text = Value::Object(all).to_string();
    let flags = rustix::fs::XattrFlags::empty();
    let _ = rustix::fs::setxattr(folder, ATTRIBUTE, text.as_bytes(), flags);
}

/// How long the last commands took: command, phase, wall and cpu.
pub(crate) fn read(folder: &Path) -> Map<String, Value> {
    let mut buffer = vec![0; 4096];
    let Ok(len) = rustix::fs::getxattr(folder, ATTRIBUTE, &mut buffer[..]) else {
        return Map::new();
    };
    match serde_json::from_slice(&buffer[..len]) {
        Ok(Value::Object(all)) => all,
        _ => Map::new(),
    }
}
