//! Evidence of `where` on a site whose moves are known, as a table.
use anyhow::Result;
use lookalike_benchmarks::lost;

fn main() -> Result<()> {
    let site = std::env::args_os().nth(1).expect("a site");
    for (page, said) in lost::traced(site.as_ref())? {
        for (url, e) in said {
            println!(
                "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
                page.from,
                page.url,
                url,
                e.resemblance,
                e.held,
                e.own,
                e.rare_resemblance,
                e.rare_held,
                e.rare_own,
                e.rare_other,
                e.held_before,
                u8::from(e.is_new),
                e.address
            );
        }
    }
    Ok(())
}
