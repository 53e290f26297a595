//! The devices that train together, and what an exchange between them costs.
//!
//! `docs/gradients.md` describes the file.

use crate::input_file;
use crate::sim::collective::{Algorithm, AllReduce, Level};
use crate::soc::Soc;
use crate::status::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Devices of one cluster at most.
pub const MOST_DEVICES: u64 = 1 << 20;

/// The part of device memory's traffic that an exchange causes for each byte that it sends: what is sent is read, what
/// comes is added to what is there (reduce-scatter: two reads, one write) or stored (all-gather: one read, one write).
const MEMORY_BYTES_PER_SENT: f64 = 1.5;

/// The largest share of its memory that a device is taken to lose to an exchange where the cluster does not say.
const MOST_LOST: f64 = 0.5;

/// Equal nodes of equal devices.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// Devices of one node.
    pub devices_per_node: u64,
    /// Nodes.
    pub nodes: u64,
    /// What links the devices of a node.
    pub node: Links,
    /// What links the nodes: each device with the same one of every other node. Needed where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Links>,
    /// How computing and exchanging slow each other down; where it is left out, what the exchange takes of the
    /// device's memory bandwidth is lost to computing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contention: Option<Contention>,
}

/// The links of a device on one level, with the constants of an exchange over them.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Links {
    /// Links of a device that carry at a time.
    pub links: u32,
    /// Gigabytes (10^9) per second that one of them carries in one direction.
    pub gb_s: f64,
    /// Microseconds that each transfer takes beyond its bytes.
    #[serde(default)]
    pub step_us: f64,
    /// Microseconds that each exchange takes beyond its transfers.
    #[serde(default)]
    pub start_us: f64,
    /// Gigabytes per second that a device adds up, where that does not hide behind the transfers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduce_gb_s: Option<f64>,
    /// How the sum is made; where it is left out, whichever makes the step shorter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<Algorithm>,
}

/// How computing and exchanging slow each other down while both run: what takes 1 alone takes 1 and so much.
///
/// The product of the two is at most 1: with more, both at a time would be slower than one after the other, and no
/// runtime would let them overlap. The optimum is exact under this condition (see `split`).
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Contention {
    /// Of computing.
    #[serde(default)]
    pub compute_slowdown: f64,
    /// Of the exchange.
    #[serde(default)]
    pub exchange_slowdown: f64,
}

impl Default for Cluster {
    /// One node of eight devices, with the constants that CANN's own cost model has for a server.
    fn default() -> Cluster {
        Cluster::of_devices(8)
    }
}

impl Cluster {
    /// So many devices, eight to a node, with the constants that CANN's own cost model has: four links of 14 GB/s
    /// and a ring within a server, one of 10 GB/s and halving-doubling between servers.
    pub fn of_devices(devices: u64) -> Cluster {
        let devices_per_node = devices.clamp(1, 8);
        Cluster {
            devices_per_node,
            nodes: devices.div_ceil(devices_per_node),
            node: Links {
                links: 4,
                gb_s: 14.0,
                step_us: 10.5,
                start_us: 101.2,
                reduce_gb_s: None,
                algorithm: Some(Algorithm::Ring),
            },
            network: Some(Links {
                links: 1,
                gb_s: 10.0,
                step_us: 15.5,
                start_us: 1000.0,
                reduce_gb_s: Some(200.0),
                algorithm: Some(Algorithm::HalvingDoubling),
            }),
            contention: None,
        }
    }

    /// Reads a cluster's description.
    ///
    /// Fails with [`Error::File`], or with [`Error::Config`] that names the field.
    pub fn read(path: &Path) -> Result<Cluster> {
        let text = input_file::read_text(path)?;
        Cluster::parse(&text).map_err(|(line, reason)| Error::Config { path: path.to_owned(), line, reason })
    }

    /// A cluster from its JSON; the error is the line, where it can be told, and the reason.
    pub fn parse(text: &str) -> Result<Cluster, (Option<usize>, String)> {
        let mut json = serde_json::Deserializer::from_str(text);
        let read: Result<Cluster, _> = serde_path_to_error::deserialize(&mut json);
        let cluster = read.map_err(|error| {
            let place = error.path().to_string();
            let place = if place == "." { String::new() } else { format!("`{place}`: ") };
            (Some(error.inner().line()), format!("{place}{}", error.inner()))
        })?;
        json.end().map_err(|error| (Some(error.line()), error.to_string()))?;
        cluster.check().map_err(|reason| (None, reason))?;
        Ok(cluster)
    }

    /// What is wrong with the numbers, if anything is.
    fn check(&self) -> Result<(), String> {
        for (name, count) in [("devices_per_node", self.devices_per_node), ("nodes", self.nodes)] {
            if !(1..=MOST_DEVICES).contains(&count) {
                return Err(format!("`{name}` is {count}, not 1 to {MOST_DEVICES}"));
            }
        }
        match self.devices() {
            1 => return Err("there is one device, which has nobody to exchange with".into()),
            devices if devices > MOST_DEVICES => {
                return Err(format!("there are {devices} devices, more than {MOST_DEVICES}"));
            }
            _ => {}
        }
        if self.nodes > 1 && self.network.is_none() {
            return Err(format!("there are {} nodes, but no `network` between them", self.nodes));
        }
        self.node.check("node")?;
        self.network.as_ref().map_or(Ok(()), |links| links.check("network"))?;
        self.contention.map_or(Ok(()), Contention::check)
    }

    /// All devices.
    pub fn devices(&self) -> u64 {
        self.nodes.saturating_mul(self.devices_per_node)
    }

    /// The cluster with so many devices, in nodes of the size that it has; in a smaller one where they fill none. A
    /// single node says nothing of a network: then it is the default cluster's.
    #[must_use]
    pub fn with_devices(&self, devices: u64) -> Cluster {
        let devices_per_node = self.devices_per_node.min(devices).max(1);
        let network = self.network.clone().or(Cluster::default().network);
        Cluster { devices_per_node, nodes: devices.div_ceil(devices_per_node), network, ..self.clone() }
    }

    /// Every way to exchange over this cluster: one for each choice of algorithms that it leaves open.
    pub fn exchanges(&self) -> Vec<Exchange> {
        let nodes = self.node.levels(self.devices_per_node);
        let network = match &self.network {
            Some(links) if self.nodes > 1 => links.levels(self.nodes),
            _ => Vec::new(),
        };
        let pair = |inner: &Level| -> Vec<Vec<Level>> {
            if network.is_empty() {
                return vec![vec![inner.clone()]];
            }
            network.iter().map(|outer| vec![inner.clone(), outer.clone()]).collect()
        };
        nodes.iter().flat_map(pair).map(|levels| Exchange { cost: AllReduce::over(&levels), levels }).collect()
    }

    /// How computing and exchanging slow each other down on this SoC.
    pub fn contention_on(&self, soc: &Soc) -> Contention {
        self.contention.unwrap_or_else(|| {
            let fastest = self.levels().map(|(links, _)| links.device_gb_s()).fold(0.0, f64::max);
            let lost = (MEMORY_BYTES_PER_SENT * fastest / soc.hbm_gb_s).min(MOST_LOST);
            Contention { compute_slowdown: lost / (1.0 - lost), exchange_slowdown: 0.0 }
        })
    }

    /// The links that are used, with the number of devices that they link.
    fn levels(&self) -> impl Iterator<Item = (&Links, u64)> {
        let node = (&self.node, self.devices_per_node);
        std::iter::once(node)
            .chain(self.network.as_ref().map(|links| (links, self.nodes)))
            .filter(|(_, devices)| *devices > 1)
    }
}

/// One way to exchange over a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// Its levels, the innermost first.
    pub levels: Vec<Level>,
    /// Its time.
    pub cost: AllReduce,
}

impl Links {
    /// Gigabytes per second of all links of a device together, in one direction.
    pub fn device_gb_s(&self) -> f64 {
        f64::from(self.links) * self.gb_s
    }

    /// An exchange of so many devices over these links, for each algorithm that may be used.
    fn levels(&self, devices: u64) -> Vec<Level> {
        let level = |algorithm| Level {
            devices,
            algorithm,
            gb_s: self.device_gb_s(),
            step_us: self.step_us,
            start_us: self.start_us,
            reduce_gb_s: self.reduce_gb_s,
        };
        match self.algorithm {
            Some(algorithm) => vec![level(algorithm)],
            None => [Algorithm::Ring, Algorithm::HalvingDoubling].map(level).into(),
        }
    }

    fn check(&self, name: &str) -> Result<(), String> {
        if self.links == 0 {
            return Err(format!("`{name}.links` is 0: nothing can be exchanged without a link"));
        }
        let rates = [("gb_s", Some(self.gb_s)), ("reduce_gb_s", self.reduce_gb_s)];
        for (field, value) in rates.into_iter().filter_map(|(field, value)| Some((field, value?))) {
            if !(1e-6..=1e9).contains(&value) {
                return Err(format!("`{name}.{field}` is {value}, not 0.000001 to 1000000000 GB/s"));
            }
        }
        for (field, value) in [("step_us", self.step_us), ("start_us", self.start_us)] {
            if !(0.0..=1e9).contains(&value) {
                return Err(format!("`{name}.{field}` is {value}, not 0 to 1000000000 microseconds"));
            }
        }
        Ok(())
    }
}

impl Contention {
    fn check(self) -> Result<(), String> {
        let (compute, exchange) = (self.compute_slowdown, self.exchange_slowdown);
        for (name, value) in [("compute_slowdown", compute), ("exchange_slowdown", exchange)] {
            if !(0.0..=1e3).contains(&value) {
                return Err(format!("`contention.{name}` is {value}, not 0 to 1000"));
            }
        }
        if compute * exchange > 1.0 {
            return Err(format!(
                "`contention`: {compute} times {exchange} is more than 1, so that computing and exchanging at a time \
                 would take longer than one after the other"
            ));
        }
        Ok(())
    }
}
