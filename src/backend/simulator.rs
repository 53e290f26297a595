//! The built-in simulator as a backend.

use super::{Backend, Description, Measure, Measurement, Standing};
use crate::sim::Model;
use crate::sim::interval::{Class, Interval};
use crate::soc::Soc;
use crate::space::default_origin;
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
            is_simulated: true,
        }
    }

    fn soc(&self) -> &Soc {
        &self.soc
    }

    fn doubt(&self, workload: &Workload) -> Interval {
        Interval::of_gain(Class::of(workload), &self.soc)
    }

    fn doubt_over_default(&self, workload: &Workload) -> Interval {
        Interval::of_gain_over(default_origin(workload, &self.soc), Class::of(workload), &self.soc)
    }

    /// A prediction takes about a microsecond (`make bench`).
    fn measuring_time(&self) -> Option<Duration> {
        Some(Duration::from_micros(1))
    }

    fn prepare<'a>(&'a self, workload: &Workload) -> Result<Box<dyn Measure + 'a>> {
        Ok(Box::new(Prepared { model: Model::new(workload, &self.soc)? }))
    }

    fn prepare_within<'a>(&'a self, workload: &Workload, standings: &[Standing]) -> Result<Box<dyn Measure + 'a>> {
        let alone = Model::new(workload, &self.soc)?;
        let model =
            |missed: Option<f64>| missed.map_or_else(|| alone.clone(), |bytes| alone.clone().with_missed(bytes));
        let models = standings.iter().map(|standing| (model(standing.missed), standing.launches as f64)).collect();
        Ok(Box::new(Within { models }))
    }

    fn heeds_network(&self) -> bool {
        true
    }
}

struct Prepared {
    model: Model,
}

/// A workload as it stands in a network, with how often it stands so.
struct Within {
    models: Vec<(Model, f64)>,
}

impl Measure for Within {
    fn measure(&mut self, schedule: &Schedule) -> Measurement {
        let (mut us, mut launches) = (0.0, 0.0);
        for (model, count) in &self.models {
            match model.predict(schedule) {
                Ok(prediction) => us += prediction.time_us * count,
                Err(error) => return Measurement::Failed { reason: error.to_string() },
            }
            launches += count;
        }
        if launches > 0.0 {
            Measurement::Time { us: us / launches }
        } else {
            Measurement::Failed { reason: "it is never launched".to_owned() }
        }
    }
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
    fn within_a_network_the_time_is_the_mean_of_what_its_launches_find_in_l2() {
        let simulator = Simulator::new(Soc::find("Ascend310P3").unwrap());
        let all = 3.0 * 2.0 * f64::from(1 << 20);
        let time = |missed: &[(Option<f64>, u64)]| {
            let standings: Vec<_> = missed.iter().map(|&(missed, launches)| Standing { missed, launches }).collect();
            match simulator.prepare_within(&addition(), &standings).unwrap().measure(&default_of(&simulator)) {
                Measurement::Time { us } => us,
                other => panic!("{other:?}"),
            }
        };
        let (near, far) = (time(&[(Some(0.0), 1)]), time(&[(Some(all), 1)]));
        assert!(near < far, "{near} {far}");
        let mixed = time(&[(Some(0.0), 3), (Some(all), 1)]);
        assert!((mixed - (3.0 * near + far) / 4.0).abs() < 1e-9 * far);
        let alone = simulator.prepare(&addition()).unwrap().measure(&default_of(&simulator));
        assert_eq!(alone, Measurement::Time { us: time(&[(None, 5)]) });
    }

    fn default_of(simulator: &Simulator) -> Schedule {
        crate::space::default_policy(&addition(), simulator.soc()).unwrap()
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
