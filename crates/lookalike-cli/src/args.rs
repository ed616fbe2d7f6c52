//! The command line as typed.

use std::fs;
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, CommandFactory, Parser, Subcommand};
use lookalike::add::{LEAST_MEMORY, quarter_of_the_machine};
use lookalike::collection::Collection;
use lookalike::core::canonical::{Case, TokenKind};
use lookalike::core::permutation::Family;
use lookalike::core::recipe::{DEFAULT_SEED, MOST_SAMPLES, Recipe, SketchKind};
use lookalike::core::seed::{Key, Seed};
use lookalike::core::shingle::{Shingling, WIDEST, Width};
use lookalike::corpus::document::Format;
use lookalike::corpus::options::{InputFormat, ReadOptions};
use lookalike::corpus::unusable::shown;

use crate::commands::add::{AddArgs, processors};
use crate::commands::changes::ChangesArgs;
use crate::commands::cluster::ClusterArgs;
use crate::commands::collapse::CollapseArgs;
use crate::commands::compare::CompareArgs;
use crate::commands::copies::CopiesArgs;
use crate::commands::crumbs::CrumbsArgs;
use crate::commands::curve::CurveArgs;
use crate::commands::dedup::DedupArgs;
use crate::commands::demo::DemoArgs;
use crate::commands::drift::DriftArgs;
use crate::commands::export::ExportArgs;
use crate::commands::find::FindArgs;
use crate::commands::history::HistoryArgs;
use crate::commands::manual::{CompletionsArgs, ManArgs};
use crate::commands::members::MembersArgs;
use crate::commands::plan::PlanArgs;
use crate::commands::resketch::ResketchArgs;
use crate::commands::scan::ScanArgs;
use crate::commands::search::{IndexArgs, SearchArgs};
use crate::commands::serve::ServeArgs;
use crate::commands::sketch::SketchArgs;
use crate::commands::stats::StatsArgs;
use crate::commands::verify::VerifyArgs;
use crate::commands::where_is::WhereArgs;
use crate::failure::{Exit, Failure};

/// Near-duplicate documents: which are roughly the same, which are roughly contained in another.
#[derive(Parser)]
#[command(name = "lookalike", version, max_term_width = 100)]
#[command(after_help = "\
Example: the groups of near-duplicates among some files
  lookalike scan docs/

Exit status: 0 done, 1 not found, 2 usage, 3 done but something was rejected,
4 nothing usable in the input, 5 a damaged collection or file, 6 an input or output
error or too little memory, 7 another writer holds the collection.
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
    Add(AddArgs),
    Cluster(ClusterArgs),
    Export(ExportArgs),
    Find(FindArgs),
    Members(MembersArgs),
    Where(WhereArgs),
    Copies(CopiesArgs),
    Drift(Box<DriftArgs>),
    History(HistoryArgs),
    Changes(ChangesArgs),
    Index(IndexArgs),
    Search(SearchArgs),
    Collapse(CollapseArgs),
    Crumbs(CrumbsArgs),
    Dedup(Box<DedupArgs>),
    Plan(Box<PlanArgs>),
    Serve(ServeArgs),
    Stats(StatsArgs),
    Verify(VerifyArgs),
    Compare(CompareArgs),
    Sketch(SketchArgs),
    Resketch(ResketchArgs),
    Curve(CurveArgs),
    Demo(DemoArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
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
    /// perm:T,FAMILY (linear, matrix, tabulation, lead-byte, weighted) [default: nested:256]
    #[arg(long, value_name = "KIND", help_heading = "Sketch")]
    pub(crate) sketch: Option<SketchKind>,

    /// Keep at most N fingerprints: short for --sketch nested:N
    #[arg(long, value_name = "N", conflicts_with = "sketch", value_parser = samples, help_heading = "Sketch")]
    pub(crate) samples: Option<usize>,

    /// Count the weights of features, {"features":{"name":weight}}: short for --token feature
    /// --sketch perm:256,weighted
    #[arg(long, conflicts_with_all = ["sketch", "samples", "token", "shingle", "labelled"], help_heading = "Sketch")]
    pub(crate) weighted: bool,

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

/// As many samples as the default keeps at most, so that its errors are no larger.
const WEIGHTED: SketchKind = SketchKind::Perm {
    samples: 256,
    family: Family::Weighted,
};

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
    /// Whether nothing was typed that another recipe would follow from.
    pub(crate) fn is_default(&self) -> bool {
        let ShingleArgs {
            token,
            shingle,
            labelled,
            keep_case,
            format: _,
        } = &self.shingles;
        *token == TokenKind::default()
            && shingle.is_none()
            && !labelled
            && !keep_case
            && self.sketch.is_none()
            && self.samples.is_none()
            && !self.weighted
            && self.seed.is_none()
    }

    /// The secret, if one was named.
    pub(crate) fn key(&self) -> Result<Option<Key>, Failure> {
        match self.seed()? {
            Seed::Secret(key) => Ok(Some(key)),
            Seed::Public(_) => Ok(None),
        }
    }

    /// The recipe as typed; `otherwise` is the sketch where none was named.
    pub(crate) fn recipe(&self, otherwise: SketchKind) -> Result<Recipe, Failure> {
        let named = self.samples.map(|samples| SketchKind::Nested { samples });
        let seed = self.seed()?;
        if self.weighted {
            return Ok(Recipe {
                tokens: TokenKind::Feature,
                width: Width::MIN,
                sketch: WEIGHTED,
                seed,
                ..self.shingles.recipe()
            });
        }
        let recipe = Recipe {
            sketch: self.sketch.or(named).unwrap_or(otherwise),
            seed,
            ..self.shingles.recipe()
        };
        let is_plain = recipe.tokens == TokenKind::Feature
            && recipe.width == Width::MIN
            && recipe.shingling == Shingling::Set;
        if recipe.sketch.is_weighted() && !is_plain {
            return Err(Failure::usage(
                format!(
                    "{} counts the weights of features, one by one",
                    recipe.sketch
                ),
                "give --token feature, and neither --shingle nor --labelled",
            ));
        }
        Ok(recipe)
    }

    fn seed(&self) -> Result<Seed, Failure> {
        match &self.key_file {
            None => Ok(Seed::Public(self.seed.unwrap_or(DEFAULT_SEED))),
            Some(path) => read_key(path).map(Seed::Secret),
        }
    }
}

/// The secret in a file.
pub(crate) fn read_key(path: &Path) -> Result<Key, Failure> {
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
    Key::from_bytes(&bytes).map_err(|short| bad(Exit::Usage, short.to_string()))
}

/// The secret of a collection that was made with one.
#[derive(ClapArgs, Clone)]
pub(crate) struct KeyArgs {
    /// The secret that the collection was made with
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
}

impl KeyArgs {
    /// The secret, if one was named.
    pub(crate) fn key(&self) -> Result<Option<Key>, Failure> {
        self.key_file.as_deref().map(read_key).transpose()
    }

    /// The recipe of a collection.
    pub(crate) fn recipe(&self, collection: &Collection, folder: &Path) -> Result<Recipe, Failure> {
        let key = self.key()?;
        collection
            .recipe(key.as_ref())
            .map_err(|fault| Failure::from_recipe(folder, &fault))
    }
}

/// How inputs are read.
#[derive(ClapArgs, Clone)]
#[command(next_help_heading = "Reading")]
pub(crate) struct InputArgs {
    /// The field with the text; dots reach into nested fields
    #[arg(long, value_name = "FIELD", default_value = "text")]
    text_field: String,

    /// The field with the id
    #[arg(long, value_name = "FIELD", default_value = "id")]
    id_field: String,

    /// The field with the URL
    #[arg(long, value_name = "FIELD", default_value = "url")]
    url_field: String,

    /// The field with the date
    #[arg(long, value_name = "FIELD", default_value = "date")]
    date_field: String,

    /// What the inputs are, where their first bytes do not tell: auto, warc, wacz, jsonl,
    /// csv, parquet or document
    #[arg(long, value_name = "FORMAT", default_value_t)]
    input_format: InputFormat,

    /// Reject documents with more bytes of text
    #[arg(long, value_name = "BYTES", default_value = "16M", value_parser = size)]
    max_document: u64,

    /// Reject longer lines
    #[arg(long, value_name = "BYTES", default_value = "64M", value_parser = size)]
    max_line: u64,

    /// Reject records and files with more bytes, decoded
    #[arg(long, value_name = "BYTES", default_value = "64M", value_parser = size)]
    max_record: u64,

    /// Also read files and folders whose name begins with a dot
    #[arg(long)]
    hidden: bool,
}

impl InputArgs {
    pub(crate) fn options(&self, shingles: &ShingleArgs, tokens: TokenKind) -> ReadOptions {
        let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let mut options = ReadOptions {
            input: self.input_format,
            text_field: self.text_field.clone(),
            id_field: self.id_field.clone(),
            url_field: self.url_field.clone(),
            date_field: self.date_field.clone(),
            tokens,
            format: shingles.format,
            hidden: self.hidden,
            ..ReadOptions::default()
        };
        options.limits.document = number(self.max_document);
        options.limits.line = number(self.max_line.max(self.max_document));
        options.limits.record = number(self.max_record.max(self.max_document));
        options
    }
}

/// What of the machine may be used.
#[derive(ClapArgs, Clone)]
#[command(next_help_heading = "Machine")]
pub(crate) struct MachineArgs {
    /// Memory for the whole process, as in 512M or 4G [default: a quarter of the machine]
    #[arg(long, value_name = "BYTES", value_parser = size)]
    memory: Option<u64>,

    /// How many threads work; the answer is the same [default: one a processor]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// The folder for what does not fit in memory [default: the collection; for scan, that
    /// of temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) scratch: Option<PathBuf>,
}

impl MachineArgs {
    pub(crate) fn threads(&self) -> NonZeroUsize {
        // More than there is work for only cost time.
        let most = NonZeroUsize::new(256)
            .unwrap_or(NonZeroUsize::MIN)
            .max(processors());
        self.threads.unwrap_or_else(processors).min(most)
    }

    /// The memory that may be used, or why that is too little.
    pub(crate) fn memory(&self) -> Result<u64, Failure> {
        let memory = self.memory.unwrap_or_else(quarter_of_the_machine);
        if memory >= LEAST_MEMORY {
            return Ok(memory);
        }
        Err(Failure {
            exit: Exit::Machine,
            message: format!("--memory {memory} is too little"),
            hint: format!("give at least {} MiB", LEAST_MEMORY >> 20),
        })
    }
}

/// A number of bytes: 4096, 512M, 4G.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let wrong = || "a size is written 4096, 64K, 512M or 4G".to_owned();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number
        .checked_mul(1 << shift)
        .filter(|&bytes| bytes > 0)
        .ok_or_else(wrong)
}

pub(crate) fn width(text: &str) -> Result<Width, String> {
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
