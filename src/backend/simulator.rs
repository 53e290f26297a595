//! The built-in simulator as a backend.

use super::{Backend, Description, Measure, Measurement};
use crate::sim::Model;
use crate::soc::Soc;
use crate::status::Result;
use crate::workload::{Schedule, Workload};
use std::time::Duration;

/// Prices schedules with [`Model`]; needs no device and gives the same time every time.
#[derive(Debug, Clone)]
pub struct Simulator {
    soc: Soc,
}

impl Simulator {
    /// Its name in reports, and as a value of the option `backend`.
    pub const NAME: &str = "simulator";

    /// A simulator of one SoC.
    pub fn new(soc: Soc) -> Simulator {
        Simulator { soc }
    }
}

impl Backend for Simulator {
    fn describe(&self) -> Description {
        Description {
            name: Self::NAME.to_owned(),
            detail: format!("built-in performance model of {}, libaoe {}", self.soc.name, env!("CARGO_PKG_VERSION")),
            noisy: false,
        }
    }

    fn soc(&self) -> &Soc {
        &self.soc
    }

    /// A prediction takes about a microsecond (`make bench`).
    fn measuring_time(&self) -> Option<Duration> {
        Some(Duration::from_micros(1))
    }

    fn prepare<'a>(&'a self, workload: &Workload) -> Result<Box<dyn Measure + 'a>> {
        Ok(Box::new(Prepared { model: Model::new(workload, &self.soc)? }))
    }
}

struct Prepared {
    model: Model,
}

impl Measure for Prepared {
    fn measure(&mut self, schedule: &Schedule) -> Measurement {
        match self.model.predict(schedule) {
            Ok(prediction) => Measurement::Time { us: prediction.time_us },
            Err(error) => Measurement::Failed { reason: error.to_string() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::DataType;
    use crate::workload::{Operand, Vector, VectorSchedule, VectorTemplate};

    fn addition() -> Workload {
        let operand = || Operand::new([1 << 20], DataType::Float16);
        Workload::Vector(Vector {
            op_type: "Add".to_owned(),
            inputs: vec![operand(), operand()],
            outputs: vec![operand()],
        })
    }

    fn tiles_of(ub_tile_bytes: u32) -> Schedule {
        let template = VectorTemplate::Flat;
        Schedule::Vector(VectorSchedule { cores: 48, ub_tile_bytes, double_buffer: true, template })
    }

    #[test]
    fn the_time_is_the_models() {
        let simulator = Simulator::new(Soc::find("Ascend910B2").unwrap());
        let measurement = simulator.prepare(&addition()).unwrap().measure(&tiles_of(8192));
        let predicted = Model::new(&addition(), simulator.soc()).unwrap().predict(&tiles_of(8192)).unwrap();
        assert_eq!(measurement, Measurement::Time { us: predicted.time_us });
        assert!(!simulator.describe().noisy);
    }

    #[test]
    fn an_illegal_schedule_is_that_candidates_failure_and_names_the_rule() {
        let simulator = Simulator::new(Soc::find("Ascend910B2").unwrap());
        let measurement = simulator.prepare(&addition()).unwrap().measure(&tiles_of(33));
        assert!(
            matches!(&measurement, Measurement::Failed { reason } if reason.contains("ub_tile_bytes = 33")),
            "{measurement:?}"
        );
    }
}
