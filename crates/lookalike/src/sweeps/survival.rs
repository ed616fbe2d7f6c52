//! How long something lives, from lives that are not all over: Kaplan and Meier's curve.
//!
//! ```text
//! lives (age, over or not) ─► at each age of death: at risk n, died d
//!                          ─► S(t) = Π (1 − d/n), with Greenwood's 95 % band
//! ```
//!
//! A life that is not over says that it lasted so long at least: it is at risk up to its
//! age, and then leaves without having ended. What ends and what leaves at one age were
//! both at risk there.
//!
//! Lives are counted by age, so memory is that of the distinct ages.

use std::collections::BTreeMap;

/// Lives by their age.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Lives {
    /// How many ended at an age, and how many were left at it.
    by_age: BTreeMap<i64, (u64, u64)>,
}

/// How a life was last seen.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Ending {
    /// It ended at this age.
    Died,
    /// It lasted so long at least.
    Alive,
}

impl Lives {
    /// One more life, of an age in whatever unit.
    pub fn add(&mut self, age: i64, ending: Ending) {
        let (died, left) = self.by_age.entry(age).or_default();
        match ending {
            Ending::Died => *died += 1,
            Ending::Alive => *left += 1,
        }
    }

    /// The curve, with `unit` of what ages are counted in to one of what is shown.
    pub fn survival(&self, unit: f64) -> Survival {
        let sum = |which: fn(&(u64, u64)) -> u64| self.by_age.values().map(which).sum::<u64>();
        let (died, alive) = (sum(|age| age.0), sum(|age| age.1));
        let mut out = Survival {
            lives: died + alive,
            died,
            until: self
                .by_age
                .last_key_value()
                .map_or(0.0, |(&age, _)| age as f64 / unit),
            steps: Vec::new(),
        };
        let (mut at_risk, mut survival, mut scatter, mut high) = (out.lives, 1.0, 0.0, 1.0_f64);
        for (&age, &(died, left)) in &self.by_age {
            if died > 0 {
                let (n, d) = (at_risk as f64, died as f64);
                survival *= 1.0 - d / n;
                let mut low = 0.0;
                // Where nothing is left the formula says nothing: the band stays as wide as
                // it was.
                if died < at_risk {
                    scatter += d / (n * (n - d));
                    let width = 1.96 * survival * scatter.sqrt();
                    (low, high) = ((survival - width).max(0.0), (survival + width).min(1.0));
                } else {
                    survival = 0.0;
                }
                out.steps.push(Step {
                    age: age as f64 / unit,
                    at_risk,
                    died,
                    survival,
                    low,
                    high,
                });
            }
            at_risk -= died + left;
        }
        out
    }
}

/// Which share is still alive at which age.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Survival {
    /// How many lives it rests on.
    pub lives: u64,
    /// How many of them ended.
    pub died: u64,
    /// The highest age anything was seen at.
    pub until: f64,
    /// Where the curve falls, by age.
    pub steps: Vec<Step>,
}

/// A step of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// At which age.
    pub age: f64,
    /// How many had been seen alive up to it.
    pub at_risk: u64,
    /// How many of them ended there.
    pub died: u64,
    /// The share that outlives it.
    pub survival: f64,
    /// Where its 95 % interval begins.
    pub low: f64,
    /// Where that ends.
    pub high: f64,
}

impl Survival {
    /// The age that half do not outlive, and the age of the step before, between which
    /// it lies; nothing where more than half outlive all that was seen.
    pub fn median(&self) -> Option<(f64, f64)> {
        let reached = self.steps.iter().position(|step| step.survival <= 0.5)?;
        let before = reached
            .checked_sub(1)
            .map_or(0.0, |step| self.steps[step].age);
        Some((before, self.steps[reached].age))
    }

    /// The share that outlives an age.
    pub fn at(&self, age: f64) -> f64 {
        let steps = self.steps.iter().take_while(|step| step.age <= age);
        steps.last().map_or(1.0, |step| step.survival)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lives(all: &[(i64, Ending)]) -> Lives {
        let mut lives = Lives::default();
        for &(age, ending) in all {
            lives.add(age, ending);
        }
        lives
    }

    const D: Ending = Ending::Died;
    const A: Ending = Ending::Alive;

    #[test]
    fn the_curve_is_that_computed_by_hand() {
        // 21 lives, 9 of which ended. By hand: 18/21, then times 16/17, 14/15, 11/12, 10/11,
        // 6/7, 5/6; the error is the share times the root of the sum of d / (n (n − d)).
        let all = [
            (6, D),
            (6, D),
            (6, D),
            (6, A),
            (7, D),
            (9, A),
            (10, D),
            (10, A),
            (11, A),
            (13, D),
            (16, D),
            (17, A),
            (19, A),
            (20, A),
            (22, D),
            (23, D),
            (25, A),
            (32, A),
            (32, A),
            (34, A),
            (35, A),
        ];
        let survival = lives(&all).survival(1.0);
        let expected = [
            (6.0, 21, 3, 0.8571, 0.0764),
            (7.0, 17, 1, 0.8067, 0.0869),
            (10.0, 15, 1, 0.7529, 0.0963),
            (13.0, 12, 1, 0.6902, 0.1068),
            (16.0, 11, 1, 0.6275, 0.1141),
            (22.0, 7, 1, 0.5378, 0.1282),
            (23.0, 6, 1, 0.4482, 0.1346),
        ];
        assert_eq!(survival.steps.len(), expected.len());
        for (step, (age, at_risk, died, share, error)) in survival.steps.iter().zip(expected) {
            assert_eq!((step.age, step.at_risk, step.died), (age, at_risk, died));
            assert!((step.survival - share).abs() < 5e-5, "{step:?}");
            let high = (share + 1.96 * error).min(1.0);
            assert!((step.low - (share - 1.96 * error)).abs() < 3e-4, "{step:?}");
            assert!((step.high - high).abs() < 3e-4, "{step:?}");
        }
        assert_eq!(survival.median(), Some((22.0, 23.0)));
        assert_eq!(
            (survival.lives, survival.died, survival.until),
            (21, 9, 35.0)
        );
    }

    #[test]
    fn more_than_half_may_outlive_all_that_was_seen() {
        let survival = lives(&[(10, D), (20, A), (20, A)]).survival(10.0);
        assert_eq!(survival.median(), None);
        assert!((survival.steps[0].age - 1.0).abs() < 1e-12);
        assert!((survival.at(1.5) - 2.0 / 3.0).abs() < 1e-12);
        assert!((survival.at(0.5) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn when_all_are_dead_the_band_is_as_wide_as_before() {
        let survival = lives(&[(1, D), (2, D)]).survival(1.0);
        let last = survival.steps[1];
        assert_eq!((last.survival, last.low), (0.0, 0.0));
        assert!((last.high - survival.steps[0].high).abs() < 1e-12);
        assert_eq!(lives(&[]).survival(1.0).median(), None);
    }

    /// By definition, each age on its own: the product over all deaths up to it, every
    /// count taken anew from the lives.
    fn by_definition(all: &[(i64, Ending)], age: i64) -> (f64, f64) {
        let mut ages: Vec<i64> = all
            .iter()
            .filter(|one| one.1 == D)
            .map(|one| one.0)
            .collect();
        ages.sort_unstable();
        ages.dedup();
        let (mut survival, mut sum) = (1.0, 0.0);
        for at in ages.into_iter().filter(|at| *at <= age) {
            let n = all.iter().filter(|one| one.0 >= at).count() as f64;
            let d = all.iter().filter(|one| **one == (at, D)).count() as f64;
            survival *= (n - d) / n;
            sum += d / (n * (n - d));
        }
        (survival, survival * f64::sqrt(sum))
    }

    proptest! {
        #[test]
        fn the_curve_agrees_with_the_definition(
            all in prop::collection::vec((0_i64..12, prop::sample::select(vec![D, A])), 1..40),
        ) {
            let survival = lives(&all).survival(1.0);
            let deaths = all.iter().filter(|one| one.1 == D).count() as u64;
            prop_assert_eq!(survival.steps.iter().map(|step| step.died).sum::<u64>(), deaths);
            for age in 0..12 {
                let (expected, error) = by_definition(&all, age);
                prop_assert!((survival.at(age as f64) - expected).abs() < 1e-9);
                let step = survival.steps.iter().find(|step| (step.age - age as f64).abs() < 0.5);
                if let Some(step) = step.filter(|step| step.survival > 0.0) {
                    prop_assert!((step.high - (expected + 1.96 * error).min(1.0)).abs() < 1e-9);
                    prop_assert!((step.low - (expected - 1.96 * error).max(0.0)).abs() < 1e-9);
                }
            }
        }
    }
}
