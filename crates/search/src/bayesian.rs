//! Model-based search: trials spread out first, then those of which a model expects most.

use super::history::LogScale;
use super::local::neighbours;
use super::model::{Features, Kernel, Model, Point, Pool, TRIALS, Trend};
use super::tunable::tunable;
use super::{Algorithm, Domain, Search};
use rustc_hash::FxHashSet;
use std::ops::ControlFlow;

tunable! {
    /// Trials spread out before a model chooses.
    DESIGN: usize = 12;
    /// The same when trials from elsewhere are known.
    DESIGN_KNOWING: usize = 4;
    /// Random configurations among which the one farthest from all trials is taken.
    SPREAD: usize = 200;
    /// Candidates of a model.
    POOL: usize = 1000;
    /// Leaders whose neighbours are candidates.
    LEADERS: usize = 6;
    /// Leaders whose neighbours a local trial chooses from: the best alone may be the only good one around.
    LOCAL_LEADERS: usize = 5;
}
/// Measured trials without which no model can say anything.
const FEWEST: usize = 4;
/// Trials that new ones are spread out among; where so many have failed, distances tell no more than chance,
/// and comparing with ever more trials would take ever longer.
const SPREAD_AMONG: usize = 192;

/// The models of a search.
#[derive(Debug)]
pub(super) struct Surrogate {
    views: Vec<View>,
}

/// A model, and the space as it sees it.
#[derive(Debug)]
struct View {
    features: Features,
    trend: Option<Trend>,
    model: Model,
    /// The trial whose neighbours are all in its pool.
    expanded: Option<u64>,
}

impl Surrogate {
    /// The models for an algorithm; `prior` are trials from elsewhere, cheapest first. `None` where there is
    /// nothing to choose.
    pub fn new(domain: &impl Domain, algorithm: Algorithm, prior: &[(Vec<u32>, f64)]) -> Option<Surrogate> {
        let kernels: &[Kernel] =
            if algorithm == Algorithm::Auto { &[Kernel::Matern, Kernel::Laplace] } else { &[Kernel::Matern] };
        let scale = LogScale::for_costs_from(prior.first().map_or(1.0, |trial| trial.1));
        let finite = prior.iter().filter(|trial| trial.1.is_finite());
        let trials: Vec<_> = finite.map(|(configuration, cost)| (&configuration[..], scale.of(*cost))).collect();
        let view = |&kernel: &Kernel| {
            let features = Features::new(domain, kernel);
            let (trend, model) = (Trend::new(&features, &trials), Model::new(&features, kernel));
            View { features, trend, model, expanded: None }
        };
        let views: Vec<View> = kernels.iter().map(view).collect();
        (views[0].features.len() > 0).then_some(Surrogate { views })
    }
}

impl<D: Domain> Search<D> {
    /// The configuration of which most is expected, if `local` among the neighbours of the leaders as long
    /// as there are new ones; one far from all others while too little is known. `None` when no candidate is
    /// left.
    pub(super) fn propose_expected(&mut self, local: bool) -> Option<Vec<u32>> {
        let mut surrogate = self.surrogate.take()?;
        let design = if surrogate.views[0].trend.is_some() { *DESIGN_KNOWING } else { *DESIGN };
        let measured = self.population.len();
        let proposal = if self.history.len() < design || measured < FEWEST {
            self.spread(&surrogate.views[0].features)
        } else {
            self.ranked(&mut surrogate, local)
        };
        self.surrogate = Some(surrogate);
        proposal
    }

    /// Of some random configurations the one farthest from all trials; `None` without trials, and with very many.
    fn spread(&mut self, features: &Features) -> Option<Vec<u32>> {
        if self.history.len() > SPREAD_AMONG {
            return None;
        }
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
        self.legal.sample(&self.domain, &mut self.rng, *SPREAD, |configuration| {
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
        let turn = self.history.len() % surrogate.views.len();
        let View { features, trend, model, expanded } = &mut surrogate.views[turn];
        let (features, trend) = (&*features, trend.as_ref());
        let told = self.history.known().len();
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
        let leaders = self.population.members().iter().take(*LOCAL_LEADERS);
        let leaders: Vec<&[u32]> = leaders.map(|&(_, id)| self.history.configuration(id)).collect();
        let differ = |a: &[u32], b: &[u32]| a.iter().zip(b).filter(|(a, b)| a != b).count();
        let near = |c: &[u32]| leaders.iter().any(|leader| differ(c, leader) <= 1);
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
            if pool.len() < *POOL { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        for &(_, id) in self.population.members().iter().take(*LEADERS) {
            neighbours(&self.domain, self.history.configuration(id), |c| {
                let (ControlFlow::Continue(()) | ControlFlow::Break(())) = add(c);
            });
        }
        self.legal.sample(&self.domain, &mut self.rng, 2 * *POOL, add);
        pool
    }
}
