//! What of all that was found is kept: the search looks at one subgraph, and the network decides. Each strategy is priced
//! where it stands, kernel by kernel in order, as CANN's default is; what is not better there is not kept.

use super::apply::{Ordered, Price};
use super::price::Pricer;
use super::problem::plan;
use super::record;
use super::run::Subgraphs;
use super::{Case, Strategy};
use crate::status::Result;
use crate::tune::{BankStatus, MINIMUM_GAIN};
use rustc_hash::FxHashSet;

/// Rounds after which nothing is kept that is not in CANN's own bank. What one subgraph changes in L2 for the others is
/// little: a second round is hardly ever needed.
const MOST_ROUNDS: usize = 4;

/// A network with a strategy for each of its subgraphs, by variant: its kernels, and what all of each kind of subgraph take.
type Settled = Vec<(Ordered, Vec<Price>)>;

impl Subgraphs<'_> {
    /// Prices all that was found where it stands, steps back from what is not better there, and has the outcome and the
    /// records tell so. What was not dealt with runs by default.
    pub(super) fn settle(&mut self) -> Result<()> {
        let mut pricers: Vec<_> = self.networks.iter().map(|network| Pricer::new(network, self.soc)).collect();
        let mut round = 0;
        let settled = loop {
            let settled = self.ordered(&mut pricers, |_, case| &case.after)?;
            let worse = self.worse(&settled, round);
            if worse.is_empty() {
                break settled;
            }
            for index in worse {
                self.step_back(&mut pricers, index);
            }
            round += 1;
        };
        let after = self.times_us(|variant, class| settled[variant].1[class].us);
        let banked = self.banked_times(&mut pricers, &after)?;
        self.tell_times(&mut pricers, &settled, &after, &banked);
        self.after = settled.into_iter().map(|(ordered, _)| ordered.lowered).collect();
        self.take(&mut pricers)
    }

    /// Has the outcome tell how CANN will run the network: with the strategies that it reads, and by default elsewhere.
    fn take(&mut self, pricers: &mut [Pricer<'_>]) -> Result<()> {
        let read: FxHashSet<(usize, usize)> = (self.homes.iter().zip(&self.outcome.subgraphs))
            .filter(|(_, subgraph)| subgraph.is_read_by_cann)
            .flat_map(|(homes, _)| homes.iter().copied())
            .collect();
        let taken =
            self.ordered(pricers, |home, case| if read.contains(&home) { &case.after } else { &case.before })?;
        let times = self.times_us(|variant, class| taken[variant].1[class].us);
        for (subgraph, us) in self.outcome.subgraphs.iter_mut().zip(times) {
            subgraph.taken_us = us;
        }
        self.taken = taken.into_iter().map(|(ordered, _)| ordered.lowered).collect();
        Ok(())
    }

    /// The variants with these strategies, told variant and kind of subgraph.
    fn ordered<'s>(
        &'s self,
        pricers: &mut [Pricer<'_>],
        strategy: impl Fn((usize, usize), &'s Case) -> &'s Strategy,
    ) -> Result<Settled> {
        let of = |(variant, pricer): (usize, &mut Pricer<'_>)| {
            let plan = |(class, default)| {
                self.cases[variant].get(class).map_or(default, |case| strategy((variant, class), case))
            };
            let strategies = self.before[variant].strategies.iter().enumerate().map(plan);
            let alike = self.alike[variant].iter().map(Vec::as_slice);
            let ordered = Ordered::of(&self.networks[variant], self.soc, alike.zip(strategies));
            let prices = ordered.prices(pricer)?;
            Ok((ordered, prices))
        };
        pricers.iter_mut().enumerate().map(of).collect()
    }

    /// For each of the outcome's subgraphs the time of one of its places on average.
    fn times_us(&self, us: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let of = |(homes, subgraph): (&Vec<(usize, usize)>, &super::SubgraphOutcome)| {
            homes.iter().map(|&(variant, class)| us(variant, class)).sum::<f64>() / subgraph.count() as f64
        };
        self.homes.iter().zip(&self.outcome.subgraphs).map(of).collect()
    }

    /// Which of the outcome's subgraphs to step back from.
    fn worse(&self, settled: &Settled, round: usize) -> Vec<usize> {
        let before = self.times_us(|variant, class| self.before[variant].prices[class].us);
        let after = self.times_us(|variant, class| settled[variant].1[class].us);
        let total = |prices: &[Price]| prices.iter().map(|price| price.us).sum::<f64>();
        let default: f64 = self.before.iter().map(|before| total(&before.prices)).sum();
        let network: f64 = settled.iter().map(|(_, prices)| total(prices)).sum();
        // CANN runs its own records whatever they are worth.
        let by_cann = self.outcome.subgraphs.iter().filter(|subgraph| subgraph.is_read_by_cann);
        let lost = |one: &super::SubgraphOutcome| (after[one.index] - before[one.index]).max(0.0) * one.count() as f64;
        // What is gained here must not be lost elsewhere.
        let nothing_holds = round >= MOST_ROUNDS || network > default + by_cann.map(lost).sum::<f64>();
        let is_worse = |&index: &usize| {
            let (variant, class) = self.homes[index][0];
            let case = &self.cases[variant][class];
            let subgraph = &self.outcome.subgraphs[index];
            let most = if subgraph.status == BankStatus::Reserved { 1.0 } else { 1.0 - MINIMUM_GAIN };
            let is_ours = case.after != case.before && !subgraph.is_read_by_cann;
            is_ours && (nothing_holds || after[index] > before[index] * most)
        };
        (0..self.outcome.subgraphs.len()).filter(is_worse).collect()
    }

    /// Takes back what was found for a subgraph: the bank's strategy runs where there is one that is no worse than the
    /// default, else that. A record that is worse is replaced.
    fn step_back(&mut self, pricers: &mut [Pricer<'_>], index: usize) {
        let was = self.outcome.subgraphs[index].status.clone();
        let banked = self.banked[index].as_ref().filter(|_| was == BankStatus::Updated);
        let mut is_banked = false;
        for &(variant, class) in &self.homes[index] {
            let case = &mut self.cases[variant][class];
            let banked = banked.and_then(|banked| record::from_bank(&mut pricers[variant], &case.subgraphs[0], banked));
            let banked = banked.filter(|banked| banked.us <= case.before.us * (1.0 + MINIMUM_GAIN));
            is_banked = banked.is_some();
            case.after = banked.unwrap_or_else(|| case.before.clone());
        }
        self.outcome.subgraphs[index].status = match was {
            BankStatus::Updated if is_banked => BankStatus::Reserved,
            BankStatus::Updated | BankStatus::Reserved => BankStatus::Updated,
            _ => BankStatus::Unsatisfied,
        };
    }

    /// Times with what the bank had, in a network that runs with all of it; `None` where it had nothing.
    fn banked_times(&self, pricers: &mut [Pricer<'_>], after: &[f64]) -> Result<Vec<Option<f64>>> {
        let is_reserved = |index: usize| self.outcome.subgraphs[index].status == BankStatus::Reserved;
        if (0..self.banked.len()).all(|index| self.banked[index].is_none() || is_reserved(index)) {
            return Ok(self.banked.iter().zip(after).map(|(banked, us)| banked.as_ref().map(|_| *us)).collect());
        }
        let mut strategies: Vec<Vec<Option<Strategy>>> =
            self.cases.iter().map(|cases| vec![None; cases.len()]).collect();
        for (homes, banked) in self.homes.iter().zip(&self.banked) {
            for &(variant, class) in homes {
                let subgraph = &self.cases[variant][class].subgraphs[0];
                let from_bank = |banked| record::from_bank(&mut pricers[variant], subgraph, banked);
                strategies[variant][class] = banked.as_ref().and_then(from_bank);
            }
        }
        let settled = self
            .ordered(pricers, |(variant, class), case| strategies[variant][class].as_ref().unwrap_or(&case.before))?;
        let times = self.times_us(|variant, class| settled[variant].1[class].us);
        Ok(self.banked.iter().zip(times).map(|(banked, us)| banked.as_ref().map(|_| us)).collect())
    }

    /// Has the outcome tell these times, and the records.
    fn tell_times(&mut self, pricers: &mut [Pricer<'_>], settled: &Settled, after: &[f64], banked: &[Option<f64>]) {
        let before = self.times_us(|variant, class| self.before[variant].prices[class].us);
        for (index, subgraph) in self.outcome.subgraphs.iter_mut().enumerate() {
            let (variant, class) = self.homes[index][0];
            let (case, pricer) = (&self.cases[variant][class], &mut pricers[variant]);
            let (was, is) = (&self.before[variant].prices[class], &settled[variant].1[class]);
            subgraph.before = plan(pricer, &case.before, &was.missed);
            subgraph.before.us = before[index];
            subgraph.after = plan(pricer, &case.after, &is.missed);
            subgraph.after.us = after[index];
            subgraph.banked_us = banked[index];
            if subgraph.status.is_new() {
                let (network, timed) = (&self.networks[variant], Strategy { us: after[index], ..case.after.clone() });
                let strategy = record::to_bank(network, self.soc.arch, self.decider.name, &timed);
                self.records[index].strategy = strategy;
            }
        }
    }
}
