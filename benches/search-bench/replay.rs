//! Spaces whose every time is known.

use aoe::search::space::Recorded;
use aoe::search::{Domain, Scale};
use std::path::Path;

/// A space, and the time of each of its configurations.
pub struct Replay {
    /// Name of the file without its endings, or of the generator.
    pub name: String,
    /// What the search sees.
    pub domain: Box<dyn Domain + Send>,
    /// The recorded time; `None` where the configuration failed.
    time: Box<TimeOf>,
    /// Times of all legal configurations, ascending, failures last as infinity.
    times: Vec<f64>,
}

type TimeOf = dyn Fn(&[u32]) -> Option<f64>;

/// So near to the optimum counts as having found it.
const NEAR: f64 = 0.95;
/// A space is hard where random search needs so many draws on average to come near.
const HARD: f64 = 250.0;
/// A space is saturated where random search is so near after 25 draws.
const SATURATED: f64 = 0.97;

impl Replay {
    /// A space from its domain and its times.
    ///
    /// # Panics
    ///
    /// Where the legal set cannot be listed or no configuration can be measured.
    pub fn new(name: String, domain: Box<dyn Domain + Send>, time: impl Fn(&[u32]) -> Option<f64> + 'static) -> Replay {
        let flat = domain.enumerate(1 << 22).expect("a benchmark's space can be listed");
        let all = flat.chunks_exact(domain.sizes().len());
        let mut times: Vec<f64> = all.map(|configuration| time(configuration).unwrap_or(f64::INFINITY)).collect();
        times.sort_by(f64::total_cmp);
        assert!(times.first().is_some_and(|t| t.is_finite()), "{name}: nothing can be measured");
        Replay { name, domain, time: Box::new(time), times }
    }

    /// All recorded spaces of a folder, by name.
    pub fn read_folder(folder: &Path) -> Result<Vec<Replay>, String> {
        let entries = std::fs::read_dir(folder).map_err(|e| format!("cannot read {}: {e}", folder.display()))?;
        let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.sort();
        let name_of = |path: &Path| {
            let name = path.file_name()?.to_str()?;
            name.strip_suffix(".csv.gz").or_else(|| name.strip_suffix(".csv")).map(str::to_owned)
        };
        let named = files.iter().filter_map(|path| Some((name_of(path)?, path)));
        named
            .map(|(name, path)| {
                let recorded = Recorded::read(path).map_err(|e| e.to_string())?;
                recorded.remarks().iter().for_each(|remark| eprintln!("{name}: {remark}"));
                let domain = Box::new(recorded.space().clone());
                Ok(Replay::new(name, domain, move |c| recorded.outcome(c).and_then(Result::ok)))
            })
            .collect()
    }

    /// What a measurement answers.
    pub fn measure(&self, configuration: &[u32]) -> Option<f64> {
        (self.time)(configuration)
    }

    /// The best time.
    pub fn optimum(&self) -> f64 {
        self.times[0]
    }

    /// Number of legal configurations.
    pub fn size(&self) -> usize {
        self.times.len()
    }

    /// Draws without replacement until one is within 5 % of the optimum, on average.
    pub fn draws(&self) -> f64 {
        let near = self.times.partition_point(|&time| time <= self.optimum() / NEAR);
        (self.size() + 1) as f64 / (near + 1) as f64
    }

    /// Whether random search takes long.
    pub fn is_hard(&self) -> bool {
        self.draws() >= HARD
    }

    /// Whether random search is good at once.
    pub fn is_saturated(&self) -> bool {
        self.random(25) > SATURATED
    }

    /// Expected fraction of the optimum after some draws without replacement.
    pub fn random(&self, draws: usize) -> f64 {
        let (mut none_yet, mut expected) = (1.0, 0.0);
        for (rank, &time) in self.times.iter().enumerate() {
            let left = (self.size() - rank) as f64;
            let chance = (draws as f64 / left).min(1.0);
            if time.is_finite() {
                expected += none_yet * chance * self.optimum() / time;
            }
            none_yet *= 1.0 - chance;
            if none_yet <= 0.0 {
                break;
            }
        }
        expected
    }

    /// The kernel, where the name is `kernel__device`, and the parameters: what spaces share whose trials
    /// mean something to each other.
    pub fn family(&self) -> (String, Vec<u32>, Vec<Vec<f64>>) {
        let kernel = self.name.split("__").next().unwrap_or(&self.name).to_owned();
        let values = |parameter| match self.domain.scale(parameter) {
            Scale::Ordinal(values) => values.to_vec(),
            Scale::Ranked | Scale::Categorical => Vec::new(),
        };
        (kernel, self.domain.sizes().to_vec(), (0..self.domain.sizes().len()).map(values).collect())
    }
}
