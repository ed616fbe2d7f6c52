//! Lists of a hundred results, collapsed over HTTP.
//!
//! ```text
//! sweeps ─► collection ─► lookalike serve ◄─► POST /api/v1/collapse, one connection
//! ```
//!
//! `collapse CLI SITE`: the program, and a folder with `sweeps/`. Prints one table.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use lookalike_benchmarks::collapsing::{RESULTS, collection, ranked_lists};

/// How often each list is sent.
const TIMES: usize = 50;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let cli = args.next().context("the program is the first argument")?;
    let site = args.next().context("the site is the second argument")?;
    let (finder, folder) = collection(Path::new(&site))?;
    let lists = ranked_lists(&finder)?;
    let documents = finder.collection().documents();
    drop(finder);
    let mut child = Command::new(cli)
        .args(["serve", "--listen", "127.0.0.1:0", "--json"])
        .arg(folder.path().join("c.lk"))
        .stdout(Stdio::piped())
        .spawn()?;
    let measured = measure(&mut child, &lists);
    child.kill()?;
    child.wait()?;
    let mut times = measured?;
    times.sort_by(f64::total_cmp);
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a place in a list"
        )]
        let place = (share * (times.len() - 1) as f64).round() as usize;
        times[place]
    };
    println!(
        "{documents} documents, {} requests of {RESULTS} results",
        times.len()
    );
    println!(
        "median {:.2} ms, p99 {:.2} ms, worst {:.2} ms",
        at(0.5),
        at(0.99),
        at(1.0)
    );
    Ok(())
}

fn measure(child: &mut std::process::Child, lists: &[(String, Vec<String>)]) -> Result<Vec<f64>> {
    let out = child.stdout.take().context("a pipe")?;
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line)?;
    let said: serde_json::Value = serde_json::from_str(&line)?;
    let address = said["listening"].as_str();
    let address = address.context("it says where it listens")?;
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut answers = BufReader::new(stream.try_clone()?);
    let mut times = Vec::new();
    for _ in 0..TIMES {
        for (_, urls) in lists {
            let results: Vec<_> = urls
                .iter()
                .map(|url| serde_json::json!({ "url": url }))
                .collect();
            let body = serde_json::json!({ "results": results }).to_string();
            let request = format!(
                "POST /api/v1/collapse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            let begin = Instant::now();
            stream.write_all(request.as_bytes())?;
            let answer = answer(&mut answers)?;
            times.push(begin.elapsed().as_secs_f64() * 1000.0);
            ensure!(answer.starts_with(br#"{"generation""#), "no answer");
        }
    }
    Ok(times)
}

fn answer(from: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        from.read_line(&mut line)?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(body)
}
