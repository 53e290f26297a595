//! Backends that are handed several candidates at a time.

use super::*;
use crate::search::Algorithm;
use std::sync::Mutex;

/// The simulator, handed so many candidates at a time; it notes how many came.
struct Several {
    simulator: Simulator,
    at_a_time: usize,
    came: Mutex<Vec<usize>>,
}

impl Backend for Several {
    fn describe(&self) -> Description {
        Description { name: "several".into(), detail: String::new(), noisy: false, is_simulated: false }
    }

    fn soc(&self) -> &Soc {
        self.simulator.soc()
    }

    fn prepare<'a>(&'a self, workload: &Workload) -> Result<Box<dyn Measure + 'a>> {
        Ok(Box::new(SeveralMeasure { inner: self.simulator.prepare(workload)?, backend: self }))
    }
}

struct SeveralMeasure<'a> {
    inner: Box<dyn Measure + 'a>,
    backend: &'a Several,
}

impl Measure for SeveralMeasure<'_> {
    fn measure(&mut self, schedule: &Schedule) -> Measurement {
        self.inner.measure(schedule)
    }

    fn together(&self) -> usize {
        self.backend.at_a_time
    }

    fn measure_all(&mut self, schedules: &[Schedule]) -> Vec<Measurement> {
        self.backend.came.lock().unwrap().push(schedules.len());
        schedules.iter().map(|schedule| self.inner.measure(schedule)).collect()
    }
}

#[test]
fn candidates_come_as_many_at_a_time_as_the_backend_likes_and_each_counts() {
    // Without the simulated head start, which is not what is looked at.
    let settings = OpatSettings { max_trials: 31, algorithm: Algorithm::Random, ..settings() };
    for at_a_time in [1, 2, 5] {
        let dir = tempfile::tempdir().unwrap();
        let backend = Several { simulator: Simulator::new(soc()), at_a_time, came: Mutex::default() };
        let outcome = run(&backend, &mut bank_in(dir.path()), &settings).unwrap();
        let came = backend.came.into_inner().unwrap();
        assert!(came.iter().all(|&n| n <= at_a_time) && came.contains(&at_a_time), "{came:?}");
        assert!(outcome.cases.iter().all(|case| case.after_us <= case.before_us));
        let tried: u64 = outcome.cases.iter().map(|case| case.trials as u64).sum();
        assert!(came.iter().sum::<usize>() as u64 <= tried, "{came:?}, {tried} counted");
    }
}
