//! What a child process cost: CPU time and peak memory, with all that it started.
//!
//! ```text
//! Command ─► spawn ─► wait4 ─► user + system seconds, largest resident set
//! ```
//!
//! The kernel counts memory from the fork on, so the caller must itself be small: a child
//! begins with its parent's pages.

use anyhow::{Context, Result, bail};
use std::io::Read;
use std::process::{Child, Command, Stdio};

/// What it took.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// User and system time, of its own children too.
    pub cpu_seconds: f64,
    /// The largest resident set of any one of them, in bytes.
    pub peak_memory: u64,
}

/// Runs a command to its end; its standard output and its cost.
pub fn run(command: &mut Command) -> Result<(String, Cost)> {
    let child = command.stdout(Stdio::piped()).spawn();
    finish(child.with_context(|| format!("cannot run {command:?}"))?)
        .with_context(|| format!("{command:?}"))
}

/// Reads a running child's standard output, if it is a pipe, and waits for its end.
pub fn finish(mut child: Child) -> Result<(String, Cost)> {
    let mut output = String::new();
    if let Some(mut pipe) = child.stdout.take() {
        pipe.read_to_string(&mut output)?;
    }
    let (status, cost) = wait(i32::try_from(child.id())?)?;
    if status != 0 {
        bail!("ended with wait status {status:#x}");
    }
    Ok((output, cost))
}

#[expect(unsafe_code, reason = "the standard library waits without the costs")]
fn wait(pid: i32) -> Result<(i32, Cost)> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to live locals of the types that wait4 writes.
        let ended = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
        if ended == pid {
            break;
        }
        let why = std::io::Error::last_os_error();
        if why.kind() != std::io::ErrorKind::Interrupted {
            return Err(why.into());
        }
    }
    // SAFETY: zeroed is a valid rusage, and wait4 has filled it.
    let usage = unsafe { usage.assume_init() };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let cost = Cost {
        cpu_seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        peak_memory: u64::try_from(usage.ru_maxrss)? * 1024,
    };
    Ok((status, cost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_child_costs_time_and_a_failing_one_is_an_error() {
        let mut busy = Command::new("sh");
        busy.args([
            "-c",
            "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo $i",
        ]);
        let (output, cost) = run(&mut busy).expect("a shell");
        assert_eq!(output, "200000\n");
        assert!(
            cost.cpu_seconds > 0.0 && cost.peak_memory > 100_000,
            "{cost:?}"
        );
        assert!(run(Command::new("sh").args(["-c", "exit 3"])).is_err());
    }
}
