//! Model-based search: trials spread out first, then those of which a model expects most.

use super::history::LogScale;
use super::local::neighbours;
use super::model::{Features, Kernel, Model, Point, Pool, TRIALS, Trend};
use super::{Algorithm, Domain, Search};
use rustc_hash::FxHashSet;
use std::ops::ControlFlow;

/// Trials spread out before a model chooses, and those when trials from elsewhere are known.
const DESIGN: (usize, usize) = (12, 4);
/// Measured trials without which no model can say anything.
const FEWEST: usize = 4;
/// Random configurations among which the one farthest from all trials is taken.
const SPREAD: usize = 200;
/// Candidates of a model.
const POOL: usize = 1000;
/// Leaders whose neighbours are candidates.
const LEADERS: usize = 6;

/// The models of a search.
#[derive(Debug)]
pub(super) struct Surrogate {
    features: Features,
    trend: Option<Trend>,
    /// The models, and for each the trial whose neighbours are all in its pool.
    models: Vec<(Model, Option<u64>)>,
}

impl Surrogate {
    /// The models for an algorithm; `prior` are trials from elsewhere, cheapest first. `None` where there is
    /// nothing to choose.
    pub fn new(domain: &impl Domain, algorithm: Algorithm, prior: &[(Vec<u32>, f64)]) -> Option<Surrogate> {
        let features = Features::new(domain);
        if features.len() == 0 {
            return None;
        }
        let kernels: &[Kernel] =
            if algorithm == Algorithm::Auto { &[Kernel::Matern, Kernel::Laplace] } else { &[Kernel::Matern] };
        let scale = LogScale::for_costs_from(prior.first().map_or(1.0, |trial| trial.1));
        let finite = prior.iter().filter(|trial| trial.1.is_finite());
        let trials: Vec<_> = finite.map(|(configuration, cost)| (&configuration[..], scale.of(*cost))).collect();
        let trend = Trend::new(&features, &trials);
        let models = kernels.iter().map(|&kernel| (Model::new(&features, kernel), None)).collect();
        Some(Surrogate { features, trend, models })
    }
}

impl<D: Domain> Search<D> {
    /// The configuration of which most is expected, if `local` among the neighbours of the best as long as
    /// there are new ones; one far from all others while too little is known. `None` when no candidate is
    /// left.
    pub(super) fn propose_expected(&mut self, local: bool) -> Option<Vec<u32>> {
        let mut surrogate = self.surrogate.take()?;
        let design = if surrogate.trend.is_some() { DESIGN.1 } else { DESIGN.0 };
        let measured = self.population.len();
        let proposal = if self.history.len() < design || measured < FEWEST {
            self.spread(&surrogate.features)
        } else {
            self.ranked(&mut surrogate, local)
        };
        self.surrogate = Some(surrogate);
        proposal
    }

    /// Of some random configurations the one farthest from all trials.
    fn spread(&mut self, features: &Features) -> Option<Vec<u32>> {
        let encoded = |configuration: &[u32]| {
            let mut codes = Vec::with_capacity(features.len());
            features.encode(configuration, &mut codes);
            codes
        };
        let trials: Vec<Vec<u8>> =
            (0..self.history.len()).map(|id| encoded(self.history.configuration(id as u64))).collect();
        if trials.is_empty() {
            return None;
        }
        let mut farthest: Option<(f32, Vec<u32>)> = None;
        self.legal.sample(&self.domain, &mut self.rng, SPREAD, |configuration| {
            let codes = encoded(configuration);
            let distances = trials.iter().map(|trial| features.spread(trial, &codes));
            let nearest = distances.fold(f32::INFINITY, f32::min);
            if nearest > farthest.as_ref().map_or(0.0, |farthest| farthest.0) && !self.history.contains(configuration) {
                farthest = Some((nearest, configuration.to_vec()));
            }
            ControlFlow::Continue(())
        });
        farthest.map(|(_, configuration)| configuration)
    }

    fn ranked(&mut self, surrogate: &mut Surrogate, local: bool) -> Option<Vec<u32>> {
        let (best_cost, best) = self.population.best()?;
        let scale = LogScale::for_costs_from(best_cost);
        let turn = self.history.len() % surrogate.models.len();
        let (features, trend) = (&surrogate.features, surrogate.trend.as_ref());
        let told = self.history.known().len();
        let (model, expanded) = &mut surrogate.models[turn];
        if model.is_due(told) {
            let pool = self.pool();
            model.renew(features, trend, &self.choose_points(scale), pool, told);
            *expanded = Some(best);
        } else {
            let new = &self.history.known()[model.known()..];
            model.learn(features, trend, new.iter().filter_map(|&id| self.history.point(id, scale)), told);
            if *expanded != Some(best) {
                let mut more = Pool::new(self.domain.sizes().len());
                neighbours(&self.domain, self.history.configuration(best), |c| more.push(c));
                model.extend(features, trend, more);
                *expanded = Some(best);
            }
        }
        let encoded = |id| {
            let mut codes = Vec::with_capacity(features.len());
            features.encode(self.history.configuration(id), &mut codes);
            codes
        };
        let out: Vec<Vec<u8>> = self.history.out().map(encoded).collect();
        let log_cost = |id| self.history.cost(id).map_or(0.0, |cost| scale.of(cost));
        let scores = model.scores(features, log_cost, scale.of(best_cost), &out);
        let pool = model.pool()?;
        let best = self.history.configuration(best);
        let near = |c: &[u32]| c.iter().zip(best).filter(|(a, b)| a != b).count() <= 1;
        let top = |local: bool| {
            let mut top: Option<(f32, &[u32])> = None;
            for (&score, candidate) in scores.iter().zip(pool.iter()) {
                if top.is_none_or(|top| score > top.0)
                    && (!local || near(candidate))
                    && !self.history.contains(candidate)
                {
                    top = Some((score, candidate));
                }
            }
            top.map(|(_, candidate)| candidate.to_vec())
        };
        local.then(|| top(true)).flatten().or_else(|| top(false))
    }

    /// The trials that a model is made of: all, or of many the better half and some of the rest.
    fn choose_points(&mut self, scale: LogScale) -> Vec<Point<'_>> {
        let points = |ids: &[u64]| ids.iter().filter_map(|&id| self.history.point(id, scale)).collect::<Vec<_>>();
        let known = self.history.known();
        if known.len() <= TRIALS {
            return points(known);
        }
        let mut ids = known.to_vec();
        let cost = |id: u64| self.history.cost(id).unwrap_or(f64::INFINITY);
        ids.sort_by(|&a, &b| cost(a).total_cmp(&cost(b)).then(a.cmp(&b)));
        let (good, rest) = ids.split_at_mut(TRIALS / 2);
        self.rng.shuffle(rest);
        let rest = &rest[..TRIALS - good.len()];
        points(&[good, rest].concat())
    }

    /// Candidates: the neighbours of the leaders, and random configurations.
    fn pool(&mut self) -> Pool {
        let mut pool = Pool::new(self.domain.sizes().len());
        let mut seen: FxHashSet<Box<[u32]>> = FxHashSet::default();
        let mut add = |configuration: &[u32]| {
            if !self.history.contains(configuration) && seen.insert(configuration.into()) {
                pool.push(configuration);
            }
            if pool.len() < POOL { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        for &(_, id) in self.population.members().iter().take(LEADERS) {
            neighbours(&self.domain, self.history.configuration(id), |c| {
                let (ControlFlow::Continue(()) | ControlFlow::Break(())) = add(c);
            });
        }
        self.legal.sample(&self.domain, &mut self.rng, 2 * POOL, add);
        pool
    }
}
