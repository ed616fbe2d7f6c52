//! What speaks for every place where a page may be that vanished, on a site whose moves are
//! known: the table that the confidence of `where` was fitted to.
//!
//! ```text
//! calibrate ../shared/corpora/sweeps-kubernetes > evidence.tsv
//! ```

use anyhow::{Context, Result};
use lookalike_benchmarks::lost;

fn main() -> Result<()> {
    let site = std::env::args_os().nth(1);
    let site = site.context("give the folder of a site")?;
    println!(
        "from\tpage\tis_recorded\tplace\tresemblance\theld\town\trare_resemblance\trare_held\trare_own\trare_other\theld_before\tis_new\taddress"
    );
    for (page, places) in lost::traced(site.as_ref())? {
        for (place, e) in places {
            let shares = [
                e.resemblance,
                e.held,
                e.own,
                e.rare_resemblance,
                e.rare_held,
                e.rare_own,
                e.rare_other,
                e.held_before,
                f64::from(u8::from(e.is_new)),
                e.address,
            ];
            let shares = shares.map(|share| format!("{share:.4}")).join("\t");
            let is_recorded = u8::from(page.recorded.as_ref() == Some(&place));
            println!(
                "{}\t{}\t{is_recorded}\t{place}\t{shares}",
                page.from, page.url
            );
        }
    }
    Ok(())
}
