//! Two documents compared: exact figures, what the sketches alone would say, passages.

use std::ops::Range;

use lookalike::core::canonical::Tokens;
use lookalike::core::estimate::{Comparison, Estimate, Overlap};
use lookalike::core::passages::{Passage, passages};
use lookalike::core::recipe::{Recipe, RecipeId};
use lookalike::core::shingle::overlap;
use lookalike::core::sketcher::Sketcher;
use lookalike::core::weighted::WeightedOverlap;
use lookalike::corpus::document::Document;
use serde_json::{Map, Value, json};

use crate::wire;

/// One of the two documents.
#[derive(Debug)]
pub struct Side<'a> {
    /// What it goes by.
    pub name: String,
    /// Its text.
    pub document: Document<'a>,
    /// Its tokens.
    pub tokens: Tokens,
    /// Whether it has fewer tokens than a shingle and so is one shingle as a whole.
    pub is_short: bool,
}

impl<'a> Side<'a> {
    /// A document under the name it is shown with.
    pub fn new(name: String, document: Document<'a>, recipe: &Recipe) -> Side<'a> {
        let tokens = document.tokens(recipe);
        Side {
            name,
            document,
            is_short: tokens.len() < recipe.width.get(),
            tokens,
        }
    }

    /// From the first of some tokens to the end of the last, in the text tokens are
    /// read from.
    pub fn source(&self, tokens: &Range<usize>) -> Range<usize> {
        let start = self.tokens.source(tokens.start).start;
        let end = self.tokens.source(tokens.end - 1).end;
        start..end.max(start)
    }

    /// The same, or the point behind the token before where there are none.
    pub fn source_or_point(&self, tokens: &Range<usize>) -> Range<usize> {
        if tokens.is_empty() {
            let before = tokens.start.checked_sub(1);
            let point = before.map_or(0, |last| self.tokens.source(last).end);
            return point..point;
        }
        self.source(tokens)
    }

    /// Where some tokens stand in the shown text.
    pub fn text_range(&self, tokens: &Range<usize>) -> Range<usize> {
        self.document.text_range(self.source_or_point(tokens))
    }
}

/// All that is known of two documents.
#[derive(Debug)]
pub struct Compared<'a> {
    /// The first.
    pub a: &'a Side<'a>,
    /// The second.
    pub b: &'a Side<'a>,
    /// What they have in common, of all shingles.
    pub shingles: Overlap,
    /// The same of weights, where the recipe counts them.
    pub weights: Option<WeightedOverlap>,
    /// What their sketches say.
    pub estimated: Comparison,
    /// The passages both have.
    pub passages: Vec<Passage>,
    /// The recipe in words.
    pub recipe: String,
    /// And its name.
    pub recipe_id: RecipeId,
}

/// A measure: its title, its name in JSON, the exact value, the estimate.
pub type Measure = (&'static str, &'static str, Option<f64>, Option<Estimate>);

impl<'a> Compared<'a> {
    /// Compares two documents by a recipe, which the sketcher follows too.
    pub fn new(
        a: &'a Side<'a>,
        b: &'a Side<'a>,
        recipe: &Recipe,
        sketcher: &mut Sketcher,
    ) -> Compared<'a> {
        let (sketch_a, sketch_b) = (a.document.sketch(sketcher), b.document.sketch(sketcher));
        let weights = recipe.sketch.is_weighted().then(|| {
            let mut set = |side: &Side<'_>| side.document.weighted_set(sketcher);
            set(a).overlap(&set(b))
        });
        Compared {
            a,
            b,
            shingles: overlap(&a.tokens, &b.tokens, recipe.width, recipe.shingling),
            weights,
            // One sketcher made both, so there is one recipe.
            estimated: sketch_a.compare(&sketch_b).unwrap_or_default(),
            passages: passages(&a.tokens, &b.tokens, recipe.width),
            recipe: recipe.to_string(),
            recipe_id: recipe.id(),
        }
    }

    /// What is true of them.
    pub fn exact(&self) -> Exact {
        match self.weights {
            Some(weights) => Exact::Weights(weights),
            None => Exact::Shingles(self.shingles),
        }
    }

    /// The answer of `compare`, with the places of tokens of the first and the second as
    /// they are to be told.
    pub fn json(
        &self,
        place_a: impl Fn(&Range<usize>) -> Range<usize>,
        place_b: impl Fn(&Range<usize>) -> Range<usize>,
    ) -> Value {
        let Overlap { a, b, common } = self.shingles;
        let mut answer = Map::new();
        answer.insert(
            "shingles".to_owned(),
            json!({ "a": a, "b": b, "common": common }),
        );
        answer.append(&mut measures(Some(self.exact()), &self.estimated));
        let passage = |passage: &Passage| wire::passage(passage, &place_a, &place_b);
        let passages: Vec<Value> = self.passages.iter().map(passage).collect();
        let more = [
            ("passages", json!(passages)),
            (
                "tokens",
                json!({ "a": self.a.tokens.len(), "b": self.b.tokens.len() }),
            ),
            (
                "short",
                json!({ "a": self.a.is_short, "b": self.b.is_short }),
            ),
            ("recipe", json!(self.recipe)),
            ("recipe_id", json!(self.recipe_id.to_string())),
        ];
        answer.extend(more.map(|(name, value)| (name.to_owned(), value)));
        if let Some(WeightedOverlap { a, b, common }) = self.weights {
            let weights = json!({ "a": a, "b": b, "common": common });
            answer.insert("weights".to_owned(), weights);
        }
        Value::Object(answer)
    }
}

/// True values: of shingles that were counted, or of weights.
#[derive(Clone, Copy, Debug)]
pub enum Exact {
    /// Each counts as much as any other.
    Shingles(Overlap),
    /// Each counts by its weight.
    Weights(WeightedOverlap),
}

impl Exact {
    /// The share that both have of all that either has.
    pub fn resemblance(&self) -> Option<f64> {
        match self {
            Exact::Shingles(all) => all.resemblance(),
            Exact::Weights(all) => all.resemblance(),
        }
    }

    /// The share of the first that the second has.
    pub fn a_in_b(&self) -> Option<f64> {
        match self {
            Exact::Shingles(all) => all.a_in_b(),
            Exact::Weights(all) => all.a_in_b(),
        }
    }

    /// The share of the second that the first has.
    pub fn b_in_a(&self) -> Option<f64> {
        match self {
            Exact::Shingles(all) => all.b_in_a(),
            Exact::Weights(all) => all.b_in_a(),
        }
    }
}

/// The three measures under their names in JSON.
pub fn measures(exact: Option<Exact>, estimated: &Comparison) -> Map<String, Value> {
    rows(exact, estimated)
        .map(|(_, name, exact, estimate)| (name.to_owned(), wire::measure(exact, estimate)))
        .into_iter()
        .collect()
}

/// The three measures.
pub fn rows(exact: Option<Exact>, estimated: &Comparison) -> [Measure; 3] {
    let exact = |value: fn(&Exact) -> Option<f64>| exact.as_ref().and_then(value);
    [
        (
            "resemblance",
            "resemblance",
            exact(Exact::resemblance),
            estimated.resemblance,
        ),
        ("A in B", "a_in_b", exact(Exact::a_in_b), estimated.a_in_b),
        ("B in A", "b_in_a", exact(Exact::b_in_a), estimated.b_in_a),
    ]
}
