//! Tilings of `MatMulV3`: what a bank record can say that CANN's kernels compute.
//!
//! The parameters are a record's fields, and each template of the operator has its own: what its kernel does not
//! read, or what follows from the rest, has the one value 0 here. So every configuration is another record, and all
//! of them run ([`crate::tiling::matmul_v3::check_written`]).

mod resolve;
mod rules;
mod template;
#[cfg(test)]
mod tests;
mod values;

use super::Parameter;
use crate::soc::{Arch, Soc};
use crate::tiling::Platform;
use crate::tiling::matmul_v3::{Tiling, check_written, keeps_columns};
use crate::workload::{CubeSchedule, MatMul, MatMulKernel};
use aoe_graph::DataType;
use rules::Allowed;
use template::Template;

/// Declares the parameters: position and CANN's name.
macro_rules! parameters {
    ($($position:ident = $name:literal;)*) => {
        /// Positions of the parameters in a configuration.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        enum P { $($position,)* }
        const POSITIONS: &[P] = &[$(P::$position,)*];
        const NAMES: &[&str] = &[$($name,)*];
    };
}

parameters! {
    Template = "tilingEnable";
    BaseK = "baseK";
    BaseM = "baseM";
    BaseN = "baseN";
    DbL0C = "dbL0C";
    StepM = "stepM";
    StepN = "stepN";
    // Blocks of a core task along m and n, and pieces of k.
    SingleM = "singleCoreM";
    SingleN = "singleCoreN";
    KTasks = "singleCoreK";
    StepKa = "stepKa";
    StepKb = "stepKb";
    DbA1 = "dbA1";
    DbB1 = "dbB1";
    L2M = "l2MTileCnt";
    L2N = "l2NTileCnt";
}

/// Combinations of block sizes up to which a space is worth listing.
const SMALL: usize = 64;

/// One value for each parameter.
type Values = [u64; NAMES.len()];

/// What the rules look at of a product and a part.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    m: u64,
    n: u64,
    k: u64,
    /// Bytes of an element of A and B.
    es: u64,
    /// Cube cores.
    cores: u64,
    /// L0A bytes of one of its two buffers.
    l0_a: u64,
    /// L0B bytes of one of its two buffers.
    l0_b: u64,
    /// L0C bytes.
    l0_c: u64,
    /// L1 bytes, less what a bias takes.
    l1: u64,
    /// Largest baseN that the bias table allows.
    bias_n: u64,
    /// Most rows of a block whose result vector cores compact in UB.
    compacted_m: u64,
    /// Deterministic split-K may keep three blocks of columns.
    keeps_columns: bool,
}

/// All tilings of one product.
#[derive(Debug, Clone)]
pub(in crate::space) struct ProductSpace {
    product: MatMul,
    platform: Platform,
    bounds: Bounds,
    parameters: Vec<Parameter>,
}

/// Whether CANN's `MatMulV3` runs a product, so that its records decide what there is to choose.
pub(in crate::space) fn is_matmul_v3(w: &MatMul, soc: &Soc) -> bool {
    use DataType::{Bfloat16, Float, Float16};
    let float = |t: DataType| matches!(t, Float | Float16 | Bfloat16);
    w.kernel == MatMulKernel::AscendC
        && w.batch == 1
        && float(w.dtype)
        && float(w.out_dtype)
        && matches!(soc.arch, Arch::C220 | Arch::M200)
}

impl ProductSpace {
    /// The space of a product whose lists hold at least what these schedules need, so far as they are of this form.
    pub fn new<'a>(product: &MatMul, soc: &Soc, include: impl Iterator<Item = &'a CubeSchedule>) -> ProductSpace {
        let bounds = Bounds::new(product, soc);
        let include: Vec<Values> = include
            .filter_map(|s| Tiling::from_schedule(s).ok())
            .filter_map(|tiling| resolve::values(&tiling, &bounds))
            .collect();
        let templates = Template::of(product, soc);
        let parameters = POSITIONS
            .iter()
            .zip(NAMES)
            .map(|(&position, &name)| {
                let mut values = values::list(position, &bounds, product, &templates, soc);
                let more = include.iter().filter(|_| position != P::Template).map(|known| known[position as usize]);
                values.extend(more);
                values.sort_unstable();
                values.dedup();
                Parameter { name, values }
            })
            .collect();
        ProductSpace { product: product.clone(), platform: Platform::of(soc), bounds, parameters }
    }

    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The tiling that a full configuration describes, whether its rules hold or not; `None` where a field would
    /// overflow.
    pub fn schedule(&self, configuration: &[u32]) -> Option<CubeSchedule> {
        let tiling = resolve::tiling(&self.values(configuration), &self.bounds)?;
        // The rules of the space are chosen so that this refuses nothing; it is the one table of what runs.
        check_written(&tiling, &self.product, &self.platform).ok()?;
        tiling.schedule(&self.product).ok()
    }

    /// The configuration of a schedule, when the lists hold its values; it may break a rule.
    pub fn configuration(&self, schedule: &CubeSchedule) -> Option<Vec<u32>> {
        let tiling = Tiling::from_schedule(schedule).ok()?;
        let values = resolve::values(&tiling, &self.bounds)?;
        let same = resolve::tiling(&values, &self.bounds)? == tiling;
        if same { super::indices(&self.parameters, &values) } else { None }
    }

    /// Whether all rules hold that these first parameters decide, given that they hold without the last.
    pub fn extends(&self, prefix: &[u32]) -> bool {
        let Some(last) = prefix.len().checked_sub(1) else { return true };
        last >= POSITIONS.len() || self.holds(&self.values(prefix), last)
    }

    /// Whether a full configuration breaks none of the rules.
    pub fn is_canonical(&self, configuration: &[u32]) -> bool {
        let values = self.values(configuration);
        (0..POSITIONS.len()).all(|last| self.holds(&values, last))
    }

    /// A random configuration, drawn value by value among those that the template leaves open; each draw takes one of
    /// `steps`. `None` at a dead end and where they do not suffice.
    pub fn sample(&self, rng: &mut fastrand::Rng, steps: &mut usize) -> Option<Vec<u32>> {
        let mut known = [0; NAMES.len()];
        let mut configuration = Vec::with_capacity(NAMES.len());
        for (at, (parameter, &position)) in self.parameters.iter().zip(POSITIONS).enumerate() {
            let open = match self.bounds.allowed(position, &known) {
                _ if position == P::Template => 0..parameter.values.len(),
                Allowed::Only(only) => {
                    let place = parameter.values.binary_search(&only).ok()?;
                    place..place + 1
                }
                Allowed::From(least, most) => {
                    parameter.values.partition_point(|&value| value < least)
                        ..parameter.values.partition_point(|&value| value <= most)
                }
                Allowed::Nothing => return None,
            };
            // Draws are fair; the scan that follows them is for lists with few open values.
            let draws = (0..open.len()).map(|_| rng.usize(open.clone())).collect::<Vec<_>>();
            let chosen = draws.into_iter().chain(open).find(|&place| {
                let left = steps.checked_sub(1);
                *steps = left.unwrap_or(0);
                known[at] = parameter.values[place];
                left.is_some() && self.holds(&known, at)
            })?;
            configuration.push(chosen as u32);
        }
        Some(configuration)
    }

    /// Whether there are so few blocks that listing all tilings may end.
    pub fn is_small(&self) -> bool {
        let count = |p: P| self.parameters[p as usize].values.len();
        count(P::BaseM) * count(P::BaseN) * count(P::BaseK) <= SMALL
    }

    /// The configuration that is nearest to a schedule, which may be one of another product or break a rule: the
    /// same template where there is one, else the base template, and of each parameter the nearest open value.
    pub fn nearest(&self, schedule: &CubeSchedule) -> Option<Vec<u32>> {
        let tiling = Tiling::from_schedule(schedule).ok()?;
        let wanted = resolve::wanted(&tiling);
        self.descend(&wanted).or_else(|| {
            let base = Template::Base as u64;
            self.descend(&{
                let mut wanted = wanted;
                wanted[P::Template as usize] = base;
                wanted
            })
        })
    }

    /// Walks down the parameters, each time to the open value that is nearest to the one wanted.
    fn descend(&self, wanted: &Values) -> Option<Vec<u32>> {
        let mut configuration: Vec<u32> = Vec::with_capacity(NAMES.len());
        for (parameter, &want) in self.parameters.iter().zip(wanted) {
            let is_template = configuration.is_empty();
            let far = |value: u64| ((value.max(1) as f64) / (want.max(1) as f64)).ln().abs();
            let mut order: Vec<u32> = (0..parameter.values.len() as u32).collect();
            order.retain(|&i| !is_template || parameter.values[i as usize] == want);
            order.sort_by(|&a, &b| far(parameter.values[a as usize]).total_cmp(&far(parameter.values[b as usize])));
            let open = order.into_iter().find(|&index| {
                configuration.push(index);
                let open = self.extends(&configuration);
                configuration.pop();
                open
            })?;
            configuration.push(open);
        }
        Some(configuration)
    }

    /// The values of a configuration's first entries; 0 for the rest.
    fn values(&self, prefix: &[u32]) -> Values {
        let mut values = [0; NAMES.len()];
        for ((value, parameter), &index) in values.iter_mut().zip(&self.parameters).zip(prefix) {
            let last = parameter.values.len().saturating_sub(1);
            *value = parameter.values.get((index as usize).min(last)).copied().unwrap_or(0);
        }
        values
    }

    /// The rules that can be checked once the parameter at `last` is known: it is one that the template has, and
    /// with the least that the later ones can be everything still fits.
    fn holds(&self, values: &Values, last: usize) -> bool {
        let mut known = [0; NAMES.len()];
        known[..=last].copy_from_slice(&values[..=last]);
        let allowed = self.bounds.allowed(POSITIONS[last], &known);
        if !allowed.contains(known[last]) {
            return false;
        }
        // What was assumed when the parameters before it were judged; which template it is, and which blocks there are,
        // was not.
        if last > P::BaseN as usize && allowed.least() == Some(known[last]) {
            return true;
        }
        for (later, &position) in POSITIONS.iter().enumerate().skip(last + 1) {
            known[later] = match self.bounds.allowed(position, &known) {
                Allowed::Only(value) | Allowed::From(value, _) => value,
                Allowed::Nothing => return false,
            };
        }
        self.bounds.fits(&known, last + 1)
    }
}

impl Bounds {
    fn new(w: &MatMul, soc: &Soc) -> Bounds {
        let result = w.out_dtype.bytes().max(1);
        Bounds {
            m: w.m,
            n: w.n,
            k: w.k,
            es: w.dtype.bytes().max(1),
            cores: u64::from(soc.ai_core_cnt.max(1)),
            l0_a: soc.l0_a_size / 2,
            l0_b: soc.l0_b_size / 2,
            l0_c: soc.l0_c_size,
            l1: soc.l1_size.saturating_sub(if w.bias { 1024 } else { 0 }),
            bias_n: if w.bias && soc.bt_size > 0 { soc.bt_size / 4 } else { u64::MAX },
            compacted_m: soc.ub_size / 256 / result / 16 * 16,
            keeps_columns: keeps_columns(w, &Platform::of(soc)),
        }
    }
}
