//! `lookalike demo`: the tour that `make demo` shows, from the program alone.

use std::env;
use std::fs;
use std::path::Path;
use std::process;

use clap::Args;

use crate::failure::{Exit, Failure, Stop};

/// Show what lookalike does, on bills and a small crawl that are part of the program
#[derive(Args)]
#[command(after_help = "\
Example:
  lookalike demo")]
pub(crate) struct DemoArgs {}

/// The files of the tour, by their places in `demo`.
macro_rules! files {
    ($($name:literal,)*) => {
        [$(($name, include_bytes!(concat!("../../../../demo/", $name)).as_slice()),)*]
    };
}

const FILES: [(&str, &[u8]); 31] = files![
    "tour.sh",
    "crawl/2020-09-24.warc.gz",
    "crawl/2022-05-12.warc.gz",
    "crawl/2024-09-26.warc.gz",
    "bills/116hr2000ih.htm",
    "bills/116hr2001ih.htm",
    "bills/116hr2002eh.htm",
    "bills/116hr2002ih.htm",
    "bills/116hr2002rfs.htm",
    "bills/116hr2003ih.htm",
    "bills/116hr2004ih.htm",
    "bills/116hr2005ih.htm",
    "bills/116hr2006ih.htm",
    "bills/116hr2007ih.htm",
    "bills/116hr2008ih.htm",
    "bills/116hr2009ih.htm",
    "bills/116hr200ih.htm",
    "bills/117hr2000ih.htm",
    "bills/117hr2001ih.htm",
    "bills/117hr2002ih.htm",
    "bills/117hr2003ih.htm",
    "bills/117hr2004ih.htm",
    "bills/117hr2005ih.htm",
    "bills/117hr2006ih.htm",
    "bills/117hr2007ih.htm",
    "bills/117hr2008eh.htm",
    "bills/117hr2008ih.htm",
    "bills/117hr2008rfs.htm",
    "bills/117hr2008rh.htm",
    "bills/117hr2009ih.htm",
    "bills/117hr200ih.htm",
];

impl DemoArgs {
    pub(crate) fn run(self) -> Result<Exit, Stop> {
        let DemoArgs {} = self;
        let folder = tempfile::Builder::new()
            .prefix("lookalike-tour-")
            .tempdir()?;
        for (name, bytes) in FILES {
            let place = folder.path().join(name);
            fs::create_dir_all(place.parent().unwrap_or(folder.path()))?;
            fs::write(place, bytes)?;
        }
        let ended = toured(folder.path())?;
        if ended.success() {
            return Ok(Exit::Done);
        }
        Err(Failure {
            exit: Exit::Machine,
            message: format!("the tour stopped: {ended}"),
            hint: "what it says last tells why".to_owned(),
        }
        .into())
    }
}

fn toured(folder: &Path) -> Result<process::ExitStatus, Stop> {
    let ended = process::Command::new("sh")
        .arg(folder.join("tour.sh"))
        .arg(env::current_exe()?)
        .status()?;
    Ok(ended)
}
