//! Subgraphs under way: what is known of each before threads decide, and what is kept of what they decide.

use super::apply;
use super::apply::Price;
use super::fused::{defaults, untuned};
use super::network::Network;
use super::outcome::{Place, SgatOutcome, SubgraphOutcome};
use super::price::Pricer;
use super::problem::{Decider, Decision, Problem};
use super::record::{self, Mark};
use super::settings::SgatSettings;
use super::state::State;
use super::steps::Subgraph;
use super::strategy::{Case, Strategy, alike};
use super::units::{Problems, VariantSolver};
use crate::backend::Backend;
use crate::backend::simulator::Simulator;
use crate::bank::subgraph::{self as bank, Record, SubgraphBank};
use crate::lower::{self, Lowered};
use crate::output_file::directory_of;
use crate::soc::Soc;
use crate::status::Result;
use crate::tune::{BankStatus, Interrupt, Tuning, Unsaved, Variant};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Map;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Everything subgraph tuning needs.
pub struct SgatJob<'a> {
    /// Name of the network.
    pub name: &'a str,
    /// The graph in every form to tune; times are summed over them.
    pub variants: &'a [Variant],
    /// How the variants were lowered.
    pub lowering: &'a lower::Settings,
    /// The SoC tuned for.
    pub soc: &'a Soc,
    /// The bank read from and written to.
    pub bank: &'a mut SubgraphBank,
    /// What an interrupted tuning had found, and where this one keeps the same.
    pub state: &'a mut State,
    /// The caller's settings.
    pub settings: &'a SgatSettings,
    /// Set from any thread to stop.
    pub cancel: &'a AtomicBool,
}

/// What subgraph tuning leaves behind.
#[derive(Debug)]
pub struct Sgat {
    /// For reports.
    pub outcome: SgatOutcome,
    /// The kernels of each variant with all that was found. Where it was interrupted, what was not dealt with runs by
    /// default.
    pub lowered: Vec<Lowered>,
    /// The same with the strategies alone that CANN reads: as CANN will run it, for operator tuning.
    pub taken: Vec<Lowered>,
    /// The kernels of each variant as they ran before.
    pub before: Vec<Lowered>,
    /// What the strategies say of each kernel of the first variant, and its kernels as they were.
    pub marks: Vec<Vec<Mark>>,
}

/// How a variant runs by default.
pub struct Before {
    /// Its kinds of subgraphs, in the order of `alike`.
    pub strategies: Vec<Strategy>,
    /// What all of each kind take.
    pub prices: Vec<Price>,
    /// Its kernels.
    pub lowered: Lowered,
}

/// The job of tuning subgraphs.
pub struct Subgraphs<'r> {
    pub(super) networks: &'r [Network<'r>],
    pub(super) variants: &'r [Variant],
    pub(super) soc: &'r Soc,
    bank: &'r mut SubgraphBank,
    state: &'r mut State,
    pub(super) decider: Decider<'r>,
    /// Subgraphs of each variant, alike ones together.
    pub(super) alike: Vec<Vec<Vec<Subgraph>>>,
    /// Of all variants.
    pub(super) total: usize,
    /// How each variant runs by default.
    pub(super) before: Vec<Before>,
    /// Those dealt with, of each variant, in the order of `alike`.
    pub(super) cases: Vec<Vec<Case>>,
    /// What was found so far.
    pub outcome: SgatOutcome,
    /// Times of the network before and after, as far as it was dealt with.
    pub(super) times_us: [f64; 2],
    /// Records of the outcome's subgraphs, and which is whose.
    pub(super) records: Vec<Record>,
    places: FxHashMap<u64, usize>,
    /// Variant and place among its cases of all that each of the outcome's subgraphs is of.
    pub(super) homes: Vec<Vec<(usize, usize)>>,
    /// What the bank had for each of the outcome's subgraphs.
    pub(super) banked: Vec<Option<bank::Strategy>>,
    /// How each variant runs with all that was found, and with what CANN reads of it.
    pub(super) after: Vec<Lowered>,
    pub(super) taken: Vec<Lowered>,
    /// Decides on this thread about problems that wait for another one.
    own: VariantSolver<'r>,
    /// Subgraphs in the state so far.
    recorded: usize,
}

impl<'r> Subgraphs<'r> {
    /// A tuning that has not begun.
    pub fn new(job: &'r mut SgatJob<'_>, networks: &'r [Network<'r>], interrupt: Interrupt<'r>) -> Subgraphs<'r> {
        let alike: Vec<_> = networks.iter().map(|network| alike(network, job.soc)).collect();
        let outcome = SgatOutcome {
            tuning: Tuning::new(job.name, Simulator::new(job.soc.clone()).describe(), job.soc, job.variants),
            subgraphs: Vec::new(),
            gears_before_us: Vec::new(),
        };
        Subgraphs {
            networks,
            variants: job.variants,
            soc: job.soc,
            bank: job.bank,
            state: job.state,
            decider: Decider { name: job.name, settings: job.settings, interrupt },
            total: alike.iter().map(Vec::len).sum(),
            alike,
            before: Vec::with_capacity(networks.len()),
            cases: networks.iter().map(|_| Vec::new()).collect(),
            outcome,
            times_us: [0.0; 2],
            records: Vec::new(),
            places: FxHashMap::default(),
            homes: Vec::new(),
            banked: Vec::new(),
            after: Vec::new(),
            own: None,
            taken: Vec::new(),
            recorded: 0,
        }
    }

    /// Tells how the network runs by default.
    ///
    /// Fails with [`crate::status::Error::Workload`] for a kernel that cannot run on the part at all.
    pub fn begin(&mut self) -> Result<()> {
        for (network, alike) in self.networks.iter().zip(&self.alike) {
            let strategies = defaults(network, self.soc, alike)?;
            let ordered = untuned(network, self.soc, alike, &strategies);
            let prices = ordered.prices(&mut Pricer::new(network, self.soc))?;
            self.outcome.gears_before_us.push(prices.iter().map(|price| price.us).sum());
            self.before.push(Before { strategies, prices, lowered: ordered.lowered });
        }
        Ok(())
    }

    /// Fails where the state that it goes on from is none of these networks'.
    pub fn check_state(&self) -> Result<()> {
        if !self.state.is_reloaded() {
            return Ok(());
        }
        let problems = self.networks.iter().zip(&self.alike).flat_map(|(network, alike)| {
            alike.iter().map(|subgraphs| record::feature(network, &subgraphs[0]).graph_id())
        });
        self.state.check_network(&self.outcome.tuning.graph, &problems.collect::<Result<_>>()?)
    }

    /// Kinds of subgraphs dealt with.
    pub(super) fn done(&self) -> usize {
        self.cases.iter().map(Vec::len).sum()
    }

    /// The problems of all variants, with what is known of them.
    pub(super) fn problems(&self) -> Result<Problems<'r>> {
        let (mut problems, mut seen) = (Vec::with_capacity(self.total), FxHashSet::default());
        for (variant, (network, alike)) in self.networks.iter().zip(&self.alike).enumerate() {
            for (subgraphs, default) in alike.iter().zip(&self.before[variant].strategies) {
                let feature = record::feature(network, &subgraphs[0]);
                let id = feature.graph_id()?;
                let earlier = self.state.finished(&feature)?.map(|(strategy, status)| (strategy.clone(), status));
                let recorded = self.bank.lookup(&feature)?.map(|(strategy, kind)| (strategy.clone(), kind));
                let (subgraphs, default, has_equal) = (subgraphs.clone(), default.clone(), !seen.insert(id));
                problems.push(Problem { variant, subgraphs, default, feature, id, earlier, recorded, has_equal });
            }
        }
        Ok(Problems { networks: self.networks, soc: self.soc, decider: self.decider, all: problems })
    }

    /// Keeps what was found for the next problem, or what came out for its equal.
    pub(super) fn keep_one(&mut self, units: &Problems<'r>, problem: &Problem, decision: Option<Box<Decision>>) {
        if let Some(decision) = decision {
            return self.add(problem, *decision);
        }
        let mut own = self.own.take();
        let solver = units.solver(&mut own, problem.variant);
        let same = self.places.get(&problem.id).copied();
        let same = same.filter(|&index| self.records[index].feature == problem.feature);
        let after = same.and_then(|index| {
            let strategy = &self.records[index].strategy;
            Some((index, record::from_bank(solver.pricer(), &problem.subgraphs[0], strategy)?))
        });
        if let Some((index, after)) = after {
            self.share(problem, index, after);
        } else {
            let decision = self.decider.decide(solver, problem);
            self.add(problem, decision);
        }
        self.own = own;
    }

    /// A problem that runs as another one does, which is the outcome's subgraph of this place.
    fn share(&mut self, problem: &Problem, index: usize, after: Strategy) {
        let variant = problem.variant;
        let subgraph = &self.outcome.subgraphs[index];
        let us = [subgraph.before.us, subgraph.after.us];
        self.count(us, problem);
        let places = self.places_of(problem);
        self.outcome.subgraphs[index].places.extend(places);
        self.homes[index].push((variant, self.cases[variant].len()));
        let before = problem.default.clone();
        self.cases[variant].push(Case { subgraphs: problem.subgraphs.clone(), before, after });
    }

    /// A problem with a decision of its own.
    fn add(&mut self, problem: &Problem, decision: Decision) {
        let variant = problem.variant;
        let network = &self.networks[variant];
        let Decision { case, status, strategy, plans: [mut before, mut after], banked, is_read_by_cann } = decision;
        let (feature, other) = (problem.feature.clone(), Map::new());
        let record = Record { graph_id: problem.id, feature, strategy, other };
        let index = self.outcome.subgraphs.len();
        let kernels = problem.subgraphs[0].kernels.clone();
        // The search knows what it saves, and the network what the default takes.
        let whole = self.before[variant].prices[self.cases[variant].len()].us / problem.subgraphs.len() as f64;
        let of_search = |us: f64| if before.us > 0.0 { whole * (us / before.us) } else { whole };
        let banked_us = banked.as_ref().map(|banked| of_search(banked.us));
        after.us = of_search(after.us);
        before.us = whole;
        let taken_us = if is_read_by_cann { after.us } else { before.us };
        self.count([before.us, after.us], problem);
        self.outcome.subgraphs.push(SubgraphOutcome {
            index,
            places: self.places_of(problem),
            op_types: kernels.clone().map(|at| network.op_type(at).to_owned()).collect(),
            names: kernels.clone().map(|at| network.name(at).to_owned()).collect(),
            edges: network.edges(&kernels),
            repo_key: record.repo_key(),
            before,
            banked_us,
            after,
            taken_us,
            is_read_by_cann,
            status,
        });
        self.records.push(record);
        self.places.insert(problem.id, index);
        self.homes.push(vec![(variant, self.cases[variant].len())]);
        let to_bank = |banked| record::to_bank(network, self.soc.arch, self.decider.name, &banked);
        self.banked.push(banked.map(to_bank));
        self.cases[variant].push(case);
    }

    fn count(&mut self, us: [f64; 2], problem: &Problem) {
        for (sum, us) in self.times_us.iter_mut().zip(us) {
            *sum += us * problem.subgraphs.len() as f64;
        }
    }

    fn places_of(&self, problem: &Problem) -> Vec<Place> {
        let variant = problem.variant;
        let (network, label) = (&self.networks[variant], &self.variants[variant].label);
        let place = |s: &Subgraph| Place {
            variant,
            first: format!("{}{label}", network.name(s.kernels.start)),
            kernels: s.kernels.clone(),
        };
        problem.subgraphs.iter().map(place).collect()
    }

    /// Keeps what is better in the network; what the bank does not take goes to the rescue's place, and the outcome says
    /// so.
    pub(super) fn save_bank(&mut self) {
        self.times_us = [self.outcome.before_us(), self.outcome.after_us()];
        let Err(error) = self.save() else { return };
        for subgraph in &mut self.outcome.subgraphs {
            if subgraph.status.is_new() {
                subgraph.status = BankStatus::Unsaved;
            }
        }
        let bank = directory_of(self.bank.file()).to_owned();
        let rescue = self.decider.settings.rescue.as_deref();
        let save = |place: &Path| self.bank.save_elsewhere(place);
        self.outcome.tuning.unsaved = Some(Unsaved::rescued(&bank, &error, rescue, save));
    }

    /// Writes what was found since the last time, of the first so many subgraphs, for a tuning that goes on from here.
    pub(super) fn save_state(&mut self, first: usize) {
        let new = self.records.iter().zip(&self.outcome.subgraphs).take(first).skip(self.recorded);
        for (record, subgraph) in new.filter(|(_, subgraph)| subgraph.status.is_tuned()) {
            self.state.finish(record.clone(), &subgraph.status);
        }
        self.recorded = first.min(self.records.len());
        // The state matters to a tuning that is interrupted alone: without it that begins anew, with what the bank has.
        if let Err(error) = self.state.save() {
            log::warn!("an interrupted tuning would not go on from here: {error}");
        }
    }

    /// Writes the bank.
    fn save(&mut self) -> Result<()> {
        for (record, subgraph) in self.records.iter().zip(&self.outcome.subgraphs) {
            if subgraph.status.is_new() {
                self.bank.record(record.clone());
            }
        }
        self.bank.save()?;
        self.outcome.tuning.saved = self.records.len();
        Ok(())
    }

    /// What it leaves behind.
    pub fn into_result(self) -> Sgat {
        let of = |(network, cases): (&Network<'_>, &Vec<Case>)| apply::marks(network, self.soc, cases);
        let marks = self.networks.iter().zip(&self.cases).map(of).collect();
        let before = self.before.into_iter().map(|before| before.lowered).collect();
        Sgat { outcome: self.outcome, lowered: self.after, taken: self.taken, before, marks }
    }
}
