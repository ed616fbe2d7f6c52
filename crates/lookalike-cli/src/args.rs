//! The command line as typed.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, CommandFactory, Parser, Subcommand};
use lookalike::core::canonical::{Case, TokenKind};
use lookalike::core::recipe::{DEFAULT_SEED, MOST_SAMPLES, Recipe, SketchKind};
use lookalike::core::seed::{Key, Seed};
use lookalike::core::shingle::{Shingling, Width};
use lookalike::corpus::document::Format;
use lookalike::corpus::unusable::shown;

use crate::commands::compare::CompareArgs;
use crate::commands::curve::CurveArgs;
use crate::commands::scan::ScanArgs;
use crate::commands::sketch::SketchArgs;
use crate::failure::{Exit, Failure};

/// Near-duplicate documents: which are roughly the same, which are roughly contained in another.
#[derive(Parser)]
#[command(name = "lookalike", version, max_term_width = 100)]
#[command(after_help = "\
Example: the groups of near-duplicates among some files
  lookalike scan docs/

Exit status: 0 done, 2 usage, 3 done but something could not be read,
4 nothing usable in the input, 5 a damaged file, 6 an input or output error.
LOOKALIKE_SIMD=portable|avx2|avx512 chooses the instructions; the answers are the same.")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,

    #[command(flatten)]
    pub(crate) global: Global,
}

impl Args {
    /// Whether there is a command of that name.
    pub(crate) fn has_command(name: &str) -> bool {
        Args::command().find_subcommand(name).is_some()
    }
}

/// What every command takes.
#[derive(ClapArgs, Clone, Copy)]
pub(crate) struct Global {
    /// Write JSON: one object, or one a line
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Say nothing but the answer and errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Scan(ScanArgs),
    Compare(CompareArgs),
    Sketch(SketchArgs),
    Curve(CurveArgs),
}

/// How a file becomes shingles.
#[derive(ClapArgs, Clone)]
#[command(next_help_heading = "Tokens and shingles")]
pub(crate) struct ShingleArgs {
    /// What a token is: word, char, line, byte (of the text as UTF-8), or feature (your
    /// own: one a line, or JSON {"features":[…]})
    #[arg(long, value_name = "KIND", default_value_t)]
    pub(crate) token: TokenKind,

    /// How many tokens make a shingle [default: 10, for features 1]
    #[arg(long, value_name = "W", value_parser = width, allow_negative_numbers = true)]
    pub(crate) shingle: Option<Width>,

    /// Number the occurrences of a shingle, so that repetitions count
    #[arg(long)]
    pub(crate) labelled: bool,

    /// Tell capitals from small letters
    #[arg(long)]
    pub(crate) keep_case: bool,

    /// What the input is: auto, html or text
    #[arg(long, value_name = "FORMAT", default_value_t)]
    pub(crate) format: Format,
}

impl ShingleArgs {
    /// The recipe with the default sketch.
    pub(crate) fn recipe(&self) -> Recipe {
        let default = Recipe::default();
        let own = || match self.token {
            // The caller's features are a set already; their order means nothing.
            TokenKind::Feature => Width::MIN,
            _ => default.width,
        };
        Recipe {
            tokens: self.token,
            case: if self.keep_case {
                Case::Keep
            } else {
                Case::Fold
            },
            width: self.shingle.unwrap_or_else(own),
            shingling: if self.labelled {
                Shingling::Labelled
            } else {
                Shingling::Set
            },
            ..default
        }
    }
}

/// All that makes two sketches comparable.
#[derive(ClapArgs, Clone)]
pub(crate) struct RecipeArgs {
    #[command(flatten)]
    pub(crate) shingles: ShingleArgs,

    /// Which fingerprints are kept: nested:N, mod:M, min:S, min-mod:S,M, perm:T or
    /// perm:T,FAMILY (linear, matrix, tabulation, lead-byte) [default: nested:256]
    #[arg(long, value_name = "KIND", help_heading = "Sketch")]
    pub(crate) sketch: Option<SketchKind>,

    /// Keep at most N fingerprints: short for --sketch nested:N
    #[arg(long, value_name = "N", conflicts_with = "sketch", value_parser = samples, help_heading = "Sketch")]
    pub(crate) samples: Option<usize>,

    /// Where the random choices come from: a whole number from 0 [default: 1997]
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true, help_heading = "Sketch")]
    pub(crate) seed: Option<u64>,

    /// A file with a secret of at least 16 bytes in place of the seed
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "seed",
        help_heading = "Sketch"
    )]
    pub(crate) key_file: Option<PathBuf>,
}

/// No key needs more; a device that never ends must not be read to its end.
const LONGEST_KEY: u64 = 1 << 20;

fn read_at_most(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = fs::File::open(path)?
        .take(most + 1)
        .read_to_end(&mut bytes)?;
    if read as u64 > most {
        return Err(std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            format!("it is longer than {most} bytes"),
        ));
    }
    Ok(bytes)
}

impl RecipeArgs {
    /// The recipe as typed; `otherwise` is the sketch where none was named.
    pub(crate) fn recipe(&self, otherwise: SketchKind) -> Result<Recipe, Failure> {
        let named = self.samples.map(|samples| SketchKind::Nested { samples });
        Ok(Recipe {
            sketch: self.sketch.or(named).unwrap_or(otherwise),
            seed: self.seed()?,
            ..self.shingles.recipe()
        })
    }

    fn seed(&self) -> Result<Seed, Failure> {
        let Some(path) = &self.key_file else {
            return Ok(Seed::Public(self.seed.unwrap_or(DEFAULT_SEED)));
        };
        let hint = "make one with: head -c 32 /dev/urandom > key";
        let bad = |exit, why: String| Failure {
            exit,
            message: format!("cannot use key file `{}`: {why}", shown(path)),
            hint: hint.to_owned(),
        };
        let bytes = read_at_most(path, LONGEST_KEY).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound
            | std::io::ErrorKind::IsADirectory
            | std::io::ErrorKind::InvalidInput => bad(Exit::Usage, error.to_string()),
            _ => bad(Exit::Machine, error.to_string()),
        })?;
        let key = Key::from_bytes(&bytes).map_err(|short| bad(Exit::Usage, short.to_string()))?;
        Ok(Seed::Secret(key))
    }
}

/// The widest shingle that may be asked for. Wider ones would only ever be whole
/// documents, and exact comparison takes time in proportion to the width.
const WIDEST: usize = 1 << 20;

fn width(text: &str) -> Result<Width, String> {
    match text.parse() {
        Ok(width) if Width::get(width) <= WIDEST => Ok(width),
        _ => Err(format!("a shingle has 1 to {WIDEST} tokens")),
    }
}

fn samples(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(samples) if (1..=MOST_SAMPLES).contains(&samples) => Ok(samples),
        _ => Err(format!("a sketch keeps 1 to {MOST_SAMPLES} samples")),
    }
}

fn seed(text: &str) -> Result<u64, String> {
    let wrong = || format!("a seed is a whole number from 0 to {}", u64::MAX);
    text.parse().map_err(|_| wrong())
}

/// A threshold: above 0, at most 1.
pub(crate) fn threshold(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("a threshold is above 0 and at most 1, as in 0.5".to_owned()),
    }
}
