//! `lookalike serve COLLECTION`: the HTTP service and the web page.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use lookalike::corpus::unusable::shown;
use lookalike::find::FindError;
use lookalike_server::{Options, ServeError, serve};
use serde_json::json;

use crate::args::{Global, KeyArgs, size};
use crate::commands::add::processors;
use crate::failure::{Exit, Failure, Stop};
use crate::output::text;

/// Serve a collection: a JSON API and a web page
///
/// The page is at the address it prints, the API under /api/v1/, described by
/// /api/openapi.json; /found/URL leads to where a page is now. Clients of web archives find
/// Memento and CDX servers under /archive/ and the name of the collection's folder. New
/// sweeps are seen without a restart. Addresses other than loopback need a token, which clients send as
/// `Authorization: Bearer TOKEN` and browsers ask for as a password.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike serve crawl.lk
  lookalike serve crawl.lk --listen 0.0.0.0:8080 --token-file token --host docs.example.org
  curl --data-binary @page.html -H 'Content-Type: text/html' localhost:8080/api/v1/find")]
pub(crate) struct ServeArgs {
    /// The collection
    collection: PathBuf,

    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    /// What clients must show
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    token: Option<String>,

    /// The same from a file, where other users of the machine do not see it
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Answer to this name too (for a proxy, or a name of this machine)
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,

    /// Threads that answer [default: one a processor]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// The longest body, decoded
    #[arg(long, value_name = "BYTES", default_value = "16M", value_parser = size)]
    max_body: u64,

    /// Offer full-text search; the collection needs an index (`lookalike index`)
    #[arg(long)]
    search: bool,

    #[command(flatten)]
    key: KeyArgs,
}

impl ServeArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        let token = self.token()?;
        let options = Options {
            listen: self.listen,
            token,
            hosts: self.host.clone(),
            threads: self.threads.unwrap_or_else(processors),
            max_body: usize::try_from(self.max_body).unwrap_or(usize::MAX),
            key: self.key.key()?,
            search: self.search,
        };
        let ready = |address: SocketAddr| {
            let mut out = text::stdout();
            let line = if global.json {
                json!({ "listening": address.to_string() }).to_string()
            } else {
                format!("http://{address}/")
            };
            // Whoever does not want to know is served all the same.
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
            if !global.quiet && std::io::stderr().is_terminal() {
                eprintln!("Ctrl-C ends it");
            }
        };
        serve(&self.collection, &options, ready).map_err(|error| self.failure(error))?;
        Ok(Exit::Done)
    }

    fn token(&self) -> Result<Option<String>, Failure> {
        let token = match &self.token_file {
            None => self.token.clone(),
            Some(path) => {
                let read = std::fs::read_to_string(path).map_err(|error| {
                    Failure::usage(
                        format!("cannot read the token in `{}`: {error}", shown(path)),
                        "give a file with one line",
                    )
                })?;
                Some(read.trim().to_owned())
            }
        };
        match token {
            Some(token) if token.is_empty() => Err(Failure::usage(
                "the token is empty",
                "give one that nobody guesses, such as 32 random letters",
            )),
            token => Ok(token),
        }
    }

    fn failure(&self, error: ServeError) -> Failure {
        use std::error::Error;
        match error {
            ServeError::Collection(FindError::Collection(error)) => {
                Failure::from_collection(&self.collection, &error)
            }
            ServeError::Collection(FindError::Recipe(fault)) => {
                Failure::from_recipe(&self.collection, &fault)
            }
            ServeError::Search(error) => crate::commands::search::failure(&self.collection, error),
            ServeError::NeedsToken(_) => Failure::usage(
                error.to_string(),
                "give one with --token-file, or listen on 127.0.0.1",
            ),
            other => {
                let cause = other
                    .source()
                    .map_or_else(String::new, |e| format!(": {e}"));
                Failure {
                    exit: Exit::Machine,
                    message: format!("{other}{cause}"),
                    hint: "--listen 127.0.0.1:0 takes a free port".to_owned(),
                }
            }
        }
    }
}
