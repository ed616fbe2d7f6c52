//! Standard output, and tables for it.

use std::fmt::Write;
use std::io::{self, BufWriter};

use anstream::AutoStream;
pub(crate) use lookalike_server::words::{amount, bytes, count, counted, excerpt, percent};

/// Standard output: buffered, and coloured only where a terminal will show it.
pub(crate) fn stdout() -> BufWriter<AutoStream<io::StdoutLock<'static>>> {
    BufWriter::new(AutoStream::auto(io::stdout().lock()))
}

/// Rows of cells, each column as wide as its widest; all but the first to the right.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (i, cell) in row.iter().enumerate() {
            let width = width(i);
            let _ = if i == 0 {
                write!(line, "{cell:<width$}")
            } else {
                write!(line, "   {cell:>width$}")
            };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
